"""Reports of which several benchmarks write a part each."""

from __future__ import annotations

from bench.harness.paths import BENCHMARKS, publish


def publish_section(name: str, heading: str, body: str) -> None:
    """Write a report with its section `## heading` replaced by this body, or added at the end."""
    path = BENCHMARKS / name
    text = path.read_text() if path.exists() else ""
    publish(name, with_section(text, heading, body))


def with_section(text: str, heading: str, body: str) -> str:
    """Return a report with the section `## heading` replaced, or added at the end."""
    start, end = _span(text, heading)
    section = f"## {heading}\n\n{body.strip()}\n"
    before, after = text[:start].rstrip("\n"), text[end:].strip("\n")
    parts = [part for part in (before, section.rstrip("\n"), after) if part]
    return "\n\n".join(parts) + "\n"


def section_of(text: str, heading: str) -> str:
    """Return the section `## heading` with its heading, empty if there is none."""
    start, end = _span(text, heading)
    return text[start:end]


def _span(text: str, heading: str) -> tuple[int, int]:
    mark = f"## {heading}\n"
    if text.startswith(mark):
        start = 0
    else:
        start = text.find(f"\n{mark}") + 1
        if not start:
            return len(text), len(text)
    end = text.find("\n## ", start)
    return start, len(text) if end < 0 else end + 1
