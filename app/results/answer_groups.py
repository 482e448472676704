"""Results split by what people answered: groups of annotators, and where they see images
differently.

What one person thinks of a pair counts once, however often they saw it: together if the pair was in
one group in most of their answers. If answers are votes, the same holds of a vote on an image.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.annotation.models import Questionnaire
from app.campaigns.annotation_settings import annotation_of
from app.campaigns.models import Campaign
from app.campaigns.questions import (
    PLACES,
    ChoiceQuestion,
    LikertQuestion,
    NumberQuestion,
    Place,
    Question,
    is_same_scale,
)
from app.core.errors import InvalidInput, NotFound
from app.kinds import Kind, kind_of
from app.results.comparisons import answers_by_size, arrays_of, compared_places
from app.results.questionnaires import Replies, read_replies
from learning.proportions import corrected, fisher_p_values

# Fewer people than this in a group say nothing about a pair.
FEWEST_PEOPLE = 2
DIFFERENT = 0.05
# Opinions that are held in memory for one table: those of the first answers.
MOST_OPINIONS = 5_000_000
_QUESTION: TypeAdapter[Question] = TypeAdapter(Question)


@dataclass(frozen=True)
class AnswerGroup:
    """Annotators, by number, who answered a question in the same way."""

    name: str
    people: frozenset[int]


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question with everyone who answered it. `groups` is empty for texts; `n_screened_out`
    counts the people whom it screened out."""

    question: Question
    place: Place
    people: frozenset[int]
    groups: list[AnswerGroup]
    n_screened_out: int


@dataclass(frozen=True)
class Difference:
    """A pair of images, or an image and a choice, about which two groups differ.

    yes, n: how many of the first group's people put the images together, or chose it. p is of
    Fisher's exact test, q the same corrected for all that was compared.
    """

    images: tuple[int, ...]
    choice: str | None
    yes: int
    n: int
    other_yes: int
    other_n: int
    p: float
    q: float

    @property
    def difference(self) -> float:
        return self.yes / self.n - self.other_yes / self.other_n


@dataclass(frozen=True)
class Differences:
    """The strongest differences first; how many units were compared, and how many of them differ
    with q below DIFFERENT. `is_complete`: all answers were read."""

    n_compared: int
    n_different: int
    items: list[Difference]
    is_complete: bool


def read_questions(session: Session, campaign: Campaign) -> list[AnsweredQuestion]:
    """Return all questions that are asked or were answered, in the order of the pages."""
    replies = read_replies(session, campaign)
    return [
        AnsweredQuestion(
            question=question,
            place=place,
            people=frozenset(
                who for who, reply in replies.items() if question.key in reply.answers
            ),
            groups=groups_of(question, replies),
            n_screened_out=sum(question.key in reply.screened_out_by for reply in replies.values()),
        )
        for place, question in _questions(session, campaign)
    ]


def _questions(session: Session, campaign: Campaign) -> list[tuple[Place, Question]]:
    """Return the campaign's questions, and those of earlier versions that it has no more."""
    settings = annotation_of(campaign.annotation)
    known: dict[str, tuple[Place, Question]] = {
        question.key: (place, question)
        for place in PLACES
        for question in settings.questions(place)
    }
    query = select(Questionnaire.place, Questionnaire.questions)
    query = query.where(Questionnaire.campaign_id == campaign.id)
    for place, questions in session.execute(query.order_by(Questionnaire.version.desc())):
        for stored in questions:
            question = _read(stored)
            if question is not None:
                known.setdefault(question.key, (place, question))
    return sorted(known.values(), key=lambda row: PLACES.index(row[0]))


def _read(stored: dict[str, Any]) -> Question | None:
    """Return a stored question, or None if an archive brought something else."""
    try:
        return _QUESTION.validate_python(stored)
    except ValidationError:
        return None


def groups_of(question: Question, replies: dict[int, Replies]) -> list[AnswerGroup]:
    """Return the groups into which a question divides people: by choice, by the lower and the upper
    points of a scale, or by numbers up to the median and above it."""
    answers = {
        who: reply.answers[question.key]
        for who, reply in replies.items()
        if question.key in reply.answers
        and is_same_scale(question, [reply.asked.get(question.key, {})])
    }
    if isinstance(question, ChoiceQuestion):
        given = {who: a if isinstance(a, list) else [a] for who, a in answers.items()}
        # Earlier versions may have had other choices.
        names = dict.fromkeys([*question.choices, *(str(c) for a in given.values() for c in a)])
        return [
            AnswerGroup(name, frozenset(who for who, chosen in given.items() if name in chosen))
            for name in names
        ]
    numbers = {
        who: answer
        for who, answer in answers.items()
        if isinstance(answer, int | float) and not isinstance(answer, bool)
    }
    if not numbers or not isinstance(question, LikertQuestion | NumberQuestion):
        return []
    return _halves(question, numbers)


def _halves(
    question: LikertQuestion | NumberQuestion, numbers: dict[int, float]
) -> list[AnswerGroup]:
    if isinstance(question, LikertQuestion):
        middle = (question.points + 1) / 2
        names = _parts_of_scale(question.points)
        sides = {who: (n > middle) - (n < middle) for who, n in numbers.items()}
    else:
        middle = median(numbers.values())
        # Often many people give the largest number.
        is_top = middle == max(numbers.values())
        names = ("below {}", "{} or more") if is_top else ("up to {}", "above {}")
        names = tuple(name.format(f"{middle:.15g}") for name in names)
        sides = {
            who: 1 if n > middle or (is_top and n == middle) else -1 for who, n in numbers.items()
        }
    places = (-1, 0, 1) if len(names) == 3 else (-1, 1)
    return [
        AnswerGroup(name, frozenset(who for who, side in sides.items() if side == place))
        for name, place in zip(names, places, strict=True)
    ]


def _parts_of_scale(points: int) -> tuple[str, ...]:
    """Return names of the points below, at and above the middle, which only odd scales have."""
    half = points // 2
    low, high = f"1 to {half}", f"{points - half + 1} to {points}"
    if half == 1:
        low, high = "1", str(points)
    return (low, str(half + 1), high) if points % 2 else (low, high)


@dataclass(frozen=True, eq=False)
class Opinions:
    """Opinions of people, one row per person and unit: annotator, unit (P,) int64, yes (P,) bool.

    A unit is i * width + j: of images i and j or, if there are `choices`, of image i and choice j.
    `is_complete`: no answer was left out because there are too many.
    """

    annotator: NDArray[np.int64]
    unit: NDArray[np.int64]
    yes: NDArray[np.bool_]
    width: int
    choices: tuple[str, ...]
    is_complete: bool

    def compare(self, first: frozenset[int], second: frozenset[int], most: int) -> Differences:
        """Return the units about which two groups of people differ most. People who are in both
        count in neither."""
        units, which = np.unique(self.unit, return_inverse=True)
        counts = []
        for people in (first - second, second - first):
            mine = np.isin(self.annotator, sorted(people))
            counts.append(np.bincount(which[mine & self.yes], minlength=len(units)))
            counts.append(np.bincount(which[mine], minlength=len(units)))
        kept = np.minimum(counts[1], counts[3]) >= FEWEST_PEOPLE
        yes, n, other_yes, other_n = (column[kept] for column in counts)
        p = fisher_p_values(yes, n, other_yes, other_n)
        q = corrected(p)
        gap = np.abs(yes / np.maximum(n, 1) - other_yes / np.maximum(other_n, 1))
        order = np.lexsort((units[kept], -gap, p))[:most]
        columns = (units[kept], yes, n, other_yes, other_n, p, q)
        items = [self._item(*(column[at].item() for column in columns)) for at in order]
        n_different = int((q < DIFFERENT).sum())
        return Differences(int(kept.sum()), n_different, items, self.is_complete)

    def _item(self, unit: int, *numbers: Any) -> Difference:
        image, other = divmod(unit, self.width)
        if self.choices:
            return Difference((image,), self.choices[other], *numbers)
        return Difference((image, other), None, *numbers)


def read_opinions(session: Session, campaign: Campaign, people: frozenset[int]) -> Opinions:
    """Return what these people think, from the answers that models learn from, the oldest first, up
    to MOST_OPINIONS."""
    kind = kind_of(campaign)
    choices = tuple(kind.choices) if kind.form == "votes" else ()
    width = max(campaign.n_images, len(choices), 1)
    keys, opinions, n_read = [np.empty(0, np.int64)], [np.empty(0, np.bool_)], 0
    wanted = np.array(sorted(people), np.int64)
    is_complete = True
    for rows in answers_by_size(session, campaign):
        mine = [row for row in rows if row.annotator in people]
        is_complete = n_read <= MOST_OPINIONS or not mine
        if not is_complete:
            break
        if mine:
            images, groups = arrays_of(mine)
            units = _votes(images, groups, kind) if choices else _pairs(images, groups, kind)
            answer, image, other, yes = units
            who = np.searchsorted(wanted, [row.annotator for row in mine])
            keys.append((who[answer] * width + image) * width + other)
            opinions.append(yes)
            n_read += len(yes)
    person, unit, yes = _decided(np.concatenate(keys), np.concatenate(opinions), width)
    return Opinions(wanted[person], unit, yes, width, choices, is_complete)


Units = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]


def _pairs(images: NDArray[np.int64], groups: NDArray[np.int64], kind: Kind) -> Units:
    """Return the answer, the smaller and the larger image of each informative pair, and whether
    they were together."""
    first, second = compared_places(images.shape[1], kind)
    known = (groups[:, first] >= 0) | (groups[:, second] >= 0)
    known &= (images[:, first] >= 0) & (images[:, second] >= 0)
    answer = np.nonzero(known)[0]
    left, right = images[:, first][known], images[:, second][known]
    same = (groups[:, first] == groups[:, second])[known]
    return answer, np.minimum(left, right), np.maximum(left, right), same


def _votes(images: NDArray[np.int64], groups: NDArray[np.int64], kind: Kind) -> Units:
    """Return the answer, the image, a choice, and whether it was chosen, for each vote and
    choice."""
    answer, place = np.nonzero((images >= 0) & (groups >= 0))
    chosen = kind.chosen(groups[answer, place])
    n_choices = chosen.shape[1]
    choice = np.tile(np.arange(n_choices), len(answer))
    repeated = np.repeat(images[answer, place], n_choices)
    return np.repeat(answer, n_choices), repeated, choice, chosen.ravel()


def _decided(
    keys: NDArray[np.int64], opinions: NDArray[np.bool_], width: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return person, unit and opinion. Who says both equally often has none."""
    distinct, which = np.unique(keys, return_inverse=True)
    n, yes = np.bincount(which), np.bincount(which, opinions)
    decided = 2 * yes != n
    person, unit = np.divmod(distinct[decided], width * width)
    return person, unit, (2 * yes > n)[decided]


def compare_groups(
    session: Session, campaign: Campaign, key: str, name: str, against: str | None, most: int
) -> Differences:
    """Compare people who answered a question in one way with those who answered in another, or with
    all others who answered. Raises NotFound or InvalidInput."""
    asked = next((q for q in read_questions(session, campaign) if q.question.key == key), None)
    if asked is None:
        raise NotFound(f"There is no question with the key {key[:40]!r}.")
    groups = {group.name: group.people for group in asked.groups}
    unknown = next((n for n in (name, against) if n is not None and n not in groups), None)
    if unknown is not None:
        names = ", ".join(groups) or "none"
        raise InvalidInput(
            f"Nobody answered {unknown[:200]!r}. The answers are: {names}.", code="unknown_answer"
        )
    first = groups[name]
    second = asked.people - first if against is None else groups[against]
    return read_opinions(session, campaign, first | second).compare(first, second, most)


def all_differences(
    session: Session, campaign: Campaign, most: int
) -> Iterator[tuple[AnsweredQuestion, AnswerGroup, Difference]]:
    """Yield the strongest differences between each group and all others who answered."""
    questions = read_questions(session, campaign)
    people = frozenset(who for asked in questions for who in asked.people)
    if not people:
        return
    opinions = read_opinions(session, campaign, people)
    for asked in questions:
        for group in asked.groups:
            compared = opinions.compare(group.people, asked.people - group.people, most)
            for item in compared.items:
                yield asked, group, item
