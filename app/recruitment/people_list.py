"""A requester's list of people: a CSV file with a column `person`, or one person per line."""

import csv
import io
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from app.core.errors import InvalidInput
from app.core.spreadsheets import as_meant

MOST_PEOPLE = 10_000
LONGEST = 200
COLUMN = "person"


@dataclass(frozen=True)
class BadLine:
    """A line without a usable person, and why. `line` counts from 1."""

    line: int
    text: str
    why: str


@dataclass(frozen=True)
class PeopleList:
    people: list[str]
    bad_lines: list[BadLine]


def read_people(text: str, known: set[str]) -> PeopleList:
    """Return everyone on the list who is not in `known` (see `sameness`), each once.

    Raises InvalidInput if the text is not a list, or the list is empty or too long.
    """
    people: list[str] = []
    bad: list[BadLine] = []
    seen = set(known)
    for line, cells in _rows(text):
        person = cells[0] if len(cells) == 1 else ""
        why = _fault(cells, seen, known)
        if why:
            bad.append(BadLine(line, ", ".join(cells)[:LONGEST], why))
            continue
        seen.add(sameness(person))
        people.append(person)
        if len(people) > MOST_PEOPLE:
            raise InvalidInput(
                f"A list can have at most {MOST_PEOPLE} people. Make another link for the others.",
                code="long_list",
            )
    if not people and not bad:
        raise InvalidInput("The list is empty.", code="empty_list")
    return PeopleList(people, bad)


def sameness(person: str) -> str:
    """Return a value that is equal for two spellings of the same name or address."""
    return unicodedata.normalize("NFKC", person).casefold()


def _fault(cells: list[str], seen: set[str], known: set[str]) -> str:
    if len(cells) > 1:
        return f"too many columns; in the first line, name the column with people “{COLUMN}”"
    [person] = cells
    if not person:
        return "no person in this line"
    if len(person) > LONGEST:
        return f"more than {LONGEST} characters"
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in person):
        return "contains characters that can't be displayed"
    if sameness(person) in known:
        return "already has an address"
    return "is in the list twice" if sameness(person) in seen else ""


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the person alone, or all cells if it is not clear which of them is
    the person."""
    text = text.removeprefix("\ufeff")
    first = text.lstrip().partition("\n")[0]
    delimiter = next((separator for separator in ",;\t" if separator in first), ",")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    is_first = True
    try:
        for cells in reader:
            cells = [as_meant(cell.strip()) for cell in cells]
            if not any(cells):
                continue
            named = [cell.casefold() for cell in cells]
            if is_first and COLUMN in named:
                header = named
            elif header is None or len(cells) > len(header):
                yield reader.line_num, cells
            else:
                column = header.index(COLUMN)
                yield reader.line_num, [cells[column] if column < len(cells) else ""]
            is_first = False
    except csv.Error as error:
        raise InvalidInput(
            f"Line {reader.line_num} of the list is not valid CSV: {error}.", code="bad_list"
        ) from error
