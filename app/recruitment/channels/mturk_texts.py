"""Amounts and texts as MTurk takes them."""

from app.recruitment.channel import ChannelRefused

MAX_FEEDBACK = 1024
# Of a bonus; undocumented, so the same.
MAX_REASON = 1024


def dollars(cents: int) -> str:
    """An amount as MTurk reads it: a string, never made of a float."""
    return f"{cents // 100}.{cents % 100:02d}"


def clipped(text: str, most: int) -> str:
    """Text that fits; characters that MTurk refuses are left out."""
    sound = "".join(one for one in text if one in "\t\n\r" or ord(one) >= 32).strip()
    return sound if len(sound) <= most else sound[: most - 1].rstrip() + "…"


def require_dollars(currency: str) -> None:
    """Raises ChannelRefused."""
    if currency != "USD":
        raise ChannelRefused(f"MTurk pays in US dollars, not in {currency}.", "bad_currency")
