"""Pins, locks and the report of licences agree with each other; the audit never praises unasked."""

import json
import os
import re
import subprocess
import sys
from base64 import b64decode
from importlib.metadata import distributions
from pathlib import Path

import pytest

from testbed.servers import ROOT
from tools.supply import audit, files, licences, sbom
from tools.supply.lock import ELSEWHERE, NEEDS_OF_TORCH, wishes

# Locks that are installed into one environment.
TOGETHER = ("app", "dev", "acceptance", "deployment", "torch")
CYCLONEDX = ROOT / ".venv-audit" / "bin" / "cyclonedx-py"


def locked(*names: str) -> set[str]:
    return {pin.name for name in names for pin in files.pins(name)}


@pytest.mark.parametrize("name", files.LOCKS)
def test_every_pin_has_hashes_and_the_version_of_the_constraints(name: str) -> None:
    constraints = files.constraints()
    pins = files.pins(name)
    assert pins
    for pin in pins:
        assert pin.hashes, pin.name
        assert len(set(pin.hashes)) == pin.text.count("--hash="), pin.name
        assert constraints.get(pin.name) == pin.version, pin.name


def test_nothing_is_constrained_that_no_lock_holds() -> None:
    assert set(files.constraints()) == locked(*files.LOCKS)


def test_no_package_is_pinned_twice_for_one_environment() -> None:
    names = [pin.name for lock in TOGETHER for pin in files.pins(lock)]
    assert len(names) == len(set(names))


def test_whatever_is_asked_for_directly_is_in_its_lock() -> None:
    extras = files.project()["optional-dependencies"]
    asked = {
        "app": [*files.wanted(), *NEEDS_OF_TORCH],
        **{extra: files.wanted(extra) for extra in extras},
    }
    assert set(asked) <= set(files.LOCKS)
    for lock, requirements in asked.items():
        there = locked(lock) if lock == "audit" else locked(lock, "app", "dev")
        lacking = {files.name_of(requirement) for requirement in requirements} - there
        assert lacking <= {"torch"}, lock
    assert "torch" in locked("torch")
    for lock, wish in wishes().items():
        assert set(wish.alone) <= locked(lock)


def test_what_is_installed_here_is_what_is_locked() -> None:
    """Whatever one of the locked packages needs here is locked as well, or left out on purpose."""
    listing = subprocess.run(
        [sys.executable, "-c", licences.ASK], stdout=subprocess.PIPE, text=True, check=True
    )
    here = {files.normal(name): fields[-1] for name, fields in json.loads(listing.stdout).items()}
    for pin in (*files.pins("app"), *files.pins("dev")):
        if pin.name not in here:
            assert pin.marker, f"{pin.name} is locked and not installed"
            continue
        assert here[pin.name] == pin.version, pin.name


def test_systems_on_which_likewise_does_not_run_leave_nothing() -> None:
    assert locked(*files.LOCKS).isdisjoint(ELSEWHERE)


def test_every_installation_by_pip_verifies_hashes() -> None:
    """Except of our own sources, and of torch where pip is told of further places."""
    sources = [ROOT / "Makefile", ROOT / "Dockerfile", *ROOT.glob("tools/*.sh")]
    commands = []
    for source in sources:
        text = source.read_text().replace("\\\n", " ")
        for line in text.splitlines():
            if not line.lstrip().startswith("#"):
                commands += re.findall(r"pip\b[^&|\n]*?\binstall\b[^&|\n]*", line)
    own, verified = [], []
    for command in commands:
        if "--require-hashes" in command and "--no-deps" in command:
            verified.append(command)
        elif command.rstrip().endswith("-e ."):
            assert "--no-deps" in command
            assert "--no-build-isolation" in command
            own.append(command)
        else:
            assert command.split()[-3:] == ["-c", "constraints.txt", "torch"], command
    assert len(own) == 2
    assert len(verified) >= 5


def test_every_npm_package_has_a_hash() -> None:
    packages = files.npm_packages()
    assert len(packages) > 50
    for place, entry in packages.items():
        kind, _, digest = entry["integrity"].partition("-")
        assert kind == "sha512", place
        assert len(b64decode(digest, validate=True)) == 64, place


def test_every_direct_npm_package_is_pinned_to_one_version() -> None:
    wanted = json.loads((ROOT / "frontend" / "package.json").read_text())
    direct = wanted["dependencies"] | wanted["devDependencies"]
    packages = files.npm_packages()
    for name, version in direct.items():
        assert packages[f"node_modules/{name}"]["version"] == version


def test_the_bill_of_the_frontend_names_every_package(tmp_path: Path) -> None:
    bill = tmp_path / "npm.json"
    sbom.npm_bill(bill)
    listed = {place.rpartition("node_modules/")[2] for place in files.npm_packages()}
    assert sbom.components(bill) == listed


@pytest.mark.skipif(not CYCLONEDX.exists(), reason="`make sbom` installs it")
def test_the_bill_of_python_names_what_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{CYCLONEDX.parent}:{os.environ['PATH']}")
    bill = tmp_path / "python.json"
    sbom.python_bill(sys.executable, bill)
    listed = {re.sub(r"[-_.]+", "-", name).lower() for name in sbom.components(bill)}
    assert len(listed & locked("app")) > 30
    installed = {distribution.name.lower() for distribution in distributions()}
    assert {re.sub(r"[-_.]+", "-", name) for name in installed} - listed <= {"likewise"}


def test_what_is_no_bill_is_not_counted(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text('{"components": []}')
    with pytest.raises(ValueError, match="no bill"):
        sbom.components(other)


def test_the_report_of_licences_is_of_the_pinned_packages() -> None:
    text = licences.REPORT.read_text()
    python, _, npm = text.partition("## npm")
    named = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)
    assert set(named.findall(python)) == locked(*files.LOCKS)
    assert set(named.findall(npm)) == {row.name for row in licences.npm_rows()}
    given = re.findall(r"^\| `([^`]+)` \| ([^|]*) \| ([^|]*) \|$", text, re.MULTILINE)
    licences.check([licences.Row(*row) for row in given])


@pytest.mark.parametrize("licence", ["", "GPL-3.0-only", "MIT AND AGPL-3.0-or-later", "See file"])
def test_a_licence_that_is_unknown_or_not_allowed_fails(licence: str) -> None:
    with pytest.raises(licences.LicenceError, match="odd"):
        licences.check([licences.Row("fine", "MIT", "app"), licences.Row("odd", licence, "app")])


def test_another_version_than_the_pinned_says_nothing_of_the_licence() -> None:
    first = files.pins("app")[0]
    with pytest.raises(licences.LicenceError, match=f"{first.requirement} is pinned"):
        list(licences.python_rows({first.name: {"0.0.0": "MIT"}}))


@pytest.mark.parametrize("line", ["idna", "idna>=3", "-e .", "idna @ file:///idna.whl"])
def test_a_line_that_pins_nothing_is_no_lock(line: str) -> None:
    with pytest.raises(ValueError, match="not a pinned requirement"):
        files.parse(f"{line}\n")


# What the tools printed where the registry knows no advisories, and in their documentation.
SKIPPED = {"dependencies": [{"name": "idna", "skip_reason": "Dependency not found"}], "fixes": []}
SOUND = {"dependencies": [{"name": "idna", "version": "3.20", "vulns": []}], "fixes": []}
VULNERABLE = {
    "dependencies": [
        {
            "name": "idna",
            "version": "3.20",
            "vulns": [{"id": "PYSEC-1", "fix_versions": ["3.21"], "aliases": []}],
        }
    ]
}
NPM_REFUSED = {"message": "405 Method Not Allowed", "method": "POST", "statusCode": 405}
NPM_SOUND = {"vulnerabilities": {}, "metadata": {"dependencies": {"total": 3}}}
NPM_VULNERABLE = {
    "vulnerabilities": {
        "vite": {"severity": "high", "range": "<8.4"},
        "mild": {"severity": "low", "range": "*"},
    },
    "metadata": {"dependencies": {"total": 3}},
}


def audited(python: object, npm: object) -> tuple[int, str]:
    status, lines = audit.verdict(
        {
            "Python": audit.read_pip_audit(json.dumps(python), ""),
            "npm": audit.read_npm_audit(json.dumps(npm), ""),
        }
    )
    return status, "\n".join(lines)


def test_an_audit_that_asked_about_everything_is_a_good_one() -> None:
    status, report = audited(SOUND, NPM_SOUND)
    assert status == 0
    assert "No vulnerabilities are known." in report


@pytest.mark.parametrize(
    ("python", "npm", "which"),
    [(SKIPPED, NPM_SOUND, "Python"), (SOUND, NPM_REFUSED, "npm")],
)
def test_an_audit_that_could_not_ask_says_so(python: object, npm: object, which: str) -> None:
    status, report = audited(python, npm)
    assert status == audit.UNASKED
    assert f"NOT AUDITED: no advisory service answered for all packages of {which}." in report
    assert "No vulnerabilities" not in report


def test_tools_that_give_no_report_have_asked_nothing() -> None:
    for answer in (
        audit.read_pip_audit("", "Traceback\nConnectionError: no way there\n"),
        audit.read_npm_audit("", "no way there"),
    ):
        assert answer.asked == 0
        assert "no way there" in answer.unasked[0]
        assert audit.verdict({"one": answer})[0] == audit.UNASKED


@pytest.mark.parametrize(
    ("python", "npm", "line"),
    [
        (VULNERABLE, NPM_REFUSED, "VULNERABLE idna 3.20: PYSEC-1, mended in 3.21"),
        (SKIPPED, NPM_VULNERABLE, "VULNERABLE vite: high, <8.4"),
    ],
)
def test_known_vulnerabilities_fail_whatever_else_could_not_be_asked(
    python: object, npm: object, line: str
) -> None:
    status, report = audited(python, npm)
    assert status == audit.VULNERABLE
    assert line in report
    assert "mild" not in report


def test_pip_refuses_a_file_with_another_hash(tmp_path: Path) -> None:
    """The very flags of the installation, with a package whose file was exchanged."""
    wheel = tmp_path / "exchanged-1.0-py3-none-any.whl"
    wheel.write_bytes(b"something else")
    lock = tmp_path / "one.lock"
    lock.write_text(f"exchanged==1.0 \\\n    --hash=sha256:{'0' * 64}\n")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--require-hashes", "--no-deps"),
            *("--no-index", "--find-links", str(tmp_path)),
            *("--target", str(tmp_path / "target"), "-r", str(lock)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in done.stderr
