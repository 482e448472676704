"""Responses of the annotation API, made from what the services return."""

from sqlalchemy.orm import Session

from app.annotation import hooks, leases, questionnaire, sessions
from app.annotation.presenters import for_annotators, leased_images, shown_questions
from app.annotation.schemas import (
    CodeOut,
    DraftOut,
    HandIn,
    HandoutOut,
    LeaseOut,
    PracticeProgress,
    QuestionsOut,
    SessionOut,
    StageOut,
)
from app.annotation.sessions import AnnotatorSession
from app.campaigns.questions import Place
from app.core.security import pseudonym
from app.kinds import kind_of


def session_out(
    session: Session,
    who: AnnotatorSession,
    ways_out: dict[str, HandIn] | None = None,
    language: str = "",
) -> SessionOut:
    """Return an opened session, with the first grid if work can begin. `ways_out` has `hand_in`,
    `declined` and `screened_out` of SessionOut; `language` is the one that the annotator reads."""
    pay = hooks.pay_of(session, who.assignment)
    state = stage_out(session, who)
    ready = state.stage == "work"
    handout = handout_out(session, who, leases.lease_next_grid(session, who)) if ready else None
    answered, target = leases.assignment_progress(who.assignment)
    return SessionOut.model_validate(
        {
            **state.model_dump(),
            "token": sessions.token_of(who),
            "channel": who.assignment.channel,
            **(ways_out or {}),
            "campaign": for_annotators(who.campaign, language, pay),
            "answered": answered,
            "target": target,
            "seconds_spent": sessions.seconds_spent(session, who.assignment),
            "next": handout,
        }
    )


def stage_out(session: Session, who: AnnotatorSession) -> StageOut:
    """Return what the annotator's page shows next."""
    progress = PracticeProgress(
        done=min(sessions.practice_number(who), who.settings.practice), total=who.settings.practice
    )
    stage = sessions.stage(session, who)
    by_answers = stage == "screened_out" and who.annotator.screened_out_at is not None
    return StageOut(stage=stage, practice=progress, screened_out_by_answers=by_answers)


def questions_out(session: Session, who: AnnotatorSession, place: Place) -> QuestionsOut:
    """Return the questions that the annotator is asked."""
    asked = questionnaire.asked_questions(session, who.settings, who.annotator, place)
    return shown_questions(who.settings.questions(place), asked)


def handout_out(session: Session, who: AnnotatorSession, handout: leases.Handout) -> HandoutOut:
    """Return what an annotator who requested a grid gets."""
    answered, target = leases.assignment_progress(who.assignment)
    has_ended = handout.status in ("done", "stopped")
    offers = hooks.Offers()
    if has_ended or who.assignment.extra:
        offers = hooks.offers(session, who, handout.status)
    return HandoutOut(
        status=handout.status,
        answered=answered,
        target=target,
        lease=_lease_out(session, who, handout),
        retry_after_seconds=handout.retry_after_seconds,
        completion_code=who.assignment.completion_code if has_ended and answered else None,
        more=offers.more,
        bonus=offers.bonus,
        earned_cents=offers.earned_cents,
        again=_may_go_on(session, who, handout, offers.may_take_on),
        return_address=offers.return_address,
        codes=_codes(session, who) if has_ended and offers.is_known else [],
    )


def _codes(session: Session, who: AnnotatorSession) -> list[CodeOut]:
    if who.settings.completion != "code":
        return []
    codes = sessions.codes_of(session, who.annotator)
    return [CodeOut(code=code, answered=answered) for code, answered in codes]


def _may_go_on(
    session: Session, who: AnnotatorSession, handout: leases.Handout, may_take_on: bool | None
) -> bool | None:
    """Return whether an annotator who is done could take on another assignment. None if that is
    not offered."""
    if may_take_on is None:
        return None
    is_over = handout.status == "stopped" or who.campaign.state == "finished"
    return may_take_on and not is_over and leases.is_more_to_come(session, who)


def _lease_out(session: Session, who: AnnotatorSession, handout: leases.Handout) -> LeaseOut | None:
    lease, grid = handout.lease, handout.grid
    if lease is None or grid is None:
        return None
    return LeaseOut(
        id=lease.id,
        grid_id=pseudonym("grid", str(grid.id))[:16],
        images=leased_images(session, who.campaign, grid.images),
        expires_at=lease.lease_expires_at,
        first_colour=kind_of(who.campaign).first_colour(lease.id),
        draft=DraftOut.model_validate(lease.draft) if lease.draft else None,
        draft_version=lease.draft_version,
        skips_left=leases.skips_left(session, who.settings, who.assignment),
    )
