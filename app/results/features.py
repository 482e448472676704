"""What is known of a campaign's images before anybody has answered: the start of a model."""

import hashlib
import io
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from safetensors.numpy import load, save
from sqlalchemy import Select, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.campaigns.models import Campaign
from app.collections.models import Image
from app.collections.service import image_key
from app.core.storage import get_object, has_object, put_object

NAME = "features"
_ROWS_AT_A_TIME = 500

Features = NDArray[np.float64] | None
Value = TypeVar("Value")


def features_wanted(session: Session, campaign: Campaign) -> Callable[[], Features]:
    """What gives (N, F) features if the campaign starts from some; to be called without a
    transaction, as it may look at every image.

    Raises ValueError when it starts from those of a table and there are none.
    """
    start = campaign.settings.get("start_from")
    if start == "features":
        # Row by row: as Python's floats they would take four times the memory.
        query = _of_images(campaign, Image.features).execution_options(yield_per=_ROWS_AT_A_TIME)
        table = features_of_table(session.scalars(query), campaign.n_images)
        return lambda: table
    if start == "appearance":
        hashes = list(session.scalars(_of_images(campaign, Image.sha256)))
        return partial(features_of_appearance, campaign.collection_id, hashes)
    return lambda: None


def _of_images(campaign: Campaign, column: InstrumentedAttribute[Value]) -> Select[Value]:
    """What the campaign's images have in one column, in their order."""
    own = select(column).where(Image.collection_id == campaign.collection_id)
    return own.order_by(Image.position).limit(campaign.n_images)


def features_of_table(rows: Iterable[list[float] | None], n: int) -> NDArray[np.float64]:
    """(n, F) the features of n images, the mean of the others for those without.

    Raises ValueError when no image has any, or when they have differently many.
    """
    table = np.empty((n, 0))
    known = np.zeros(n, np.bool_)
    for place, given in enumerate(rows):
        if not given:
            continue
        if not known.any():
            table = np.empty((n, len(given)))
        if len(given) != table.shape[1]:
            raise ValueError(
                f"The images of this collection have differently many features "
                f"({table.shape[1]} and {len(given)}). Upload one table that has them all."
            )
        table[place], known[place] = given, True
    if not known.any():
        raise ValueError(
            "This campaign starts from features, but no image of its collection has any. Upload a "
            "table with columns feature_0, feature_1, …, or choose another start."
        )
    table[~known] = table.mean(axis=0, where=known[:, None])
    return table


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
