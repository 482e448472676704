"""Amounts and texts in the form that MTurk accepts."""

from app.recruitment.channel import ChannelRefused

MAX_FEEDBACK = 1024
# The limit of a bonus's reason is not documented, so the same limit is used.
MAX_REASON = 1024


def dollars(cents: int) -> str:
    """Return an amount as MTurk reads it: a string that is never made from a float."""
    return f"{cents // 100}.{cents % 100:02d}"


def clipped(text: str, most: int) -> str:
    """Return the text shortened to fit, without characters that MTurk refuses."""
    sound = "".join(
        character for character in text if character in "\t\n\r" or ord(character) >= 32
    ).strip()
    return sound if len(sound) <= most else sound[: most - 1].rstrip() + "…"


def require_dollars(currency: str) -> None:
    """Raise ChannelRefused if the currency is not USD."""
    if currency != "USD":
        raise ChannelRefused(f"MTurk pays in US dollars, not in {currency}.", "bad_currency")
