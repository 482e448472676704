"""Cells of CSV files that people open in spreadsheets."""

import csv
import io

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\0")


def neutral(text: str) -> str:
    """Text that no spreadsheet takes for a formula (OWASP ASVS 5.0, 1.2.10)."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def as_meant(cell: str) -> str:
    """The text behind a cell that `neutral` wrote, so that a table may come back as it left."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULA_STARTS) else cell


def csv_line(cells: list[str]) -> str:
    """One line of a CSV file, its cells neutral."""
    buffer = io.StringIO()
    csv.writer(buffer).writerow([neutral(cell) for cell in cells])
    return buffer.getvalue()
