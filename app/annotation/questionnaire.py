"""Questionnaires: every reply is to one version, which is kept as it was.

The versions before and after the grids are numbered in the order in which somebody first answered
them. People who have answered are asked again only if a required question has no answer of theirs
that fits, and then only the questions without one.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.annotation.models import Annotator, Questionnaire, QuestionnaireReply
from app.campaigns.annotation_settings import AnnotationSettings
from app.campaigns.questions import Place, Question, fits, is_empty, key_of
from app.core.database import advisory_lock
from app.core.errors import Conflict, InvalidInput

# The queue of a campaign in which first replies wait (app.core.database.advisory_lock).
FIRST_REPLIES = 4


class QuestionsChanged(Conflict):
    """The annotator answered questions that are no longer the campaign's."""

    code = "questions_changed"


class BadAnswers(InvalidInput):
    """A required answer is missing, or one does not fit its question."""

    code = "bad_answers"


def asked_questions(
    session: Session, settings: AnnotationSettings, annotator: Annotator, place: Place
) -> list[Question]:
    """Return the questions that the annotator is asked here, or none if they have answered."""
    questions = settings.questions(place)
    known = annotator.answered_before if place == "before" else annotator.answered_after
    # Before every grid this is asked, so people who have answered cost no statement.
    if not questions or known == key_of(questions):
        return []
    replies = session.execute(
        select(QuestionnaireReply.answers, Questionnaire.questions)
        .join(Questionnaire, QuestionnaireReply.questionnaire_id == Questionnaire.id)
        .where(QuestionnaireReply.annotator_id == annotator.id)
    ).all()
    asked = [
        question
        for question in questions
        if not any(fits(question, reply.get(question.key), then) for reply, then in replies)
    ]
    is_needed = known is None or any(question.required for question in asked)
    return asked if is_needed else []


def is_asked(
    session: Session, settings: AnnotationSettings, annotator: Annotator, place: Place
) -> bool:
    """Return whether the annotator has yet to answer the questions here."""
    return bool(asked_questions(session, settings, annotator, place))


def checked_answers(questions: Sequence[Question], answers: dict[str, Any]) -> dict[str, Any]:
    """Return the answers to these questions in their stored form, without empty ones. Raises
    BadAnswers."""
    unknown = sorted(set(answers) - {question.key for question in questions})
    if unknown:
        raise BadAnswers(f"There is no question with the key {unknown[0][:40]!r} here.")
    kept = {}
    for question in questions:
        answer = answers.get(question.key)
        if is_empty(answer):
            if question.required:
                raise BadAnswers(f"“{question.title}” needs an answer.")
            continue
        try:
            kept[question.key] = question.checked(answer)
        except ValueError as error:
            raise BadAnswers(f"“{question.title}”: {error}.") from error
    return kept


def store_reply(
    session: Session,
    settings: AnnotationSettings,
    annotator: Annotator,
    place: Place,
    answers: dict[str, Any],
    screened_out_by: list[str],
) -> None:
    """Record a reply to the campaign's questions. The caller must hold the annotator's row lock.

    Of people who are screened out, only the questions that did it are kept.
    """
    questions = settings.questions(place)
    key = key_of(questions)
    row = {
        "annotator_id": annotator.id,
        "questionnaire_id": _version(session, annotator.campaign_id, place, key, questions),
        "answers": {} if screened_out_by else answers,
        "screened_out_by": screened_out_by,
        "answered_at": datetime.now(UTC),
    }
    session.execute(insert(QuestionnaireReply).values(row).on_conflict_do_nothing())
    if place == "before":
        annotator.answered_before = key
    else:
        annotator.answered_after = key


def _version(
    session: Session, campaign_id: UUID, place: Place, key: str, questions: Sequence[Question]
) -> UUID:
    """Return the row of a version, and create it for the first who answers it."""
    here = Questionnaire.campaign_id == campaign_id, Questionnaire.place == place
    query = select(Questionnaire.id).where(*here, Questionnaire.sha256 == key)
    known = session.scalar(query)
    if known is not None:
        return known
    session.execute(select(advisory_lock(campaign_id, FIRST_REPLIES)))
    known = session.scalar(query)
    if known is not None:
        return known
    last = session.scalar(select(func.max(Questionnaire.version)).where(*here)) or 0
    row = Questionnaire(
        campaign_id=campaign_id,
        place=place,
        version=last + 1,
        sha256=key,
        questions=[question.model_dump() for question in questions],
    )
    session.add(row)
    session.flush()
    return row.id
