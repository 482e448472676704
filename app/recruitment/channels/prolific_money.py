"""Prolific's two ways to write money: rewards are hundredths, bonuses of a list are whole units.

"An amount of 30 will pay £30.00" (docs.prolific.com, Set up bonuses): the mistake is hundredfold.
"""

import re
from collections.abc import Iterable
from decimal import Decimal

_AMOUNT = re.compile(r"(0|[1-9][0-9]{0,8})\.[0-9]{2}")
_ID = re.compile(r"[0-9A-Za-z]{8,64}")


def major_text(cents: int) -> str:
    """Hundredths as a bonus list wants them: 425 → `4.25`. Raises ValueError unless positive."""
    if cents <= 0:
        raise ValueError("a bonus must be more than 0")
    return f"{cents // 100}.{cents % 100:02d}"


def cents_of(text: str) -> int:
    """The hundredths of `4.25`; raises ValueError for all that `major_text` does not write."""
    if not _AMOUNT.fullmatch(text):
        raise ValueError(f"not an amount of a bonus list: {text!r}")
    return int(Decimal(text) * 100)


def bonus_list(lines: Iterable[tuple[str, int]]) -> str:
    """`csv_bonuses` of submissions' ids and hundredths; raises ValueError for what is no id."""
    rows = []
    for submission, cents in lines:
        if not _ID.fullmatch(submission):
            raise ValueError("a submission's ID must contain only letters and digits")
        rows.append(f"{submission},{major_text(cents)}\n")
    return "".join(rows)
