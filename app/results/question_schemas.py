"""Bodies of the API of answered questions, and of results split by an answer."""

from collections.abc import Mapping
from statistics import fmean
from typing import Literal

from pydantic import BaseModel, Field

from app.annotation.quality import Score
from app.campaigns.questions import Place
from app.collections.models import Image
from app.results.answer_groups import AnsweredQuestion, AnswerGroup, Difference, Differences
from app.results.explore_schemas import ShownImage


class AnswerGroupOut(BaseModel):
    """People who answered a question in the same way, with their grids, their mean agreement with
    others, their mean agreement with known answers, and how many of them answer as if by chance."""

    name: str
    people: int
    n_answers: int
    consensus: float | None
    gold: float | None
    at_chance: int

    @classmethod
    def of(cls, group: AnswerGroup, scores: Mapping[int, Score]) -> "AnswerGroupOut":
        known = [scores[who] for who in sorted(group.people) if who in scores]
        consensus = [score.consensus.mean for score in known if score.consensus is not None]
        gold = [score.gold.mean for score in known if score.gold is not None]
        return cls(
            name=group.name,
            people=len(group.people),
            n_answers=sum(score.n_answers for score in known),
            consensus=fmean(consensus) if consensus else None,
            gold=fmean(gold) if gold else None,
            at_chance=sum(score.verdict in ("chance", "one_group") for score in known),
        )


class AnsweredQuestionOut(BaseModel):
    """A question and how people answered it. Texts have no groups."""

    key: str
    place: Place
    type: Literal["choice", "number", "text", "likert"]
    title: str
    n_answered: int
    n_screened_out: int
    groups: list[AnswerGroupOut]

    @classmethod
    def of(cls, asked: AnsweredQuestion, scores: Mapping[int, Score]) -> "AnsweredQuestionOut":
        return cls(
            key=asked.question.key,
            place=asked.place,
            type=asked.question.type,
            title=asked.question.title,
            n_answered=len(asked.people),
            n_screened_out=asked.n_screened_out,
            groups=[AnswerGroupOut.of(group, scores) for group in asked.groups],
        )


class AnswerDifferenceOut(BaseModel):
    """Two images and how many people of each group put them together or, if answers are votes, an
    image and how many voted for `choice`."""

    images: list[ShownImage]
    choice: str | None
    yes: int
    n: int
    other_yes: int
    other_n: int
    difference: float = Field(description="Share of the first group minus that of the second.")
    p: float = Field(description="Two-sided p-value of Fisher's exact test.")
    q: float = Field(description="p, corrected by Benjamini and Hochberg for all comparisons.")

    @classmethod
    def of(cls, item: Difference, images: Mapping[int, Image]) -> "AnswerDifferenceOut":
        return cls(
            images=[ShownImage.of(images[image]) for image in item.images if image in images],
            choice=item.choice,
            yes=item.yes,
            n=item.n,
            other_yes=item.other_yes,
            other_n=item.other_n,
            difference=item.difference,
            p=item.p,
            q=item.q,
        )


class AnswerDifferencesOut(BaseModel):
    """How two groups of people differ: the strongest differences first, and how many of all that
    was compared have a q below 0.05. At least two people of each group must have seen both images.
    `is_complete` is false if there are too many answers, so that only the oldest were compared."""

    n_compared: int
    n_different: int
    items: list[AnswerDifferenceOut]
    is_complete: bool

    @classmethod
    def of(cls, differences: Differences, images: Mapping[int, Image]) -> "AnswerDifferencesOut":
        return cls(
            n_compared=differences.n_compared,
            n_different=differences.n_different,
            items=[AnswerDifferenceOut.of(item, images) for item in differences.items],
            is_complete=differences.is_complete,
        )
