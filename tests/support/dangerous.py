"""Code that turns text into markup, SQL or programs, where ruff has no rule for it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from testbed.servers import ROOT

PYTHON = ("app", "workers", "learning", "likewise", "emulators", "demo", "bench", "testbed")
# By kind of file: what is looked for, as `make lint` names it.
PATTERNS: dict[str, tuple[re.Pattern[str], ...]] = {
    "script": (
        re.compile(r"\{@html\s+[^}]*\}"),
        re.compile(r"\b(?:inner|outer)HTML\b"),
        re.compile(r"\b(?:insertAdjacentHTML|setHTMLUnsafe|parseHTMLUnsafe)\b"),
        re.compile(r"\bcreateContextualFragment\b"),
        re.compile(r"\bdocument\s*\.\s*write(?:ln)?\b"),
        re.compile(r"\bsrcdoc\b"),
        re.compile(r"(?<![.\w])eval\s*\("),
        re.compile(r"\bnew\s+Function\b"),
    ),
    "python": (
        re.compile(r"\ballow_pickle\s*=\s*(?!False\b)\S+"),
        re.compile(r"\bshell\s*=\s*(?!False\b)\S+"),
        re.compile(r"\bautoescape\s*=\s*(?:False|None)\b"),
        # TLS that believes anybody.
        re.compile(r"\bverify\s*=\s*False\b"),
        re.compile(r"\bCERT_NONE\b"),
        re.compile(r"\bcheck_hostname\s*=\s*False\b"),
        re.compile(r"\b_create_unverified_context\b"),
        # SQL put together from parts; values are bound, names come from the tables themselves.
        re.compile(r"\btext\(\s*[rR]?[fF][\"'][^\"']*[\"']"),
    ),
    "template": (
        re.compile(r"\{\{[^}]*\|\s*safe\b[^}]*\}\}"),
        re.compile(r"\{%-?\s*autoescape\b[^%]*%\}"),
    ),
}
SUFFIXES = {
    ".svelte": "script",
    ".ts": "script",
    ".js": "script",
    ".py": "python",
    ".html": "template",
}


@dataclass(frozen=True, order=True)
class Danger:
    """A place that a pattern fits; path: from the root of the repository."""

    path: str
    line: int
    code: str


def dangerous_in(path: str, source: str) -> list[Danger]:
    """What stands in one file, by its suffix; nothing for files of other kinds."""
    kind = SUFFIXES.get(Path(path).suffix)
    return sorted(
        Danger(path, source.count("\n", 0, fit.start()) + 1, fit.group().strip())
        for pattern in PATTERNS.get(kind or "", ())
        for fit in pattern.finditer(source)
    )


def sources() -> Iterable[Path]:
    """The files that are shipped: our own, not what is built or installed."""
    yield from (path for path in sorted((ROOT / "frontend/src").rglob("*")) if path.is_file())
    for name in PYTHON:
        yield from sorted((ROOT / name).rglob("*.py"))
        yield from sorted((ROOT / name).rglob("*.html"))


def dangerous_code() -> list[Danger]:
    return [
        danger
        for path in sources()
        if path.suffix in SUFFIXES
        for danger in dangerous_in(str(path.relative_to(ROOT)), path.read_text())
    ]
