"""Write bills of materials in CycloneDX's JSON to build/: `make sbom`.

build/sbom-python.json is what one Python has installed, build/sbom-npm.json what package-lock.json
lists, with hashes.
"""

import json
import subprocess
import sys
from pathlib import Path

from tools.supply import files

FOLDER = files.ROOT / "build"


def python_bill(interpreter: str, target: Path) -> None:
    """Raises CalledProcessError if cyclonedx-py fails; it validates what it writes."""
    command = ["cyclonedx-py", "environment", "--output-reproducible", "--mc-type", "application"]
    command += ["--pyproject", str(files.ROOT / "pyproject.toml"), "--output-format", "JSON"]
    subprocess.run([*command, "--output-file", str(target), interpreter], check=True)


def npm_bill(target: Path) -> None:
    command = ["sh", "tools/npm.sh", "sbom", "--sbom-format", "cyclonedx", "--package-lock-only"]
    done = subprocess.run(command, cwd=files.ROOT, stdout=subprocess.PIPE, check=True)
    target.write_bytes(done.stdout)


def components(bill: Path) -> set[str]:
    """Names in a bill. Raises ValueError where it is no bill of CycloneDX."""
    read = json.loads(bill.read_text())
    if read.get("bomFormat") != "CycloneDX":
        raise ValueError(f"{bill} is no bill of CycloneDX")
    return {
        f"{component['group']}/{component['name']}" if component.get("group") else component["name"]
        for component in read["components"]
    }


def main(interpreter: str) -> int:
    FOLDER.mkdir(exist_ok=True)
    python, npm = FOLDER / "sbom-python.json", FOLDER / "sbom-npm.json"
    python_bill(interpreter, python)
    npm_bill(npm)
    for bill in (python, npm):
        print(f"{bill.relative_to(files.ROOT)}: {len(components(bill))} components")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
