"""The files that say what is installed: pyproject.toml, constraints.txt, the locks, npm's lock."""

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "requirements"
CONSTRAINTS = ROOT / "constraints.txt"
LOCKS = ("app", "dev", "acceptance", "deployment", "audit", "node", "torch")

HEAD = re.compile(
    r"^(?P<name>[\w.-]+)==(?P<version>[^\s;\\]+)(?:\s*;\s*(?P<marker>[^\\]+?))?\s*\\?$"
)
HASH = re.compile(r"--hash=(sha256:[0-9a-f]{64})\b")
NAME = re.compile(r"^[\w.-]+")


@dataclass(frozen=True)
class Pin:
    """One entry of a lock: a release, where it is wanted, and the hashes of all its files."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]
    text: str

    @property
    def requirement(self) -> str:
        return f"{self.name}=={self.version}"


def normal(name: str) -> str:
    """The name as registries compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def parse(text: str) -> list[Pin]:
    """Entries of a lock. Raises ValueError for a line that pins nothing."""
    pins = []
    for block in _blocks(text):
        first = HEAD.match(block[0])
        if first is None:
            raise ValueError(f"not a pinned requirement: {block[0]}")
        whole = "\n".join(block)
        pins.append(
            Pin(
                name=normal(first["name"]),
                version=first["version"],
                marker=first["marker"] or "",
                hashes=tuple(HASH.findall(whole)),
                text=whole,
            )
        )
    return pins


def _blocks(text: str) -> Iterator[list[str]]:
    """Lines of each entry: one that is not indented, and the indented ones below it."""
    block: list[str] = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if not line[0].isspace() and block:
            yield block
            block = []
        block.append(line.rstrip())
    if block:
        yield block


def path(lock: str) -> Path:
    return FOLDER / f"{lock}.lock"


def pins(lock: str) -> list[Pin]:
    """Entries of one of `LOCKS`."""
    return parse(path(lock).read_text())


def constraints() -> dict[str, str]:
    """Version by normal name. Raises ValueError for a line that is no pin."""
    versions = {}
    for line in CONSTRAINTS.read_text().splitlines():
        name, equals, version = line.partition("==")
        if not equals:
            raise ValueError(f"constraints.txt: {line!r} is no pin")
        versions[normal(name)] = version
    return versions


def project() -> dict[str, Any]:
    """The [project] table of pyproject.toml."""
    loaded: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return loaded


def wanted(extra: str | None = None) -> list[str]:
    """What pyproject.toml asks for itself: requirements of the project or of one extra."""
    table = project()
    listed = table["optional-dependencies"][extra] if extra else table["dependencies"]
    return list(listed)


def name_of(requirement: str) -> str:
    """Normal name of what a requirement such as `psycopg[binary]>=3` asks for."""
    match = NAME.match(requirement)
    if match is None:
        raise ValueError(f"not a requirement: {requirement!r}")
    return normal(match[0])


def npm_packages() -> dict[str, dict[str, Any]]:
    """Entries of package-lock.json by their place in node_modules, ours left out."""
    lock = json.loads((ROOT / "frontend" / "package-lock.json").read_text())
    return {place: entry for place, entry in lock["packages"].items() if place}
