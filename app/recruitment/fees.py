"""What a recruitment costs with the platforms' fees, in cents. Each channel says what it takes."""

from app.recruitment.channel import Cost
from app.recruitment.channels.paid import Paid
from app.recruitment.channels.registry import LINK, get_channel
from app.recruitment.models import Posting, Recruitment
from app.recruitment.settings import settings_model


def posting_cost(channel: str, reward_cents: int, places: int) -> Cost:
    """Return what `places` rewards of one posting cost."""
    return Cost(reward_cents * places, reward_fee(channel, reward_cents, places) * places)


def reward_fee(channel: str, reward_cents: int, places: int) -> int:
    """Return the fee for one reward of a posting with so many places."""
    return 0 if channel == LINK else get_channel(channel).reward_fee(reward_cents, places)


def bonus_fee(channel: str, amount_cents: int) -> int:
    """Return the fee for a bonus."""
    return 0 if channel == LINK else get_channel(channel).bonus_fee(amount_cents)


def usual_fees(channel: str, reward_cents: int, places: int) -> int:
    """Return the fees for so many places with the channel's default settings."""
    if channel == LINK:
        return 0
    spec = get_channel(channel)
    sizes = spec.split(places, spec.settings())
    return sum(posting_cost(channel, reward_cents, size).fee_cents for size in sizes)


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
    """Return the cost of people who failed all practice. A platform that pays for that pays as many
    of them as there are places, in addition to the places."""
    settings = settings_model(recruitment.channel).model_validate(recruitment.settings)
    cents = (settings.failed_practice_cents if isinstance(settings, Paid) else None) or 0
    n = n_paid if state == "closed" else max(places, n_paid)
    return n * (cents + bonus_fee(recruitment.channel, cents))


def cost_of_bonus(recruitment: Recruitment, cents: int) -> int:
    """Return the cost of a bonus with the platform's fee."""
    return cents + bonus_fee(recruitment.channel, cents)
