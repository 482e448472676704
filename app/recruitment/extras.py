"""What annotators can do and get at the end of their assignment: extra grids, submitting, and what
recruitment answers to annotation (`app/annotation/hooks.py`)."""

from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.annotation import hooks
from app.annotation.models import Assignment
from app.annotation.schemas import BonusOut, MoreOut
from app.annotation.sessions import (
    AnnotatorSession,
    NotPrepared,
    complete_unless_asked,
    grids_of,
    practice_number,
    require_held,
)
from app.core.database import locked
from app.core.errors import Conflict
from app.recruitment import ledger, link_entry, links, parameters, payables
from app.recruitment.channels.paid import Paid
from app.recruitment.costs import cost_of_bonus
from app.recruitment.models import Recruitment, Submission
from app.recruitment.parameters import return_address
from app.recruitment.settings import LinkSettings, link_settings, settings_model


def more_of(session: Session, who: AnnotatorSession) -> MoreOut | None:
    """Return the extra grids that are still available, or None if there are none."""
    assignment = who.assignment
    if assignment.recruitment_id is None or assignment.handed_in_at is not None:
        return None
    recruitment = session.get_one(Recruitment, assignment.recruitment_id)
    settings = _settings_of(recruitment)
    if settings is None or who.campaign.state != "running":
        return None
    done = assignment.n_answered >= grids_of(assignment)
    if not done or who.annotator.stopped_at is not None or _is_out_of_hand(session, assignment):
        return None
    left = _affordable(session, recruitment, settings, assignment)
    if left <= 0:
        return None
    return MoreOut(left=left, cents=settings.extra_cents, currency=recruitment.currency)


def _beyond(assignment: Assignment) -> int:
    """Return the grids done beyond the assignment's own: extra grids, and answers that came
    late."""
    return assignment.n_answered - assignment.target


def _is_out_of_hand(session: Session, assignment: Assignment) -> bool:
    """Return whether the assignment was submitted or returned on the platform without the page
    reporting it. Nothing would pay for later work."""
    query = select(Submission.id).where(
        Submission.assignment_id == assignment.id, Submission.state != "accepted"
    )
    return session.scalar(query.limit(1)) is not None


def _affordable(
    session: Session, recruitment: Recruitment, settings: Paid, assignment: Assignment
) -> int:
    """Return how many more grids one person can do. Nobody is promised more than the spending limit
    can pay."""
    room = ledger.commitments(session, recruitment).left_to_promise_cents
    done = _beyond(assignment)
    most = settings.extra_grids - done
    if room is None:
        return most

    def cost(n: int) -> int:
        return cost_of_bonus(recruitment, n * settings.extra_cents)

    # Late answers are promised together with the next extra grid, so that both are paid.
    promised = cost(assignment.extra)
    return sum(cost(done + more) - promised <= room for more in range(1, most + 1))


def _settings_of(recruitment: Recruitment) -> Paid | None:
    settings = settings_model(recruitment.channel).model_validate(recruitment.settings)
    return settings if isinstance(settings, Paid) else None


def bonus_of(session: Session, who: AnnotatorSession) -> BonusOut | None:
    """Return what extra grids have earned so far, or None for someone who has taken on none."""
    assignment = who.assignment
    if assignment.recruitment_id is None or not assignment.extra:
        return None
    recruitment = session.get_one(Recruitment, assignment.recruitment_id)
    settings = _settings_of(recruitment)
    if settings is None:
        return None
    done = min(max(0, assignment.n_answered - assignment.target), settings.extra_grids)
    return BonusOut(grids=done, cents=done * settings.extra_cents, currency=recruitment.currency)


def take_more(session: Session, who: AnnotatorSession) -> None:
    """Take on one extra grid. Raises Conflict if none is available."""
    if who.assignment.recruitment_id is not None:
        # The recruitment is locked before the assignment, as everywhere, so that two requests at
        # once can't exceed the limit.
        locked(session, Recruitment, who.assignment.recruitment_id)
    session.refresh(who.assignment, with_for_update=True)
    require_held(who.assignment)
    if who.assignment.state == "open" and who.assignment.extra:
        # This was requested twice; the extra grid that was taken on is not done yet.
        return
    if more_of(session, who) is None:
        raise Conflict("There are no more grids for this assignment.", code="no_more")
    who.assignment.extra = _beyond(who.assignment) + 1
    who.assignment.state, who.assignment.completed_at = "open", None
    # The claim of the next grid reads the row again.
    session.flush()


def screen_out_if_failed(session: Session, who: AnnotatorSession) -> None:
    """After practice, mark someone who passed none of it to be sent back, if the recruitment pays
    for that, or their link says where to."""
    assignment, settings = who.assignment, who.settings
    if assignment.recruitment_id is None or practice_number(who) < settings.practice:
        return
    if any(tries and tries[-1] >= settings.practice_pass for tries in who.annotator.practice):
        return
    recruitment = session.get_one(Recruitment, assignment.recruitment_id)
    channel_settings = settings_model(recruitment.channel).model_validate(recruitment.settings)
    is_paid = (
        isinstance(channel_settings, Paid) and channel_settings.failed_practice_cents is not None
    )
    # Without a way back they continue.
    is_sent = isinstance(channel_settings, LinkSettings) and bool(
        return_address(session, recruitment, assignment, "screened_out")
    )
    if is_paid or is_sent:
        assignment.screened_out_at = datetime.now(UTC)


def announce_submission(session: Session, who: AnnotatorSession) -> None:
    """Record that the browser is about to submit the work. Repeating this is harmless."""
    session.refresh(who.assignment, with_for_update=True)
    require_held(who.assignment)
    if not who.assignment.n_answered:
        raise Conflict("You haven't done anything yet that you could submit.", code="nothing_done")
    # An extra grid that was started can be left unfinished.
    is_done = who.assignment.n_answered >= who.assignment.target
    if is_done and not complete_unless_asked(session, who):
        raise NotPrepared("Answer the questions first.")
    who.assignment.handed_in_at = who.assignment.handed_in_at or datetime.now(UTC)


hooks.assignment_completed.answered_by(payables.owe_for)
hooks.assignment_screened_out.answered_by(links.free_place)
hooks.practice_tried.answered_by(screen_out_if_failed)


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
    more = more_of(session, who) if status == "done" else None
    bonus = bonus_of(session, who)
    is_over = status in ("done", "stopped")
    if not is_over or assignment.channel != "link" or assignment.recruitment_id is None:
        return hooks.Offers(more, bonus)
    link = session.get_one(Recruitment, assignment.recruitment_id)
    return hooks.Offers(
        more,
        bonus,
        payables.earned_cents(session, assignment),
        link_entry.may_take_on(session, link, who.annotator),
        parameters.address_at_end(session, link, assignment, status),
        is_known=not link_settings(link.settings).person,
    )
