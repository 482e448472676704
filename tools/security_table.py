"""Writes the table of docs/asvs.csv into docs/security.md: `python tools/security_table.py`."""

import csv
from collections import Counter
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
VERSION = "v5.0.0"
LEVELS = ("1", "2")
CHAPTERS = {
    "1": "Encoding and sanitization", "2": "Validation and business logic", "3": "Web frontend",
    "4": "API and web service", "5": "Files", "6": "Authentication", "7": "Sessions",
    "8": "Authorization", "9": "Self-contained tokens", "10": "OAuth and OIDC",
    "11": "Cryptography", "12": "Communication", "13": "Configuration", "14": "Data protection",
    "15": "Coding and architecture", "16": "Logging and errors", "17": "WebRTC",
}  # fmt: skip
STATES = ("met", "part", "not met", "in work", "does not apply")
Row = dict[str, str]


def read_rows() -> list[Row]:
    """item (1.2.3), level, state, how, code and test (path::name, apart by blanks)."""
    with (DOCS / "asvs.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def rendered(rows: list[Row]) -> str:
    """Sums, then one table a chapter, as Markdown."""
    lines = [BEGIN, "", *_sums(rows)]
    for number, title in CHAPTERS.items():
        lines += ["", f"### V{number} {title}", "", *_chapter(rows, number)]
    return "\n".join([*lines, "", END])


def _sums(rows: list[Row]) -> list[str]:
    counted = Counter((row["level"], row["state"]) for row in rows)
    head = ["| level | items | " + " | ".join(STATES) + " |", "|---" * (len(STATES) + 2) + "|"]
    for level in LEVELS:
        numbers = [counted[level, state] for state in STATES]
        head.append(f"| {level} | {sum(numbers)} | " + " | ".join(map(str, numbers)) + " |")
    return head


def _chapter(rows: list[Row], number: str) -> list[str]:
    head = ["| item | level | state | how | code | test |", "|---|---|---|---|---|---|"]
    return head + [_line(row) for row in rows if row["item"].partition(".")[0] == number]


def _line(row: Row) -> str:
    code, test = (
        " ".join(f"`{reference}`" for reference in row[name].split()) for name in ("code", "test")
    )
    item = f"{VERSION}-{row['item']}"
    return f"| {item} | {row['level']} | {row['state']} | {row['how']} | {code} | {test} |"


def written(text: str, rows: list[Row]) -> str:
    """The document with the table of these rows in the place of the one it has."""
    before, _, rest = text.partition(BEGIN)
    return before + rendered(rows) + rest.partition(END)[2]


if __name__ == "__main__":
    document = DOCS / "security.md"
    document.write_text(written(document.read_text(), read_rows()))
