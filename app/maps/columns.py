"""The columns by which a map can be coloured: a value for every image, or none."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.annotation.checks import FINISHED
from app.annotation.models import Annotator, Answer
from app.campaigns.models import Campaign, Grid
from app.collections.models import Image
from app.core.errors import NotFound
from app.kinds import kind_of
from app.results.models import Model
from app.results.settled import read_kept
from app.strategies.class_labels import ClassLabels
from app.strategies.labels import Labels
from learning.class_ballots import masks_of

MOST_ANNOTATORS = 500
LEFT_OVER = "left over"
UNNAMED = "no description"
NO_LABEL = "no label"
LabelledBy = Literal["label", "probability", "classifier", "votes"]


@dataclass(frozen=True)
class Column:
    """A column of values: `values[codes[k]]` is the value of the image at position k; code −1 means
    that it has none."""

    values: list[str]
    codes: list[int]


def attribute_names(session: Session, campaign: Campaign) -> list[str]:
    names = select(func.jsonb_object_keys(Image.attributes).label("name")).where(
        Image.collection_id == campaign.collection_id
    )
    return sorted(session.scalars(select(names.subquery().c.name).distinct()))


def attribute_column(session: Session, campaign: Campaign, name: str) -> Column:
    """Return the values of an attribute; raises NotFound if no image has it."""
    query = select(Image.position, Image.attributes[name].astext).where(
        Image.collection_id == campaign.collection_id,
        Image.position < campaign.n_images,
        Image.attributes.has_key(name),
    )
    by_position = {
        position: value for position, value in session.execute(query) if value is not None
    }
    if not by_position:
        raise NotFound(f"No image of this campaign has the attribute {name!r}.")
    return _column(campaign.n_images, by_position)


def settled_column(campaign: Campaign, model: Model) -> Column:
    """Return the percentage of each image's nearest neighbours that would stay with as many other
    answers. Raises NotFound if it is not measured."""
    kept = read_kept(campaign, model)
    if kept is None or model.settled is None:
        raise NotFound(f"How settled neighbours are is not measured for model {model.version}.")
    shares = 100 * kept.expected / model.settled["n_neighbors"]
    by_position = {
        position: f"{share:.0f}" for position, share in enumerate(shares) if not np.isnan(share)
    }
    return _column(campaign.n_images, by_position)


def busiest_annotators(session: Session, campaign: Campaign) -> list[tuple[int, int]]:
    """List number and finished answers of the annotators with the most answers, by number."""
    n_answers = func.count()
    query = (
        select(Annotator.position, n_answers)
        .join(Answer, Answer.annotator_id == Annotator.id)
        .where(Answer.campaign_id == campaign.id, Answer.state.in_(FINISHED))
        .group_by(Annotator.position)
        .order_by(n_answers.desc(), Annotator.position)
        .limit(MOST_ANNOTATORS)
    )
    return sorted((position, count) for position, count in session.execute(query))


def annotator_column(session: Session, campaign: Campaign, position: int) -> Column:
    """Return the description of the group that this annotator last put each image into, or their
    vote.

    Descriptions that differ only in case and spaces are one value. Raises NotFound for an annotator
    without a finished answer.
    """
    query = (
        select(Grid.images, Answer.groups, Answer.descriptions, Answer.unseen)
        .join(Answer, Answer.grid_id == Grid.id)
        .join(Annotator, Answer.annotator_id == Annotator.id)
        .where(
            Answer.campaign_id == campaign.id,
            Annotator.position == position,
            Answer.state.in_(FINISHED),
        )
        .order_by(Answer.submitted_at, Answer.id)
    )
    kind = kind_of(campaign)
    named = [name or NO_LABEL for name in kind.group_names]
    words: dict[int, str] = {}
    answers = session.execute(query).all()
    if not answers:
        raise NotFound(f"Annotator {position} has no submitted answer in this campaign.")
    for images, groups, descriptions, unseen in answers:
        for image, group in zip(images, groups or [], strict=True):
            if image not in unseen and image < campaign.n_images:
                words[image] = _words(group, named or descriptions)
    return _column(campaign.n_images, _unified_spelling(words))


def label_column(labels: Labels, by: LabelledBy) -> Column:
    """Return the label of every image, its probability, the classifier's own probability, or the
    number of votes."""
    if by == "label":
        return Column(["yes", "no"], np.where(labels.probability > 0.5, 0, 1).tolist())
    numbers = {
        "probability": np.round(labels.probability, 2),
        "classifier": np.round(labels.prior, 2),
        "votes": labels.n_votes,
    }[by]
    return column_of_numbers(numbers)


def class_column(campaign: Campaign, labels: ClassLabels, by: LabelledBy) -> Column:
    """Return the class or the labels of every image, the probability of the label (by votes and
    classifier, or by the classifier alone), or the number of answers."""
    if by == "label":
        chosen = labels.chosen()
        groups = masks_of(chosen) if labels.can_have_several else chosen.argmax(axis=1)
        names = kind_of(campaign).group_names
        used, codes = np.unique(groups, return_inverse=True)
        return Column([names[group] or NO_LABEL for group in used.tolist()], codes.tolist())
    numbers = {
        "probability": np.round(labels.sureness, 2),
        "classifier": np.round(labels.prior.max(axis=1), 2),
        "votes": labels.answers,
    }[by]
    return column_of_numbers(numbers)


def column_of_numbers(numbers: NDArray[Any]) -> Column:
    values, codes = np.unique(numbers, return_inverse=True)
    return Column([f"{value:g}" for value in values.tolist()], codes.tolist())


def _words(group: int, descriptions: list[str]) -> str:
    if group < 0:
        return LEFT_OVER
    words = descriptions[group] if group < len(descriptions) else ""
    return " ".join(words.split()) or UNNAMED


def _unified_spelling(words: dict[int, str]) -> dict[int, str]:
    """Replace descriptions that differ only in case by the most frequent of them."""
    best: dict[str, str] = {}
    for word, _ in Counter(words.values()).most_common():
        best.setdefault(word.casefold(), word)
    return {image: best[word.casefold()] for image, word in words.items()}


def _column(n: int, by_position: dict[int, str]) -> Column:
    """Order values by the number of images that have them."""
    counts = Counter(by_position.values())
    values = sorted(counts, key=lambda value: (-counts[value], value))
    code = {value: number for number, value in enumerate(values)}
    codes = [-1] * n
    for position, value in by_position.items():
        codes[position] = code[value]
    return Column(values, codes)
