"""The labels of the images of a select campaign, their certainty, and the voters' quality."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.collections.models import Image
from app.results.images import remaining_at
from app.results.labelled_images import filtered, known_groups
from app.results.model_parts import read_arrays, required_insight, tells
from app.results.models import Model
from app.strategies.labels import FILE, Labels
from learning.aggregation import METHODS
from learning.ballots import YES
from learning.calibration import BinaryScores, binary_scores

Order = Literal["likeliest", "unlikeliest", "contested", "position"]
# With fewer images of either label, a curve has no meaning.
LEAST_GOLD = 2


@dataclass(frozen=True)
class Labelled:
    """An image and its label. Probabilities are of yes; those from votes are None if there are
    none."""

    image: Image
    probability: float
    prior: float
    majority: float | None
    dawid_skene: float | None
    glad: float | None
    yes: int
    no: int
    unsure: int

    @property
    def label(self) -> str:
        return "yes" if self.probability > 0.5 else "no"


@dataclass(frozen=True)
class Gold:
    """Quality of the labels on images with known answers, with votes and by the classifier alone;
    None if too few are known."""

    n_yes: int
    n_no: int
    labels: BinaryScores | None
    classifier: BinaryScores | None


def tells_labels(model: Model) -> bool:
    return tells(model, "jury")


def vote_insight(model: Model) -> dict[str, Any]:
    """Return what a model says about votes and voters; raises NotFound if it has no labels."""
    return required_insight(model, "jury", "labels")


def read_labels(campaign: Campaign, model: Model) -> Labels:
    """Read the labels; raises NotFound if the model has none, or its file is missing or does not
    match the images."""
    vote_insight(model)
    return read_arrays(Labels, FILE, campaign, model, "labels")


def chosen_positions(
    labels: Labels,
    order: Order,
    label: str | None = None,
    asked: bool | None = None,
    contested: bool | None = None,
) -> NDArray[np.int64]:
    """Return positions in the requested order, filtered by label ("yes", "no"), by having votes,
    and by being contested."""
    orders = {
        "likeliest": labels.likeliest_first,
        "unlikeliest": labels.unlikeliest_first,
        "contested": labels.contested_first,
    }
    positions = orders[order]() if order in orders else np.arange(len(labels))
    if label is not None:
        positions = positions[(labels.probability[positions] > 0.5) == (label == "yes")]
    return filtered(labels, positions, asked, contested)


def labelled_at(
    session: Session, campaign: Campaign, labels: Labels, positions: Sequence[int]
) -> list[Labelled]:
    """Return the images at these positions, in this order; deleted ones are omitted."""
    return [labelled(labels, image) for image in remaining_at(session, campaign, positions)]


def labelled(labels: Labels, image: Image) -> Labelled:
    at = image.position
    by = {method: _or_none(getattr(labels, method)[at]) for method in METHODS}
    return Labelled(
        image=image,
        probability=round(float(labels.probability[at]), 6),
        prior=round(float(labels.prior[at]), 6),
        yes=int(labels.yes[at]),
        no=int(labels.no[at]),
        unsure=int(labels.unsure[at]),
        **by,
    )


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 6)


def read_gold(session: Session, campaign: Campaign, labels: Labels) -> Gold:
    """Return how good the labels are on images with known answers."""
    positions, votes = known_groups(session, campaign, len(labels))
    truth = votes == YES
    n_yes, n_no = int(truth.sum()), int((~truth).sum())
    if min(n_yes, n_no) < LEAST_GOLD:
        return Gold(n_yes, n_no, None, None)
    return Gold(
        n_yes,
        n_no,
        binary_scores(truth, labels.probability[positions]),
        binary_scores(truth, labels.prior[positions]),
    )
