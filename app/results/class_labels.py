"""The class or the labels of the images of a campaign with classes, their certainty, and the
annotators' quality. `app/results/labels.py` is the same for yes and no."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.collections.models import Image
from app.core.errors import InvalidInput
from app.results.images import remaining_at
from app.results.labelled_images import filtered, known_groups
from app.results.model_parts import no_longer_stored, read_arrays, required_insight, tells
from app.results.models import Model
from app.strategies.class_labels import ClassLabels
from app.strategies.labels import FILE
from learning.aggregation import METHODS
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
    return tells(model, "voters")


def class_insight(model: Model) -> dict[str, Any]:
    """Return what a model says about classes and annotators; raises NotFound if it has none."""
    return required_insight(model, "voters", "classes")


def read_class_labels(campaign: Campaign, model: Model) -> ClassLabels:
    """Read the labels; raises NotFound if the model has none, or its file is missing or does not
    match the campaign."""
    class_insight(model)
    labels = read_arrays(ClassLabels, FILE, campaign, model, "labels")
    if labels.n_classes != len(campaign.classes):
        raise no_longer_stored(model, "labels")
    return labels


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
    return filtered(labels, positions, asked, contested)


def classified_at(
    session: Session, campaign: Campaign, labels: ClassLabels, positions: Sequence[int]
) -> list[Classified]:
    """Return the images at these positions, in this order; deleted ones are omitted."""
    chosen, sureness = labels.chosen(), labels.sureness
    return [
        classified(labels, image, chosen[image.position], float(sureness[image.position]))
        for image in remaining_at(session, campaign, positions)
    ]


def classified(
    labels: ClassLabels, image: Image, chosen: NDArray[np.bool_], sureness: float
) -> Classified:
    at = image.position
    by_votes = {
        name: None if np.isnan(values[at]).any() else _rounded(values[at])
        for name in METHODS
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
    """Return how good the labels are on images with known answers."""
    positions, groups = known_groups(session, campaign, len(labels))
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
