"""Run the acceptance tests, statement by statement, and write the report.

`python -m bench.reliability` runs all at full size; `--only 4 soak` these alone, and the report
keeps what earlier runs left in the folder of results; `--report` runs none.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from bench.reliability.outcomes import outcomes
from bench.reliability.report import figures_in, keep_size, report, sizes_in
from bench.reliability.statements import Statement, statements

ROOT = Path(__file__).parents[2]
REPORT = ROOT / "docs" / "benchmarks" / "reliability.md"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", metavar="NAME", default=[])
    parser.add_argument("--report", action="store_true", help="of what earlier runs left, no more")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "acceptance")
    parser.add_argument("--short", action="store_true", help="the short forms of the tests")
    options = parser.parse_args()
    known = statements()
    unknown = set(options.only) - {one.name for one in known}
    if unknown:
        parser.error(f"no such statement: {', '.join(sorted(unknown))}")
    folder: Path = options.results.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    done: set[str] = set()
    worst = 0
    for one in known if not options.report else []:
        if not options.only or one.name in options.only:
            worst = max(worst, run(one, done, folder, full=not options.short))
    REPORT.write_text(
        report(known, outcomes(folder.glob("*.xml")), figures_in(folder), sizes_in(folder))
    )
    print(f"==> {REPORT.relative_to(ROOT)}")
    return worst


def run(one: Statement, done: set[str], folder: Path, full: bool) -> int:
    """The tests of one statement that have not run yet; pytest's exit status."""
    tests = [test for test in one.tests if test not in done]
    if not tests:
        return 0
    done.update(tests)
    print(f"==> {one.name}: {one.text}", flush=True)
    environment = {
        **os.environ,
        "LIKEWISE_FULL_TESTS": "1" if full else "0",
        "LIKEWISE_ACCEPTANCE_RESULTS": str(folder),
    }
    keep_size(folder, one.name, "full" if full else "short")
    command = [sys.executable, "-m", "pytest", *tests, f"--junitxml={folder / one.name}.xml"]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
