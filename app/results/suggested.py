"""The images of a campaign that asks about a part of them: which to ask about next, and where they
are by features alone."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.campaigns.asking import asked_images, is_chosen
from app.campaigns.feature_places import read_places
from app.campaigns.models import Campaign
from app.collections.models import Image
from app.core.errors import NotFound
from app.results import class_labels, labels, own_clusters
from app.results.models import Model
from app.results.service import get_model
from app.results.uncertainties import read_uncertainty
from app.results.vectors import read_vectors

# More images could not be told apart on a map of a page's width.
MOST_PLACED = 1_000


@dataclass(frozen=True)
class Suggestions:
    """images: with the model's certainty of each, 0..1, the least certain first.

    certainty_of: what the certainty is about: `label`, `cluster` or `position`; None if the model
    does not say how certain it is. version: of the model; None if there is none.
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
        if tells(campaign, model):
            chosen = _least_certain(session, campaign, certainty(session, campaign, model), limit)
            return Suggestions(model.version, subject, chosen)
    return Suggestions(model.version, None, [])


def placed_images(session: Session, campaign: Campaign) -> list[tuple[Image, float, float, bool]]:
    """Return images with their places (x, y) by features alone, and whether the campaign asks about
    them: up to MOST_PLACED, with an even part of those that it does not ask about."""
    places = read_places(campaign) if campaign.ask_about else None
    if places is None or not is_chosen(session, campaign):
        return []
    asked = asked_images(session, campaign)
    assert asked is not None
    asked = asked[asked < len(places)][:MOST_PLACED]
    others = np.setdiff1d(np.arange(len(places)), asked)
    n_others = min(len(others), MOST_PLACED - len(asked))
    some = others[np.linspace(0, len(others) - 1, n_others).astype(np.int64)]
    placed = [(position, True) for position in asked.tolist()]
    placed += [(position, False) for position in some.tolist()]
    images = _images_at(session, campaign, [position for position, _ in placed])
    return [
        (images[position], float(places[position, 0]), float(places[position, 1]), is_asked)
        for position, is_asked in placed
        if position in images
    ]


def _images_at(session: Session, campaign: Campaign, positions: list[int]) -> dict[int, Image]:
    query = select(Image).where(
        Image.collection_id == campaign.collection_id, Image.position.in_(positions)
    )
    return {image.position: image for image in session.scalars(query)}


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
    images = _images_at(session, campaign, others.tolist())
    return [(images[position], float(certainty[position])) for position in others.tolist()]


def _of_labels(_: Session, campaign: Campaign, model: Model) -> NDArray[np.float64]:
    return labels.read_labels(campaign, model).sureness


def _of_classes(_: Session, campaign: Campaign, model: Model) -> NDArray[np.float64]:
    return class_labels.read_class_labels(campaign, model).sureness


def _of_clusters(_: Session, campaign: Campaign, model: Model) -> NDArray[np.float64]:
    return own_clusters.read_memberships(campaign, model).probability


def _of_positions(session: Session, campaign: Campaign, model: Model) -> NDArray[np.float64]:
    """Return the share of the variance of an image's position that is between images, rather than
    its own uncertainty."""
    uncertainty = read_uncertainty(campaign, model)
    assert uncertainty is not None
    own = (uncertainty.deviation.astype(np.float64) ** 2).sum(axis=1)
    between = read_vectors(session, model).var(axis=0).sum()
    return np.asarray(between / np.maximum(between + own, np.finfo(np.float64).tiny))


def _places_by_features(campaign: Campaign, model: Model) -> bool:
    """Tell whether features place images that no answer shows. Without them, the positions of all
    these images are equally uncertain."""
    uncertainty = read_uncertainty(campaign, model)
    return uncertainty is not None and bool(uncertainty.by_features.any())


_Tells = Callable[[Campaign, Model], bool]
_Certainty = Callable[[Session, Campaign, Model], NDArray[np.float64]]
_CERTAINTIES: tuple[tuple[str, _Tells, _Certainty], ...] = (
    ("label", lambda _, model: labels.tells_labels(model), _of_labels),
    ("label", lambda _, model: class_labels.tells_class_labels(model), _of_classes),
    ("cluster", lambda _, model: own_clusters.tells_clusters(model), _of_clusters),
    ("position", _places_by_features, _of_positions),
)
