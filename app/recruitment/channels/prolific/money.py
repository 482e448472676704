"""Prolific's two ways to write money: rewards are in cents, and bonuses in a list are in whole
units.

"An amount of 30 will pay £30.00" (docs.prolific.com, Set up bonuses), so a mistake pays a hundred
times too much.
"""

import re
from collections.abc import Iterable
from decimal import Decimal

_AMOUNT = re.compile(r"(0|[1-9][0-9]{0,8})\.[0-9]{2}")
_ID = re.compile(r"[0-9A-Za-z]{8,64}")


def major_text(cents: int) -> str:
    """Return cents as a bonus list needs them: 425 becomes `4.25`. Raises ValueError unless
    positive."""
    if cents <= 0:
        raise ValueError("a bonus must be more than 0")
    return f"{cents // 100}.{cents % 100:02d}"


def cents_of(text: str) -> int:
    """Return the cents of `4.25`. Raises ValueError for everything that `major_text` does not
    write."""
    if not _AMOUNT.fullmatch(text):
        raise ValueError(f"not an amount of a bonus list: {text!r}")
    return int(Decimal(text) * 100)


def bonus_list(lines: Iterable[tuple[str, int]]) -> str:
    """Return `csv_bonuses` from submission ids and cents. Raises ValueError for an invalid id."""
    rows = []
    for submission, cents in lines:
        if not _ID.fullmatch(submission):
            raise ValueError("a submission's ID must contain only letters and digits")
        rows.append(f"{submission},{major_text(cents)}\n")
    return "".join(rows)
