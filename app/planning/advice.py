"""Warnings about a campaign's plan, for the requester to read before the launch."""

from typing import TYPE_CHECKING

from app.campaigns.annotation_settings import annotation_of
from app.campaigns.models import Campaign
from app.kinds import kind_of
from app.recruitment.costs import FAIR_HOURLY_CENTS, LEAST_HOURLY_CENTS
from app.strategies import get_strategy
from app.strategies.base import features_named

if TYPE_CHECKING:
    from app.planning.service import Plan

LONG_MINUTES = 45.0


def warnings_of(campaign: Campaign, plan: "Plan") -> list[str]:
    """Return one warning for each part of the plan that is likely to cause problems."""
    return [*_of_part(campaign), *_of_quality(campaign, plan), *_of_pay(campaign, plan)]


def _of_part(campaign: Campaign) -> list[str]:
    strategy = get_strategy(campaign.strategy)
    if not campaign.ask_about or features_named(strategy, campaign.settings) is not None:
        return []
    others = "Choose features in its settings" if strategy.features_setting else "Choose another"
    return [
        f"Images that nobody is asked about get no meaningful place, because the strategy "
        f"{strategy.title} does not use features here. {others}, or ask about all images."
    ]


def _of_quality(campaign: Campaign, plan: "Plan") -> list[str]:
    advice = []
    few = kind_of(campaign).few_views(plan.effort.views_per_image)
    if few is not None:
        advice.append(few)
    if plan.needed is not None and not plan.stale and plan.needed > 1.1 * campaign.budget:
        advice.append(
            f"According to the dry run, the target quality needs about {plan.needed:.0f} answers. "
            f"The budget is {campaign.budget}."
        )
    if plan.beyond and not plan.stale:
        advice.append(
            "The simulated crowd does not reach the target quality with any budget that was "
            "tried. Lower the target, or ask about something people agree on more."
        )
    settings = annotation_of(campaign.annotation)
    if not (settings.practice or settings.gold_share or settings.repeat_share):
        advice.append(
            "Nothing checks whether annotators work carefully. Add practice grids, gold grids or "
            "repeats."
        )
    return advice


def _of_pay(campaign: Campaign, plan: "Plan") -> list[str]:
    advice = []
    hourly = plan.costs.hourly_cents
    if plan.settings.platform != "link" and hourly is None:
        advice.append("No reward is set. Platforms require one.")
    if hourly is not None and campaign.currency == "USD":
        pay = f"{hourly / 100:.2f} USD an hour"
        if hourly < LEAST_HOURLY_CENTS:
            advice.append(
                f"The reward amounts to {pay}. Prolific does not allow less than "
                f"{LEAST_HOURLY_CENTS / 100:.0f}, and few people would accept it."
            )
        elif hourly < FAIR_HOURLY_CENTS:
            advice.append(
                f"The reward amounts to {pay}. A fair reward is {FAIR_HOURLY_CENTS / 100:.0f} or "
                "more."
            )
    if plan.effort.minutes_per_assignment > LONG_MINUTES:
        advice.append(
            f"An assignment takes about {plan.effort.minutes_per_assignment:.0f} minutes, and "
            "people get tired. Choose fewer grids per assignment to keep answers good."
        )
    return advice
