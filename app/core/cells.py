"""Writes cells and lines of CSV and TSV files that are safe in a spreadsheet."""

import csv
import io
from collections.abc import Iterable
from typing import Any

from app.core.spreadsheets import neutral

_QUOTED = (",", '"', "\n", "\r")


def cell(text: str) -> str:
    """Return people's text as one cell of CSV, safe and quoted if necessary."""
    text = neutral(text)
    if any(mark in text for mark in _QUOTED):
        return '"' + text.replace('"', '""') + '"'
    return text


def plain(text: str) -> str:
    """Return people's text as one cell of TSV, which has no quotes: safe, and on one line."""
    return neutral(" ".join(text.split()))


def csv_line(cells: Iterable[Any]) -> str:
    """Return one line of CSV, ended by a newline. Pass people's text through `neutral` first."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(cells)
    return buffer.getvalue()
