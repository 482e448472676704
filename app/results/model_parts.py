"""What a model says about one subject, such as labels or clusters: a part of its insight, and
arrays in a file."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar
from uuid import UUID

from app.campaigns.models import Campaign
from app.core.errors import NotFound
from app.core.storage import get_object
from app.results.models import Model
from app.strategies.stored_arrays import StoredArrays

_Arrays = TypeVar("_Arrays", bound=StoredArrays)


def tells(model: Model, part: str) -> bool:
    return model.insight is not None and part in model.insight


def required_insight(model: Model, part: str, contents: str) -> dict[str, Any]:
    """Return a model's insight. Raises NotFound if it lacks this part. contents: what the part
    contains, for the message."""
    if not tells(model, part):
        raise NotFound(f"Model {model.version} has no {contents}.")
    assert model.insight is not None
    return model.insight


@lru_cache(maxsize=8)
def _stored(
    from_bytes: Callable[[bytes], StoredArrays], address: str, model_id: UUID
) -> StoredArrays:
    # A model and its files never change.
    return from_bytes(get_object(address))


def read_arrays(
    form: type[_Arrays], file: str, campaign: Campaign, model: Model, contents: str
) -> _Arrays:
    """Read the arrays with a row for each image. Raises NotFound if the file is missing or does not
    match the images."""
    try:
        arrays = _stored(form.from_bytes, f"{model.artifact_key}/{file}", model.id)
        if len(arrays) > campaign.n_images:
            raise ValueError(f"{contents} of {len(arrays)} images, not {campaign.n_images}")
    except (FileNotFoundError, ValueError) as error:
        raise no_longer_stored(model, contents) from error
    assert isinstance(arrays, form)
    return arrays


def no_longer_stored(model: Model, contents: str) -> NotFound:
    return NotFound(
        f"The {contents} of the images in model {model.version} are no longer in storage."
    )
