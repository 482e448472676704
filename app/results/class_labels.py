"""The class or the labels of the images of a campaign with classes, their certainty, and the
annotators' quality. `app/results/labels.py` is the same for yes and no."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign, Grid
from app.collections.models import Image
from app.core.errors import InvalidInput, NotFound
from app.core.storage import get_object
from app.kinds import kind_of
from app.results.models import Model
from app.strategies.class_labels import ClassLabels
from app.strategies.labels import FILE, SURE
from learning.class_ballots import on_off

Order = Literal["surest", "contested", "position"]
# With fewer known images, a share has no meaning.
LEAST_GOLD = 4


@dataclass(frozen=True)
class Classified:
    """An image with its labels: the numbers of its classes. Lists have one entry for each class;
    those from votes are None if there are none."""

    image: Image
    labels: list[int]
    sureness: float
    probability: list[float]
    prior: list[float]
    majority: list[float] | None
    dawid_skene: list[float] | None
    glad: list[float] | None
    votes: list[int]
    answers: int
    unsure: int


@dataclass(frozen=True)
class KnownClass:
    """A class on images with known answers. n: how many have it; precision: the share of the images
    with this label that have it; recall: the share of those that have it with this label. They are
    None if there are no such images."""

    n: int
    precision: float | None
    recall: float | None


@dataclass(frozen=True)
class GoldClasses:
    """Quality of the labels on images with known answers: the share of right labels, with votes and
    by the classifier alone, None if too few are known, and figures by class.

    confusion: (K, K) numbers of images of each class with each label, if an image has one class.
    """

    n_images: int
    right: float | None
    classifier_right: float | None
    by_class: list[KnownClass]
    confusion: list[list[int]] | None


def tells_class_labels(model: Model) -> bool:
    return model.insight is not None and "voters" in model.insight


def class_insight(model: Model) -> dict[str, Any]:
    """Return what a model says about classes and annotators; raises NotFound if it has none."""
    if not tells_class_labels(model):
        raise NotFound(f"Model {model.version} has no classes.")
    assert model.insight is not None
    return model.insight


@lru_cache(maxsize=4)
def _stored(artifact_key: str, model_id: UUID) -> ClassLabels:
    # A model and its files never change.
    return ClassLabels.from_bytes(get_object(f"{artifact_key}/{FILE}"))


def read_class_labels(campaign: Campaign, model: Model) -> ClassLabels:
    """Read the labels; raises NotFound if the model has none, or its file is missing or does not
    match the campaign."""
    class_insight(model)
    try:
        labels = _stored(model.artifact_key, model.id)
        if len(labels) > campaign.n_images or labels.n_classes != len(campaign.classes):
            raise ValueError(f"{labels.n_classes} classes of {len(labels)} images")
        return labels
    except (FileNotFoundError, ValueError) as error:
        raise NotFound(
            f"The labels of the images in model {model.version} are no longer in storage."
        ) from error


def class_number(campaign: Campaign, name: str) -> int:
    """Return the number of a class. Raises InvalidInput if there is none of that name."""
    if name not in campaign.classes:
        raise InvalidInput(
            f"This campaign has no class {name[:50]!r}. Choose one of "
            f"{', '.join(map(repr, campaign.classes))}."
        )
    return campaign.classes.index(name)


def chosen_positions(
    labels: ClassLabels,
    order: Order,
    number: int | None = None,
    *,
    has_label: bool = True,
    asked: bool | None = None,
    contested: bool | None = None,
) -> NDArray[np.int64]:
    """Return positions in the requested order, filtered by having (or not having) the label of
    class `number`, by having votes, and by being contested."""
    if order == "contested":
        positions = labels.contested_first()
    elif order == "surest":
        positions = labels.surest_first() if number is None else labels.likeliest_first(number)
    else:
        positions = np.arange(len(labels))
    if number is not None:
        positions = positions[labels.chosen()[positions, number] == has_label]
    if asked is not None:
        positions = positions[(labels.answers[positions] > 0) == asked]
    if contested is not None:
        positions = positions[(labels.sureness[positions] < SURE) == contested]
    return positions


def classified_at(
    session: Session, campaign: Campaign, labels: ClassLabels, positions: Sequence[int]
) -> list[Classified]:
    """Return the images at these positions, in this order; deleted ones are omitted."""
    query = select(Image).where(
        Image.collection_id == campaign.collection_id, Image.position.in_(positions)
    )
    by_position = {image.position: image for image in session.scalars(query)}
    chosen, sureness = labels.chosen(), labels.sureness
    return [
        classified(labels, by_position[position], chosen[position], float(sureness[position]))
        for position in positions
        if position in by_position
    ]


def classified(
    labels: ClassLabels, image: Image, chosen: NDArray[np.bool_], sureness: float
) -> Classified:
    at = image.position
    by_votes = {
        name: None if np.isnan(values[at]).any() else _rounded(values[at])
        for name in ("majority", "dawid_skene", "glad")
        for values in [getattr(labels, name)]
    }
    return Classified(
        image=image,
        labels=np.flatnonzero(chosen).tolist(),
        sureness=round(sureness, 6),
        probability=_rounded(labels.probability[at]),
        prior=_rounded(labels.prior[at]),
        votes=labels.votes[at].tolist(),
        answers=int(labels.answers[at]),
        unsure=int(labels.unsure[at]),
        **by_votes,
    )


def _rounded(values: NDArray[np.float64]) -> list[float]:
    return [round(float(value), 6) for value in values]


def read_gold_classes(session: Session, campaign: Campaign, labels: ClassLabels) -> GoldClasses:
    """Return how good the labels are on images of gold and practice grids. Models do not learn from
    answers to these grids, but the images may be in other grids as well."""
    known = _known_groups(session, campaign, len(labels))
    positions = np.array(sorted(known), np.int64)
    groups = np.array([known[position] for position in positions.tolist()], np.int64)
    truth = _as_chosen(labels, groups)
    given = labels.chosen()[positions]
    by_prior = labels.chosen(labels.prior)[positions]
    is_enough = len(positions) >= LEAST_GOLD
    confusion = None
    if not labels.can_have_several:
        confusion = (truth.astype(int).T @ given.astype(int)).tolist()
    return GoldClasses(
        n_images=len(positions),
        right=_share_right(truth, given, labels) if is_enough else None,
        classifier_right=_share_right(truth, by_prior, labels) if is_enough else None,
        by_class=[_known_class(t, g) for t, g in zip(truth.T, given.T, strict=True)],
        confusion=confusion,
    )


def _as_chosen(labels: ClassLabels, groups: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return (n, K) whether each class is right, from group numbers."""
    if labels.can_have_several:
        return on_off(groups, labels.n_classes)
    return np.asarray(groups[:, None] == np.arange(labels.n_classes))


def _share_right(truth: NDArray[np.bool_], given: NDArray[np.bool_], labels: ClassLabels) -> float:
    same = truth == given
    return float(same.mean() if labels.can_have_several else same.all(axis=1).mean())


def _known_class(truth: NDArray[np.bool_], given: NDArray[np.bool_]) -> KnownClass:
    n, n_given, both = int(truth.sum()), int(given.sum()), int((truth & given).sum())
    return KnownClass(n, both / n_given if n_given else None, both / n if n else None)


def _known_groups(session: Session, campaign: Campaign, n_images: int) -> dict[int, int]:
    query = select(Grid.images, Grid.truth).where(
        Grid.campaign_id == campaign.id,
        Grid.role.in_(("gold", "practice")),
        Grid.truth.is_not(None),
    )
    n_groups = kind_of(campaign).n_groups(campaign.max_groups)
    return {
        image: group
        for images, truth in session.execute(query)
        for image, group in zip(images, truth or [], strict=True)
        if 0 <= group < n_groups and image < n_images
    }
