"""The platforms' fees, by their published rates. Amounts of money are in cents.

MTurk takes 20 % of reward and bonus, at least one cent for each, and another 20 % of the reward for
HITs with ten or more assignments (reliability.md §1a). Prolific takes a share of all payments that
depends on the kind of account (§1b), plus VAT on it for some. Fractions of a cent are rounded up,
so that they can never exceed a limit.
"""

from decimal import ROUND_CEILING, Decimal

from app.recruitment.channel import Cost

MTURK_PERCENT = 20
MTURK_MANY = 10
# Companies pay 42.8 %, universities and charities 33.3 %, and in the United Kingdom VAT on that
# (researcher-help.prolific.com). The highest fee is assumed, so that a limit holds for everyone.
PROLIFIC_PERCENT = Decimal("42.8")
VAT_PERCENT = 20
MTURK_LOW_FEE_PLACES = 9


def posting_cost(channel: str, reward_cents: int, places: int) -> Cost:
    """Return what `places` rewards of one posting cost."""
    return Cost(reward_cents * places, reward_fee(channel, reward_cents, places) * places)


def reward_fee(channel: str, reward_cents: int, places: int) -> int:
    """Return the fee for one reward of a posting with so many places."""
    if channel == "mturk":
        percent = MTURK_PERCENT * (2 if places >= MTURK_MANY else 1)
        return max(1, _share(reward_cents, percent)) if reward_cents else 0
    return _prolific_fee(reward_cents) if channel == "prolific" else 0


def bonus_fee(channel: str, amount_cents: int) -> int:
    """Return the fee for a bonus."""
    if channel == "mturk":
        return max(1, _share(amount_cents, MTURK_PERCENT)) if amount_cents else 0
    return _prolific_fee(amount_cents) if channel == "prolific" else 0


def split_places(channel: str, places: int, keep_low_fee: bool) -> list[int]:
    """Return the places of each posting. On MTurk, a posting has at most nine if the lower fee
    should be kept."""
    if channel != "mturk" or not keep_low_fee or places <= MTURK_LOW_FEE_PLACES:
        return [places]
    full, rest = divmod(places, MTURK_LOW_FEE_PLACES)
    return [MTURK_LOW_FEE_PLACES] * full + ([rest] if rest else [])


def _prolific_fee(cents: int) -> int:
    fee = _share(cents, PROLIFIC_PERCENT)
    return fee + _share(fee, VAT_PERCENT)


def _share(cents: int, percent: int | Decimal) -> int:
    return int((Decimal(cents) * percent / 100).to_integral_value(ROUND_CEILING))
