"""What a requester should think of before the launch, in sentences."""

from typing import TYPE_CHECKING

from app.campaigns.annotation_settings import annotation_of
from app.campaigns.kinds import KINDS
from app.campaigns.models import Campaign
from app.recruitment.costs import FAIR_HOURLY_CENTS, LEAST_HOURLY_CENTS

if TYPE_CHECKING:
    from app.planning.service import Plan

FEW_VIEWS = 4.0
LONG_MINUTES = 45.0


def warnings_of(campaign: Campaign, plan: "Plan") -> list[str]:
    """One sentence for each thing that is likely to be regretted."""
    return [*_of_quality(campaign, plan), *_of_pay(campaign, plan)]


def _of_quality(campaign: Campaign, plan: "Plan") -> list[str]:
    found = []
    views = plan.effort.views_per_image
    if KINDS[campaign.kind].votes:
        if views < 1:
            found.append(
                f"Only {views:.0%} of the images can be shown once: the others are labelled by the "
                "classifier alone."
            )
    elif views < FEW_VIEWS:
        found.append(
            f"Each image is shown only {views:.1f} times on average: too "
            "few to find its neighbours. A larger budget or a smaller collection helps."
        )
    if plan.needed is not None and not plan.stale and plan.needed > 1.1 * campaign.budget:
        found.append(
            f"The dry run needs about {plan.needed:.0f} answers for the quality wanted; the budget "
            f"is {campaign.budget}."
        )
    if plan.beyond and not plan.stale:
        found.append(
            "The simulated crowd does not reach the quality wanted with any budget tried: expect "
            "less, or group by something people agree on more."
        )
    settings = annotation_of(campaign.annotation)
    if not (settings.practice or settings.gold_share or settings.repeat_share):
        found.append(
            "Nothing checks whether annotators take care: no practice, no gold grids, no repeats."
        )
    return found


def _of_pay(campaign: Campaign, plan: "Plan") -> list[str]:
    found = []
    hourly = plan.costs.hourly_cents
    if plan.settings.platform != "link" and hourly is None:
        found.append("No reward is set: platforms require one.")
    if hourly is not None and campaign.currency == "USD":
        pay = f"{hourly / 100:.2f} USD an hour"
        if hourly < LEAST_HOURLY_CENTS:
            found.append(
                f"The reward comes to {pay}: less than {LEAST_HOURLY_CENTS / 100:.0f}, which "
                "Prolific does not allow and few will accept."
            )
        elif hourly < FAIR_HOURLY_CENTS:
            found.append(f"The reward comes to {pay}; {FAIR_HOURLY_CENTS / 100:.0f} is fair.")
    if plan.effort.minutes_per_assignment > LONG_MINUTES:
        found.append(
            f"An assignment takes about {plan.effort.minutes_per_assignment:.0f} minutes: people "
            "tire. Fewer grids per assignment keep answers good."
        )
    return found
