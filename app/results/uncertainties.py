"""How certain a model is of the images' positions and of the distances between them."""

from collections.abc import Sequence

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.core.storage import has_object
from app.results.model_parts import read_arrays
from app.results.models import EmbeddedImage, Model
from app.strategies.uncertainty import FILE, Uncertainty


def read_uncertainty(campaign: Campaign, model: Model) -> Uncertainty | None:
    """Return the uncertainties, or None for a strategy that does not tell them, or a model of an
    earlier version. Raises NotFound if they do not match the images."""
    if not has_object(f"{model.artifact_key}/{FILE}"):
        return None
    return read_arrays(Uncertainty, FILE, campaign, model, "uncertainties")


def distance_deviations(
    session: Session, campaign: Campaign, model: Model, position: int, others: Sequence[int]
) -> list[float | None]:
    """Return the standard deviations of the distances from the image at `position` to others, with
    None for each if the model does not tell."""
    uncertainty = read_uncertainty(campaign, model)
    if uncertainty is None or not others:
        return [None] * len(others)
    wanted = [position, *others]
    query = select(EmbeddedImage.position, EmbeddedImage.vector).where(
        EmbeddedImage.model_id == model.id, EmbeddedImage.position.in_(wanted)
    )
    by_position = {number: vector for number, vector in session.execute(query)}
    vectors = np.array([by_position[number] for number in wanted], np.float64)
    of_these = Uncertainty(uncertainty.deviation[wanted], uncertainty.by_features[wanted])
    deviations = of_these.of_distances(vectors, 0, np.arange(1, len(wanted)))
    return [float(deviation) for deviation in deviations]
