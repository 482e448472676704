"""Makes cells of CSV files safe for spreadsheets."""

import csv
import io

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\0")


def neutral(text: str) -> str:
    """Return text that no spreadsheet interprets as a formula (OWASP ASVS 5.0, 1.2.10)."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def as_meant(cell: str) -> str:
    """Return the original text of a cell that `neutral` wrote, so that an exported table can be
    imported unchanged."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULA_STARTS) else cell


def csv_line(cells: list[str]) -> str:
    """Return one line of a CSV file with safe cells."""
    buffer = io.StringIO()
    csv.writer(buffer).writerow([neutral(cell) for cell in cells])
    return buffer.getvalue()
