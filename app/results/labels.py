"""The labels of the images of a select campaign, their certainty, and the voters' quality."""

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
from app.core.errors import NotFound
from app.core.storage import get_object
from app.results.models import Model
from app.strategies.labels import FILE, SURE, Labels
from learning.ballots import NO, YES
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
    return model.insight is not None and "jury" in model.insight


def vote_insight(model: Model) -> dict[str, Any]:
    """Return what a model says about votes and voters; raises NotFound if it has no labels."""
    if not tells_labels(model):
        raise NotFound(f"Model {model.version} has no labels.")
    assert model.insight is not None
    return model.insight


@lru_cache(maxsize=4)
def _stored(artifact_key: str, model_id: UUID) -> Labels:
    # A model and its files never change.
    return Labels.from_bytes(get_object(f"{artifact_key}/{FILE}"))


def read_labels(campaign: Campaign, model: Model) -> Labels:
    """Read the labels; raises NotFound if the model has none, or its file is missing or does not
    match the images."""
    vote_insight(model)
    try:
        labels = _stored(model.artifact_key, model.id)
        if len(labels) > campaign.n_images:
            raise ValueError(f"labels of {len(labels)} images, not {campaign.n_images}")
        return labels
    except (FileNotFoundError, ValueError) as error:
        raise NotFound(
            f"The labels of the images in model {model.version} are no longer in storage."
        ) from error


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
    if asked is not None:
        positions = positions[(labels.n_votes[positions] > 0) == asked]
    if contested is not None:
        positions = positions[(labels.sureness[positions] < SURE) == contested]
    return positions


def labelled_at(
    session: Session, campaign: Campaign, labels: Labels, positions: Sequence[int]
) -> list[Labelled]:
    """Return the images at these positions, in this order; deleted ones are omitted."""
    query = select(Image).where(
        Image.collection_id == campaign.collection_id, Image.position.in_(positions)
    )
    by_position = {image.position: image for image in session.scalars(query)}
    return [
        labelled(labels, by_position[position]) for position in positions if position in by_position
    ]


def labelled(labels: Labels, image: Image) -> Labelled:
    at = image.position
    by = {name: _or_none(getattr(labels, name)[at]) for name in ("majority", "dawid_skene", "glad")}
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
    """Return how good the labels are on images of gold and practice grids. Models do not learn from
    answers to these grids, but the images may be in other grids as well."""
    known = _known_votes(session, campaign, len(labels))
    positions = np.array(sorted(known), np.int64)
    truth = np.array([known[position] for position in positions.tolist()], np.bool_)
    n_yes, n_no = int(truth.sum()), int((~truth).sum())
    if min(n_yes, n_no) < LEAST_GOLD:
        return Gold(n_yes, n_no, None, None)
    return Gold(
        n_yes,
        n_no,
        binary_scores(truth, labels.probability[positions]),
        binary_scores(truth, labels.prior[positions]),
    )


def _known_votes(session: Session, campaign: Campaign, n_images: int) -> dict[int, bool]:
    query = select(Grid.images, Grid.truth).where(
        Grid.campaign_id == campaign.id,
        Grid.role.in_(("gold", "practice")),
        Grid.truth.is_not(None),
    )
    return {
        image: vote == YES
        for images, truth in session.execute(query)
        for image, vote in zip(images, truth or [], strict=True)
        if vote in (YES, NO) and image < n_images
    }
