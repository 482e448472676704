"""What recruitment answers to annotation (`app/annotation/hooks.py`)."""

from sqlalchemy.orm import Session

from app.annotation import hooks
from app.annotation.models import Assignment
from app.annotation.sessions import AnnotatorSession
from app.recruitment import capacity, extras, link_earnings, link_entry, returns
from app.recruitment.models import Recruitment

hooks.assignment_completed.answered_by(link_earnings.owe_for)
hooks.assignment_screened_out.answered_by(capacity.free_place)
hooks.practice_tried.answered_by(extras.screen_out_if_failed)


@hooks.pay_of.answered_by
def pay_of(session: Session, assignment: Assignment) -> hooks.Pay | None:
    """What the recruitment pays by which somebody came."""
    if assignment.recruitment_id is None:
        return None
    recruitment = session.get_one(Recruitment, assignment.recruitment_id)
    return hooks.Pay(recruitment.reward_cents, recruitment.currency)


@hooks.offers.answered_by
def offers_of(session: Session, who: AnnotatorSession, status: str) -> hooks.Offers:
    """Extra grids and their bonus; behind a link what was earned, whether it lets this person
    take on another assignment, and where it sends them."""
    assignment = who.assignment
    more = extras.more_of(session, who) if status == "done" else None
    bonus = extras.bonus_of(session, who)
    is_over = status in ("done", "stopped")
    if not is_over or assignment.channel != "link" or assignment.recruitment_id is None:
        return hooks.Offers(more, bonus)
    link = session.get_one(Recruitment, assignment.recruitment_id)
    return hooks.Offers(
        more,
        bonus,
        link_earnings.earned_cents(session, assignment),
        link_entry.may_take_on(session, link, who.annotator),
        returns.address_at_end(session, link, assignment, status),
    )
