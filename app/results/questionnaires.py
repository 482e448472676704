"""Exports of questionnaires: who answered what, and the questions as they were."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.annotation.models import Annotator, Questionnaire, QuestionnaireReply
from app.campaigns.models import Campaign
from app.campaigns.questions import PLACES, SEPARATOR
from app.core.cells import csv_line
from app.core.copying import json_lines
from app.core.spreadsheets import neutral

VERSION_COLUMNS = [f"questionnaire_{place}" for place in PLACES]


@dataclass
class Replies:
    """What one annotator answered: the versions by place, and the last answer to each question.
    `asked`: the questions as they then were, by key."""

    versions: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    answers: dict[str, Any] = field(default_factory=dict)
    asked: dict[str, dict[str, Any]] = field(default_factory=dict)
    screened_out_by: list[str] = field(default_factory=list)


class QuestionnaireColumns:
    """The columns that questionnaires add to a table of annotators: none if nobody answered any."""

    def __init__(self, session: Session, campaign: Campaign) -> None:
        self.keys = _keys(session, campaign)
        self.replies = read_replies(session, campaign)

    @property
    def names(self) -> list[str]:
        if not self.replies:
            return []
        return [*VERSION_COLUMNS, *(f"q_{key}" for key in self.keys)]

    def of(self, annotator: int) -> list[str]:
        """Return the cells of one annotator."""
        if not self.replies:
            return []
        replies = self.replies.get(annotator, Replies())
        versions = [SEPARATOR.join(map(str, replies.versions.get(place, []))) for place in PLACES]
        return [*versions, *(_cell(replies.answers.get(key)) for key in self.keys)]


def _cell(answer: Any) -> str:
    if answer is None:
        return ""
    if isinstance(answer, list):
        return neutral(SEPARATOR.join(map(str, answer)))
    return neutral(answer) if isinstance(answer, str) else str(answer)


def _keys(session: Session, campaign: Campaign) -> list[str]:
    """Return the keys of all questions that were ever answered, in the order of pages and
    versions."""
    query = select(Questionnaire.place, Questionnaire.version, Questionnaire.questions)
    rows = session.execute(query.where(Questionnaire.campaign_id == campaign.id)).all()
    ordered = sorted(rows, key=lambda row: (row[0] != "before", row[1]))
    keys = [str(question.get("key")) for *_, questions in ordered for question in questions]
    return list(dict.fromkeys(keys))


def read_replies(session: Session, campaign: Campaign) -> dict[int, Replies]:
    """Return everyone's replies by the annotators' positions."""
    query = (
        select(
            Annotator.position,
            Questionnaire.place,
            Questionnaire.version,
            Questionnaire.questions,
            QuestionnaireReply.answers,
            QuestionnaireReply.screened_out_by,
        )
        .join(QuestionnaireReply, QuestionnaireReply.annotator_id == Annotator.id)
        .join(Questionnaire, QuestionnaireReply.questionnaire_id == Questionnaire.id)
        .where(Annotator.campaign_id == campaign.id)
        .order_by(Annotator.position, QuestionnaireReply.answered_at)
    )
    replies: dict[int, Replies] = defaultdict(Replies)
    for position, place, version, questions, answers, screened_out_by in session.execute(query):
        known = replies[position]
        known.versions[place].append(version)
        known.answers.update(answers)
        known.asked.update({each["key"]: each for each in questions if each["key"] in answers})
        known.screened_out_by.extend(screened_out_by)
    return dict(replies)


def questionnaire_csv(session: Session, campaign: Campaign) -> Iterator[bytes]:
    """Yield one line per annotator who answered a questionnaire."""
    columns = QuestionnaireColumns(session, campaign)
    versions, questions = len(VERSION_COLUMNS), [f"q_{key}" for key in columns.keys]
    yield csv_line(["annotator", *VERSION_COLUMNS, "screened_out", *questions]).encode()
    for annotator, replies in columns.replies.items():
        cells = columns.of(annotator)
        is_out = bool(replies.screened_out_by)
        yield csv_line([annotator, *cells[:versions], is_out, *cells[versions:]]).encode()


def questionnaires_jsonl(session: Session, campaign: Campaign) -> Iterator[bytes]:
    """Yield one JSON object per version of the questions that somebody answered."""
    of_version = QuestionnaireReply.questionnaire_id == Questionnaire.id
    n_out = func.cardinality(QuestionnaireReply.screened_out_by) > 0
    first = select(func.min(QuestionnaireReply.answered_at)).where(of_version)
    query = (
        select(
            Questionnaire.place,
            Questionnaire.version,
            Questionnaire.sha256,
            Questionnaire.questions,
            select(func.count()).where(of_version).scalar_subquery().label("n_answered"),
            select(func.count()).where(of_version, n_out).scalar_subquery().label("n_screened_out"),
            first.scalar_subquery().label("first_answered_at"),
        )
        .where(Questionnaire.campaign_id == campaign.id)
        .order_by(Questionnaire.place.desc(), Questionnaire.version)
    )
    yield from json_lines(session, query)
