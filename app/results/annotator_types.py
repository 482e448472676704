"""Through whose eyes: types of annotators, and the images as a group of annotators sees them.

A group are the people of one type, of one link, or with one answer to a question.
"""

import logging
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.annotation.exclusion import is_learned_from
from app.annotation.models import Annotator, Answer, Assignment
from app.campaigns.models import Campaign, Grid
from app.collections.models import Image
from app.core.errors import InvalidInput, NotFound
from app.core.storage import get_object, has_object
from app.kinds import kind_of
from app.recruitment.models import Recruitment
from app.results.answer_groups import AnswerGroup, Differences, read_opinions, read_questions
from app.results.comparing import LEAST_IMAGES, ComparedImage, ComparedModels, placed_images
from app.results.dataset import load_learning_data
from app.results.images import all_images
from app.results.models import Model
from app.results.vectors import one_at_a_time
from app.strategies.annotator_types import FILE, StoredTypes
from learning.annotator_groups import group_difference_p
from learning.annotator_scores import learned_positions, sample_answers
from learning.comparison import Alignment, compare
from learning.groupings import Groupings

logger = logging.getLogger(__name__)
By = Literal["type", "link", "question"]
FEWEST_ANSWERS = 10


@dataclass(frozen=True)
class Division:
    """A way to divide annotators into groups; key: of the question, otherwise empty."""

    by: By
    key: str
    title: str
    people: frozenset[int]
    groups: list[AnswerGroup]


@dataclass(frozen=True)
class ComparedGroups:
    """Two groups of people. p: of the permutation test, None for types (which were derived from the
    same answers), and if there are too few people; compared: their maps; differences: by pairs."""

    people: int
    other_people: int
    p: float | None
    compared: ComparedModels
    differences: Differences


def read_types(model: Model) -> StoredTypes | None:
    """Return the types, or None if the model has none: too few people, votes, a model of an earlier
    version, or a damaged file, which is logged."""
    try:
        return stored_types(model)
    except (FileNotFoundError, ValueError) as error:
        logger.warning("model %s: types of annotators cannot be read: %s", model.id, error)
        return None


def stored_types(model: Model) -> StoredTypes | None:
    """Return the types, or None if the model has none. Raises ValueError if they are damaged."""
    address = f"{model.artifact_key}/{FILE}"
    return StoredTypes.from_bytes(get_object(address)) if has_object(address) else None


def type_name(number: int) -> str:
    return f"Type {number + 1}"


def read_divisions(session: Session, campaign: Campaign, model: Model) -> list[Division]:
    """Return all ways to divide the campaign's annotators that give at least two groups.

    Groups are the people with answers that models learn from now.
    """
    divisions = [_by_type(read_types(model)), _by_link(session, campaign)]
    for asked in read_questions(session, campaign):
        question = asked.question
        divisions.append(
            Division("question", question.key, question.title, asked.people, asked.groups)
        )
    learned = _learned_people(session, campaign)
    limited = [_limited(division, learned) for division in divisions]
    return [
        division for division in limited if sum(bool(group.people) for group in division.groups) > 1
    ]


def _learned_people(session: Session, campaign: Campaign) -> frozenset[int]:
    """Return the annotators with answers that models learn from; see `load_learning_data`."""
    query = (
        select(Annotator.position)
        .join(Answer, Answer.annotator_id == Annotator.id)
        .join(Grid, Answer.grid_id == Grid.id)
        .where(
            Answer.campaign_id == campaign.id,
            Answer.state.in_(("submitted", "surplus")),
            Grid.round_id.is_not(None),
            is_learned_from(),
        )
        .distinct()
    )
    return frozenset(session.scalars(query))


def _limited(division: Division, people: frozenset[int]) -> Division:
    groups = [AnswerGroup(group.name, group.people & people) for group in division.groups]
    return replace(division, people=division.people & people, groups=groups)


def _by_type(types: StoredTypes | None) -> Division:
    groups = []
    if types is not None and types.n_types > 1:
        for number in range(types.n_types):
            members = np.flatnonzero(types.type == number).tolist()
            groups.append(AnswerGroup(type_name(number), frozenset(members)))
    people = frozenset(who for group in groups for who in group.people)
    return Division("type", "", "Type", people, groups)


def _by_link(session: Session, campaign: Campaign) -> Division:
    query = (
        select(Annotator.position, Assignment.channel, Recruitment.settings)
        .join(Assignment, Assignment.annotator_id == Annotator.id)
        .outerjoin(Recruitment, Assignment.recruitment_id == Recruitment.id)
        .where(Annotator.campaign_id == campaign.id)
    )
    groups: dict[str, set[int]] = {}
    for who, channel, settings in session.execute(query):
        groups.setdefault((settings or {}).get("name") or channel, set()).add(who)
    named = [AnswerGroup(name, frozenset(people)) for name, people in sorted(groups.items())]
    people = frozenset(who for group in named for who in group.people)
    return Division("link", "", "Link", people, named)


def compare_groups(
    session: Session,
    campaign: Campaign,
    model: Model,
    by: By,
    key: str,
    name: str,
    against: str | None,
    most: int,
) -> ComparedGroups:
    """Compare a group with another, or with all others of the division: their maps, neighbours and
    distances, and the pairs about which they differ. Raises NotFound, InvalidInput, Busy."""
    if kind_of(campaign).form != "groupings":
        raise InvalidInput("People who vote have no maps of their own.", code="no_maps")
    first, second = _two_groups(session, campaign, model, by, key, name, against)
    answers = learned_answers(session, campaign)
    with one_at_a_time():
        mine, theirs = (_positions(answers, people, campaign.seed) for people in (first, second))
        compared = _compared(session, campaign, mine, theirs)
    types = read_types(model)
    p = None if types is None or by == "type" else _p_value(types, first, second)
    differences = read_opinions(session, campaign, first | second).compare(first, second, most)
    return ComparedGroups(len(first), len(second), p, compared, differences)


def learned_answers(session: Session, campaign: Campaign) -> Groupings:
    """Return the answers that a model would be learned from now. Raises InvalidInput without
    any."""
    try:
        return load_learning_data(session, campaign).all_answers
    except ValueError:
        raise InvalidInput(
            "This campaign has no answers to learn from, or all its annotators are left out.",
            code="too_few_answers",
        ) from None


def _two_groups(
    session: Session,
    campaign: Campaign,
    model: Model,
    by: By,
    key: str,
    name: str,
    against: str | None,
) -> tuple[frozenset[int], frozenset[int]]:
    """Return the people of both groups, without those who are in both."""
    division = next(
        (
            each
            for each in read_divisions(session, campaign, model)
            if each.by == by and each.key == key
        ),
        None,
    )
    if division is None:
        raise NotFound("The annotators are not divided in this way.")
    groups = {group.name: group.people for group in division.groups}
    unknown = next((n for n in (name, against) if n is not None and n not in groups), None)
    if unknown is not None:
        names = ", ".join(groups)
        raise InvalidInput(
            f"There is no group {unknown[:200]!r}. The groups are: {names}.", code="unknown_group"
        )
    first = groups[name]
    second = division.people - first if against is None else groups[against]
    return first - second, second - first


def _p_value(types: StoredTypes, first: frozenset[int], second: frozenset[int]) -> float | None:
    rows = np.arange(len(types))
    return group_difference_p(
        types.scores,
        types.n_answers,
        np.isin(rows, sorted(first)),
        np.isin(rows, sorted(second)),
    )


def _positions(answers: Groupings, people: frozenset[int], seed: int) -> NDArray[np.float64]:
    """Return (N, d) the images as these people see them; 0 for images that they have not seen."""
    own = sample_answers(answers.subset(np.isin(answers.annotators, sorted(people))), seed)
    if len(own) < FEWEST_ANSWERS:
        raise InvalidInput(
            f"A group has {len(own)} answers, but a map needs at least {FEWEST_ANSWERS}.",
            code="too_few_answers",
        )
    return learned_positions(own, seed)[0]


def _compared(
    session: Session,
    campaign: Campaign,
    mine: NDArray[np.float64],
    theirs: NDArray[np.float64],
) -> ComparedModels:
    """Return the comparison of images (N, d) as both groups see them, of those that both saw."""
    shown = np.flatnonzero(mine.any(axis=1) & theirs.any(axis=1))
    by_position: dict[int, Image] = {
        image.position: image for image in all_images(session, campaign, campaign.n_images)
    }
    rows = [position for position in shown.tolist() if position in by_position]
    if len(rows) < LEAST_IMAGES:
        raise InvalidInput(
            f"Both groups have seen only {len(rows)} images, but at least {LEAST_IMAGES} are "
            "needed.",
            code="too_few_in_common",
        )
    try:
        comparison = compare(mine[rows], theirs[rows], min(10, len(rows) - 2))
    except ValueError as error:
        raise InvalidInput(
            f"These groups cannot be compared: {error}.", code="no_comparison"
        ) from None
    images = [by_position[position] for position in rows]
    return ComparedModels(len(rows), "position", comparison, _placed(images, comparison.alignment))


def _placed(images: list[Image], alignment: Alignment) -> list[ComparedImage]:
    """Return the images on two maps of the same size. Procrustes shrinks what has nothing in common
    with the reference, but a group's map is of interest by itself."""
    size = float(np.linalg.norm(alignment.aligned))
    other = alignment.aligned / size if size > 0 else alignment.aligned
    both = np.concatenate([alignment.reference, other])
    return placed_images(images, replace(alignment, aligned=other), both)


def positions_by_type(
    session: Session, campaign: Campaign, model: Model
) -> list[tuple[str, NDArray[np.float64]]]:
    """Return the name of each type and (N, d) the images as its people see them; nan if they have
    too few answers now. With one type, there is no entry."""
    division = _by_type(read_types(model))
    if not division.groups:
        return []
    answers = learned_answers(session, campaign)
    with one_at_a_time():
        return [
            (group.name, _positions_or_nan(answers, group.people, campaign.seed))
            for group in division.groups
        ]


def _positions_or_nan(answers: Groupings, people: frozenset[int], seed: int) -> NDArray[np.float64]:
    try:
        return _positions(answers, people, seed)
    except InvalidInput:
        return np.full((answers.n_images, 1), np.nan)
