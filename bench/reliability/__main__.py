"""Run the acceptance tests, statement by statement, and write the report.

`python -m bench.reliability` runs all at full size; `--only 4 soak` runs only these, and the
report has earlier results for the others; `--report` runs none.
"""

import argparse
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from bench.harness.paths import BENCHMARKS, ROOT
from bench.reliability.kept import FIGURES, FILE, Kept, Run
from bench.reliability.outcomes import outcomes
from bench.reliability.report import report
from bench.reliability.statements import Statement, statements

REPORT = BENCHMARKS / "reliability.md"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", metavar="NAME", default=[])
    parser.add_argument(
        "--report", action="store_true", help="only write the report of earlier runs"
    )
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "acceptance")
    parser.add_argument("--short", action="store_true", help="run the short forms of the tests")
    options = parser.parse_args()
    known = statements()
    unknown = set(options.only) - {statement.name for statement in known}
    if unknown:
        parser.error(f"unknown statement {', '.join(sorted(unknown))}")
    folder: Path = options.results.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [
        statement for statement in known if not options.only or statement.name in options.only
    ]
    worst, done = 0, set[str]()
    for statement in [] if options.report else chosen:
        worst = max(worst, run(statement, done, folder, full=not options.short))
    REPORT.write_text(report(known, Kept.read()))
    print(f"==> {REPORT.relative_to(ROOT)}")
    return worst


def run(statement: Statement, done: set[str], folder: Path, full: bool) -> int:
    """Run the tests of one statement that have not run yet. Returns pytest's exit status, or 1 if a
    test was skipped completely, because then nothing was checked."""
    tests = [test for test in statement.tests if test not in done]
    if not tests:
        return 0
    done.update(tests)
    print(f"==> {statement.name}: {statement.text}", flush=True)
    environment = {
        **os.environ,
        "LIKEWISE_FULL_TESTS": "1" if full else "0",
        "LIKEWISE_ACCEPTANCE_RESULTS": str(folder),
    }
    for name in FIGURES:
        (folder / f"{name}.json").unlink(missing_ok=True)
    file = folder / f"{statement.name}.xml"
    file.unlink(missing_ok=True)
    kept, now = Kept.read(), datetime.now(UTC).date().isoformat()
    kept.begin(statement.name, Run("full" if full else "short", commit(), now), tests)
    command = [sys.executable, "-m", "pytest", *tests, f"--junitxml={file}"]
    status = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    # Written after each, so that hours are not lost with the last.
    kept.end(outcomes([file]) if file.exists() else {}, folder)
    kept.write()
    REPORT.write_text(report(statements(), kept))
    return status or int(not all_passed(tests, file))


def all_passed(tests: list[str], file: Path) -> bool:
    """Whether every test has a case that passed and none that failed."""
    ended = outcomes([file]) if file.exists() else {}
    return all(test in ended and ended[test].passed for test in tests)


def commit() -> str:
    """The tested commit, with a + if files have changed, except for those that runs write."""
    own = [f":!{path.relative_to(ROOT)}" for path in (FILE, REPORT)]
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", *own)
    return git("rev-parse", "--short=9", "HEAD") + ("+" if changed else "")


def git(*arguments: str) -> str:
    """The output of git; empty without a repository."""
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
