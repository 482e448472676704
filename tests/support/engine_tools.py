"""What driving Firefox and WebKit takes on this machine, and what of it is lacking."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

SCREEN = "1600x1200x24"
# The locales that are made for WebKit, and what they are made of.
REGIONS = {"de": "de_DE", "ar": "ar_EG"}
SOURCES = Path("/usr/share/i18n/locales")


@contextmanager
def screen() -> Iterator[str]:
    """The name of a display that nobody sees."""
    reading, writing = os.pipe()
    command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", SCREEN, "-nolisten", "tcp"]
    server = subprocess.Popen(command, pass_fds=[writing], stderr=subprocess.DEVNULL)
    os.close(writing)
    try:
        with os.fdopen(reading) as display:
            yield f":{display.readline().strip()}"
    finally:
        server.terminate()
        server.wait()


@contextmanager
def locales(language: str) -> Iterator[dict[str, str]]:
    """What the environment says to a program that is to speak a language, as far as there is one:
    WebKitGTK takes it from the system's locale."""
    region = REGIONS.get(language)
    if region is None:
        yield {}
        return
    with tempfile.TemporaryDirectory() as folder:
        name = f"{region}.UTF-8"
        command = ["localedef", "-i", region, "-f", "UTF-8", "--no-archive", f"{folder}/{name}"]
        subprocess.run(command, check=True)
        yield {"LOCPATH": folder, "LC_ALL": name}


def mini_browser() -> Path | None:
    return next(iter(sorted(Path("/usr").glob("lib*/**/webkit2gtk-4*/MiniBrowser"))), None)


def lacks_of_firefox() -> str:
    """What to install, in a sentence; empty when all is there."""
    return lacks(
        {"apt-get install firefox-esr": shutil.which("firefox-esr"), **by_pip("marionette_driver")}
    )


def lacks_of_webkit() -> str:
    return lacks(
        {
            "apt-get install webkit2gtk-driver": shutil.which("WebKitWebDriver") and mini_browser(),
            "apt-get install xvfb": shutil.which("Xvfb"),
            **by_pip("selenium"),
        }
    )


def lacks_of_locales() -> str:
    needs = [SOURCES / region for region in REGIONS.values()]
    is_there = shutil.which("localedef") and all(file.exists() for file in needs)
    return lacks({"apt-get install locales": is_there})


def by_pip(package: str) -> dict[str, object]:
    lock = "requirements/acceptance.lock"
    return {f"pip install --no-deps --require-hashes -r {lock}": find_spec(package)}


def lacks(needs: dict[str, object]) -> str:
    return " && ".join(command for command, is_there in needs.items() if not is_there)
