"""What is known of a campaign's images before anybody has answered: the start of a model."""

import hashlib
import io
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from safetensors.numpy import load, save
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.collections.models import Image
from app.collections.service import image_key
from app.core.storage import get_object, has_object, put_object

NAME = "features"


Features = NDArray[np.float64] | None


def features_wanted(session: Session, campaign: Campaign) -> Callable[[], Features]:
    """What gives (N, F) features if the campaign starts from some; to be called without a
    transaction, as it may look at every image.

    Raises ValueError when it starts from those of a table and there are none.
    """
    start = campaign.settings.get("start_from")
    own = select(Image).where(Image.collection_id == campaign.collection_id)
    images = own.order_by(Image.position).limit(campaign.n_images)
    if start == "features":
        table = _features_of_table(session.scalars(images).all())
        return lambda: table
    if start == "appearance":
        hashes = [one.sha256 for one in session.scalars(images)]
        return partial(features_of_appearance, campaign.collection_id, hashes)
    return lambda: None


def _features_of_table(images: Sequence[Image]) -> NDArray[np.float64]:
    """Images without features have the mean of the others."""
    given = [one.features for one in images if one.features]
    if not given:
        raise ValueError(
            "This campaign starts from features, but no image of its collection has any. Upload a "
            "table with columns feature_0, feature_1, …, or choose another start."
        )
    mean = np.mean(given, axis=0)
    return np.array([one.features or mean for one in images], np.float64)


def features_of_appearance(collection_id: UUID, hashes: list[str]) -> NDArray[np.float64]:
    """(N, F) what the images look like; computed once and kept in storage."""
    # Imported here: only learning jobs load it, and it takes a while.
    from learning.appearance import appearance_features

    digest = hashlib.sha256("".join(hashes).encode()).hexdigest()[:16]
    key = f"features/{collection_id}/appearance-{digest}.safetensors"
    if has_object(key):
        return np.asarray(load(get_object(key))[NAME], np.float64)
    found = appearance_features(_pixels(collection_id, hashes))
    put_object(key, save({NAME: found}))
    return found


def _pixels(collection_id: UUID, hashes: list[str]) -> Iterator[NDArray[np.uint8]]:
    for sha256 in hashes:
        with Pillow.open(io.BytesIO(get_object(image_key(collection_id, sha256, "thumb")))) as one:
            yield np.asarray(one.convert("RGB"))
