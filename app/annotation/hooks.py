"""What annotation tells and asks the rooms above it (see `app.core.hooks`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.core.hooks import Hook

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from app.annotation.models import Assignment
    from app.annotation.schemas import BonusOut, MoreOut
    from app.annotation.sessions import AnnotatorSession
    from app.campaigns.models import Campaign


@dataclass(frozen=True)
class Pay:
    """What an assignment pays, in cents (minor units)."""

    reward_cents: int
    currency: str


@dataclass(frozen=True)
class Offers:
    """What an annotator may do next, and has earned.

    more: extra grids; bonus: for those done; behind a link also earned_cents, None for nothing,
    whether its terms allow another assignment, where it sends the person, and whether it is sure
    who they are (not because an address says so, which anybody can type).
    """

    more: MoreOut | None = None
    bonus: BonusOut | None = None
    earned_cents: int | None = None
    may_take_on: bool | None = None
    return_address: str | None = None
    is_known: bool = False


# An assignment is completed, or got another answer afterwards. The caller holds its row lock.
assignment_completed: Hook[[Session, Assignment], None] = Hook("annotation.assignment_completed")
# Answers before the grids screened somebody out, so that their place is free. The caller holds the
# assignment's row lock.
assignment_screened_out: Hook[[Session, Assignment], None] = Hook(
    "annotation.assignment_screened_out"
)
# A practice grid was tried. The caller holds the annotator's row lock.
practice_tried: Hook[[Session, AnnotatorSession], None] = Hook("annotation.practice_tried")
# What an assignment pays; None where the campaign's own reward counts.
pay_of: Hook[[Session, Assignment], Pay | None] = Hook("annotation.pay_of")
# About what this number of answers costs with fees, in cents of the campaign's currency.
cost_of_answers: Hook[[Session, Campaign, int], int] = Hook("annotation.cost_of_answers")
# What is offered to somebody whose request for a grid got this status (`Handout.status`).
offers: Hook[[Session, AnnotatorSession, str], Offers] = Hook("annotation.offers")
# How well the newest model agrees with each annotator, by position (Cohen's kappa, given the
# attribute of each answer). Empty if there is none that says it.
model_agreement: Hook[[Session, Campaign], dict[int, float]] = Hook("annotation.model_agreement")
