"""Where the images of a campaign are by features alone, for a map before the first model.

The job that chooses the images to ask about (app/campaigns/choosing.py) stores the places, because
it has read the features of all images.
"""

from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from app.campaigns.models import Campaign
from app.core.storage import get_object, put_object

_PLACES = "places"


def _key(campaign_id: UUID) -> str:
    # Objects in this folder are removed with the collection.
    return f"maps/{campaign_id}/features.safetensors"


def store_places(campaign_id: UUID, places: NDArray[np.float64]) -> None:
    """Store (N, 2) places in the unit square, one for each image by position."""
    put_object(_key(campaign_id), save({_PLACES: places.astype(np.float32)}))


def read_places(campaign: Campaign) -> NDArray[np.float32] | None:
    """Return the (N, 2) places, of all images that took part when they were computed; None if there
    are none, or they are damaged."""
    try:
        places = load(get_object(_key(campaign.id))).get(_PLACES)
    except (FileNotFoundError, SafetensorError):
        return None
    is_whole = places is not None and places.ndim == 2 and places.shape[1] == 2
    return places if is_whole else None
