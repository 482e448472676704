"""The maximum cost of a recruitment, before anyone is recruited."""

from dataclasses import dataclass

from app.recruitment.bonuses import paid_settings
from app.recruitment.channels.registry import get_channel
from app.recruitment.fees import bonus_fee, cost_of_places, posting_cost
from app.recruitment.models import Recruitment


@dataclass(frozen=True)
class Estimate:
    """A recruitment's cost, in cents.

    screen_outs_cents: the cost, with fees, if there are as many screen-outs as places.
    bonuses_cents: the maximum, if everyone earns every bonus.
    """

    rewards_cents: int
    fees_cents: int
    screen_outs_cents: int
    bonuses_cents: int
    bonus_fees_cents: int

    @property
    def places_cents(self) -> int:
        """What opening the recruitment commits immediately."""
        return self.rewards_cents + self.fees_cents + self.screen_outs_cents

    @property
    def total_cents(self) -> int:
        return self.places_cents + self.bonuses_cents + self.bonus_fees_cents


def sizes_of(recruitment: Recruitment, places: int | None = None) -> list[int]:
    """Return the places of each posting that these places, or all of the recruitment's, are split
    into."""
    channel = get_channel(recruitment.channel)
    return channel.split(places or recruitment.places, paid_settings(recruitment))


def estimate_of(recruitment: Recruitment) -> Estimate:
    """Return what a recruitment costs. It need not be stored."""
    sizes = sizes_of(recruitment)
    costs = [
        posting_cost(recruitment.channel, recruitment.reward_cents, places) for places in sizes
    ]
    places_cents = sum(cost.total_cents for cost in costs)
    each = paid_settings(recruitment).most_bonuses_cents
    bonus_fees = sum(bonus_fee(recruitment.channel, cents) for cents in each)
    return Estimate(
        rewards_cents=sum(cost.reward_cents for cost in costs),
        fees_cents=sum(cost.fee_cents for cost in costs),
        screen_outs_cents=cost_of_places(recruitment, sizes) - places_cents,
        bonuses_cents=sum(each) * recruitment.places,
        bonus_fees_cents=bonus_fees * recruitment.places,
    )
