"""Images that a campaign does not ask about, and whose result is least certain."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.campaigns.asking import asked_images, is_chosen
from app.campaigns.models import Campaign
from app.collections.models import Image
from app.core.errors import NotFound
from app.results import class_labels, labels, own_clusters
from app.results.models import Model
from app.results.service import get_model


@dataclass(frozen=True)
class Suggestions:
    """images: with the model's certainty of each, 0..1, the least certain first.

    certainty_of: what the certainty is about: `label` or `cluster`; None if the model does not say
    how certain it is. version: of the model; None if there is none.
    """

    version: int | None
    certainty_of: str | None
    images: list[tuple[Image, float]]


def suggested_images(session: Session, campaign: Campaign, limit: int) -> Suggestions:
    """Return up to `limit` images that the newest model is least certain of, without those that
    the campaign asks about. A campaign that asks about all images gets none."""
    model = _newest(session, campaign)
    if model is None or not campaign.ask_about or not is_chosen(session, campaign):
        return Suggestions(None if model is None else model.version, None, [])
    for subject, tells, certainty in _CERTAINTIES:
        if tells(model):
            chosen = _least_certain(session, campaign, certainty(campaign, model), limit)
            return Suggestions(model.version, subject, chosen)
    return Suggestions(model.version, None, [])


def _newest(session: Session, campaign: Campaign) -> Model | None:
    try:
        return get_model(session, campaign)
    except NotFound:
        return None


def _least_certain(
    session: Session, campaign: Campaign, certainty: NDArray[np.float64], limit: int
) -> list[tuple[Image, float]]:
    order = np.argsort(certainty, kind="stable")
    asked = asked_images(session, campaign)
    assert asked is not None
    others = order[~np.isin(order, asked)][:limit]
    query = select(Image).where(
        Image.collection_id == campaign.collection_id, Image.position.in_(others.tolist())
    )
    images = {image.position: image for image in session.scalars(query)}
    return [(images[position], float(certainty[position])) for position in others.tolist()]


def _of_labels(campaign: Campaign, model: Model) -> NDArray[np.float64]:
    return labels.read_labels(campaign, model).sureness


def _of_classes(campaign: Campaign, model: Model) -> NDArray[np.float64]:
    return class_labels.read_class_labels(campaign, model).sureness


def _of_clusters(campaign: Campaign, model: Model) -> NDArray[np.float64]:
    return own_clusters.read_memberships(campaign, model).probability


_Certainty = Callable[[Campaign, Model], NDArray[np.float64]]
_CERTAINTIES: tuple[tuple[str, Callable[[Model], bool], _Certainty], ...] = (
    ("label", labels.tells_labels, _of_labels),
    ("label", class_labels.tells_class_labels, _of_classes),
    ("cluster", own_clusters.tells_clusters, _of_clusters),
)
