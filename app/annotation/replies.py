"""Taking an annotator's reply to the questions before or after the grids."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.annotation import hooks, questionnaire
from app.annotation.models import Answer, Assignment
from app.annotation.sessions import (
    AnnotatorSession,
    NotPrepared,
    complete_assignment,
    complete_unless_asked,
    grids_of,
    require_held,
    stage,
)
from app.campaigns.questions import Place, Question, key_of
from app.core.events import campaign_changed

REASON = "Answers before the grids screened this person out."


def take_reply(
    session: Session, who: AnnotatorSession, place: Place, shown: str, answers: dict[str, Any]
) -> None:
    """Record a reply once. `shown` is the key of the questions on the annotator's page. A reply
    that is sent again, or from a second tab, changes nothing.

    Raises QuestionsChanged, BadAnswers, NotPrepared.
    """
    # The order of locks is that of submitted answers: the assignment, then the annotator.
    session.refresh(who.assignment, with_for_update=True)
    session.refresh(who.annotator, with_for_update={"key_share": True})
    require_held(who.assignment)
    now = stage(session, who)
    asked = questionnaire.asked_questions(session, who.settings, who.annotator, place)
    if now == "screened_out" or not asked:
        return
    if now == "consent":
        raise NotPrepared("Agree to the consent text first.")
    if place == "after" and not _is_at_the_end(who.assignment):
        raise NotPrepared("These questions come after the grids.")
    if shown != key_of(who.settings.questions(place)):
        raise questionnaire.QuestionsChanged(
            "The questions have changed. Please look at them again."
        )
    kept = questionnaire.checked_answers(asked, answers)
    reasons = _screening(asked, kept) if place == "before" else []
    questionnaire.store_reply(session, who.settings, who.annotator, place, kept, reasons)
    campaign_changed(session, who.campaign.id)
    if reasons:
        _screen_out(session, who)
    elif place == "after":
        complete_unless_asked(session, who)


def _is_at_the_end(assignment: Assignment) -> bool:
    is_over = assignment.grids_over_at is not None or assignment.state == "completed"
    return is_over or assignment.n_answered >= grids_of(assignment)


def _screening(asked: list[Question], answers: dict[str, Any]) -> list[str]:
    return [
        question.key
        for question in asked
        if question.key in answers and question.screens_out(answers[question.key])
    ]


def _screen_out(session: Session, who: AnnotatorSession) -> None:
    """End the assignment of someone who cannot take part.

    Someone who has answered grids, because the question is new, has earned their pay: they are
    stopped as after a measure, and get their code.
    """
    assignment, now = who.assignment, datetime.now(UTC)
    _free_grids(session, who)
    if assignment.n_answered:
        who.annotator.stopped_at, who.annotator.decision_reason = now, REASON
        complete_assignment(session, assignment)
        return
    who.annotator.screened_out_at = now
    assignment.state, assignment.screened_out_at = "screened_out", now
    hooks.assignment_screened_out(session, assignment)
    _end_others(session, who)


def _end_others(session: Session, who: AnnotatorSession) -> None:
    """End what the person has begun elsewhere. Where another tab has the lock, they are refused the
    next grid (`stage`), or go on with grids that they began."""
    others = (
        select(Assignment)
        .where(
            Assignment.annotator_id == who.annotator_id,
            Assignment.id != who.assignment.id,
            Assignment.state == "open",
            Assignment.n_answered > 0,
        )
        .with_for_update(skip_locked=True, key_share=True)
    )
    for assignment in session.scalars(others):
        complete_assignment(session, assignment)


def _free_grids(session: Session, who: AnnotatorSession) -> None:
    """Return the grids that are leased to the annotator. One that another tab is about to submit is
    left to it: that tab waits for the assignment's lock."""
    leased = select(Answer).where(
        Answer.assignment_id == who.assignment.id, Answer.state == "leased"
    )
    for lease in session.scalars(leased.with_for_update(skip_locked=True, key_share=True)):
        lease.state = "returned"
