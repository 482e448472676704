"""Cells and lines of CSV and TSV files, harmless in a spreadsheet."""

import csv
import io
from collections.abc import Iterable
from typing import Any

from app.core.spreadsheets import neutral

_QUOTED = (",", '"', "\n", "\r")


def cell(text: str) -> str:
    """Text of people as one cell of CSV: neutral, and quoted where it must be."""
    text = neutral(text)
    if any(mark in text for mark in _QUOTED):
        return '"' + text.replace('"', '""') + '"'
    return text


def plain(text: str) -> str:
    """Text of people as one cell of TSV, which knows no quotes: neutral, on one line."""
    return neutral(" ".join(text.split()))


def csv_line(cells: Iterable[Any]) -> str:
    """One line of CSV, ended by a newline; text of people goes through `neutral` before."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(cells)
    return buffer.getvalue()
