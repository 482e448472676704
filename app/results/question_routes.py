"""API of answered questions, and of results split by an answer."""

from typing import Annotated
from uuid import UUID

from fastapi import Query

from app.accounts.api import api_router
from app.accounts.routes import SignedIn
from app.annotation.bundles import images_at
from app.annotation.quality import read_scores
from app.campaigns.service import get_campaign
from app.core.heavy import heavy
from app.core.paging import Page
from app.core.web import DatabaseSession
from app.results import answer_groups
from app.results.question_schemas import AnswerDifferencesOut, AnsweredQuestionOut

api = api_router("/campaigns/{campaign_id}/questions", "results")
Answer = Annotated[str, Query(max_length=200)]


@api.get("")
@heavy
def read_questions(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn
) -> Page[AnsweredQuestionOut]:
    """List the questions before and after the grids, with how people answered them and how the
    people of each answer work."""
    campaign = get_campaign(session, account, campaign_id)
    questions = answer_groups.read_questions(session, campaign)
    scores = read_scores(session, campaign) if questions else []
    by_number = {score.annotator.position: score for score in scores}
    items = [AnsweredQuestionOut.of(asked, by_number) for asked in questions]
    return Page(items=items, next=None)


@api.get("/{key}/differences")
@heavy
def compare_answers(
    campaign_id: UUID,
    key: str,
    answer: Answer,
    session: DatabaseSession,
    account: SignedIn,
    against: Annotated[
        str | None, Query(max_length=200, description="Default: all other answers.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
) -> AnswerDifferencesOut:
    """List the pairs of images that people with one answer put together more or less often than
    people with another answer. If answers are votes: the images on which they vote differently."""
    campaign = get_campaign(session, account, campaign_id)
    compared = answer_groups.compare_groups(session, campaign, key, answer, against, limit)
    positions = sorted({image for item in compared.items for image in item.images})
    images = dict(zip(positions, images_at(session, campaign, positions), strict=True))
    return AnswerDifferencesOut.of(compared, images)
