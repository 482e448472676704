"""Outcomes of tests, from the files that pytest writes in JUnit's format."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from defusedxml.ElementTree import parse


@dataclass
class Outcome:
    """The outcome of one test function, over all its parameters."""

    ends: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    reasons: set[str] = field(default_factory=set)

    @property
    def why_skipped(self) -> str:
        return "; ".join(sorted(self.reasons))

    @property
    def passed(self) -> bool:
        """At least one of its cases passed and none failed; skipped ones are counted separately."""
        return self.ends["passed"] > 0 and self.ends["failed"] == 0


def outcomes(files: Iterable[Path]) -> dict[str, Outcome]:
    """Outcomes by `path::name`; if a test is in several files, its newest run counts."""
    newest: dict[str, Outcome] = {}
    for file in sorted(files, key=lambda xml: xml.stat().st_mtime):
        run: dict[str, Outcome] = {}
        for case in parse(file).iter("testcase"):
            path = str(case.get("classname")).replace(".", "/") + ".py"
            name = f"{path}::{str(case.get('name')).partition('[')[0]}"
            outcome = run.setdefault(name, Outcome())
            outcome.seconds += float(case.get("time") or 0)
            kinds = {child.tag for child in case}
            if kinds & {"failure", "error"}:
                outcome.ends["failed"] += 1
            elif "skipped" in kinds:
                outcome.ends["skipped"] += 1
                outcome.reasons.update(
                    str(child.get("message")) for child in case if child.tag == "skipped"
                )
            else:
                outcome.ends["passed"] += 1
        newest.update(run)
    return newest
