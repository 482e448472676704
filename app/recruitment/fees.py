"""The platforms' fees, by their published rates, and what a recruitment costs with them.

Amounts of money are in cents. MTurk takes 20 % of reward and bonus, at least one cent for each, and
another 20 % of the reward for HITs with ten or more assignments (reliability.md §1a). Prolific
takes a share of all payments that depends on the kind of account (§1b), plus VAT on it for some.
Fractions of a cent are rounded up, so that they can never exceed a limit.
"""

from decimal import ROUND_CEILING, Decimal

from app.recruitment.channel import Cost
from app.recruitment.models import Posting, Recruitment

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


def reward_of(recruitment: Recruitment, posting: Posting) -> int:
    """Return what a posting pays for each place, in cents."""
    paid = posting.amount_cents
    return recruitment.reward_cents if paid is None else paid


def cost_of_places(recruitment: Recruitment, places: list[int]) -> int:
    """Return what postings of these sizes cost together with fees, in cents."""
    return sum(
        posting_cost(recruitment.channel, recruitment.reward_cents, size).total_cents
        + cost_of_screen_outs(recruitment, size, 0, "open")
        for size in places
    )


def cost_of_screen_outs(recruitment: Recruitment, places: int, n_paid: int, state: str) -> int:
    """Return the cost of screen-outs. Prolific automatically pays as many of them as there are
    places, in addition to the places."""
    cents = recruitment.settings.get("screen_out_cents") or 0
    n = n_paid if state == "closed" else max(places, n_paid)
    return n * (cents + bonus_fee(recruitment.channel, cents))


def cost_of_bonus(recruitment: Recruitment, cents: int) -> int:
    """Return the cost of a bonus with the platform's fee."""
    return cents + bonus_fee(recruitment.channel, cents)


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
