"""Ask pip-audit and npm for known vulnerabilities of every pinned package: `make audit`.

Exit status: 0 none is known, 1 some are, 3 not everything could be asked about. Both tools can end
without an error though nobody answered them; here, what was not asked about is never called sound.
"""

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from tools.supply import files

VULNERABLE, UNASKED = 1, 3
# npm's levels, mildest first; those from `high` on fail.
SEVERE = ("high", "critical")
# Asked first and alone: where nobody answers for it, nobody is asked for the hundred others.
PROBE = "pip"


@dataclass(frozen=True)
class Answer:
    """What one service said: a line for each vulnerability, and for each package left out."""

    asked: int
    vulnerabilities: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()


def read_pip_audit(output: str, errors: str) -> Answer:
    """The report of `pip-audit --format json`."""
    try:
        report = json.loads(output)
    except ValueError:
        return Answer(0, unasked=(last_line(errors) or "pip-audit gave no report",))
    vulnerabilities, unasked = [], []
    for package in report["dependencies"]:
        if "skip_reason" in package:
            unasked.append(f"{package['name']}: {package['skip_reason']}")
            continue
        vulnerabilities += [
            f"{package['name']} {package['version']}: {vulnerability['id']}, "
            f"mended in {', '.join(vulnerability['fix_versions']) or 'no version yet'}"
            for vulnerability in package["vulns"]
        ]
    asked = len(report["dependencies"]) - len(unasked)
    return Answer(asked, tuple(vulnerabilities), tuple(unasked))


def read_npm_audit(output: str, errors: str) -> Answer:
    """The report of `npm audit --json`."""
    try:
        report: dict[str, Any] = json.loads(output)
    except ValueError:
        return Answer(0, unasked=(last_line(errors) or "npm gave no report",))
    if "vulnerabilities" not in report:
        reason = report.get("message") or report.get("error", {}).get("summary") or "no answer"
        return Answer(0, unasked=(str(reason),))
    vulnerabilities = tuple(
        f"{name}: {vulnerability['severity']}, {vulnerability['range']}"
        for name, vulnerability in report["vulnerabilities"].items()
        if vulnerability["severity"] in SEVERE
    )
    return Answer(report["metadata"]["dependencies"]["total"], vulnerabilities)


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def ask_pip_audit(text: str) -> Answer:
    """About what a lock pins. Nothing is resolved or installed for it."""
    command = ["pip-audit", "--disable-pip", "--require-hashes", "--progress-spinner", "off"]
    done = subprocess.run(
        [*command, "--format", "json", "--requirement", "/dev/stdin"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    return read_pip_audit(done.stdout, done.stderr)


def ask_npm() -> Answer:
    done = subprocess.run(
        ["sh", "tools/npm.sh", "audit", "--audit-level=high", "--json"],
        cwd=files.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return read_npm_audit(done.stdout, done.stderr)


def python_answer() -> Answer:
    """About every entry of every lock, each once."""
    pins = {pin.requirement: pin for lock in files.LOCKS for pin in files.pins(lock)}
    probe = ask_pip_audit(next(pin.text for pin in pins.values() if pin.name == PROBE))
    if not probe.asked:
        return probe
    return ask_pip_audit("\n".join(pin.text for pin in pins.values()))


def verdict(answers: dict[str, Answer]) -> tuple[int, list[str]]:
    """Exit status, and what to print."""
    lines = []
    for registry, answer in answers.items():
        lines.append(
            f"==> {registry}: {answer.asked} packages asked about, "
            f"{len(answer.vulnerabilities)} known vulnerabilities"
        )
        lines += [f"  VULNERABLE {line}" for line in answer.vulnerabilities]
        lines += [f"  NOT ASKED {line}" for line in answer.unasked]
    if any(answer.vulnerabilities for answer in answers.values()):
        return VULNERABLE, [*lines, "Vulnerabilities are known: move these versions."]
    silent = [name for name, answer in answers.items() if answer.unasked or not answer.asked]
    if silent:
        return UNASKED, [
            *lines,
            "NOT AUDITED: no advisory service answered for all packages of "
            f"{' and '.join(silent)}. This says nothing about vulnerabilities; run it where the "
            "registries' advisories can be reached.",
        ]
    return 0, [*lines, "No vulnerabilities are known."]


def main() -> int:
    status, lines = verdict({"Python": python_answer(), "npm": ask_npm()})
    print("\n".join(lines))
    return status


if __name__ == "__main__":
    sys.exit(main())
