"""Bodies of the images API."""

from datetime import datetime
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import BaseModel, FailFast, Field, model_validator

from app.collections.deletion import Selection, SelectionUse
from app.collections.details import Details
from app.collections.media import image_url
from app.collections.models import Image
from app.collections.search import AttributeValues, filter_of
from app.core.fields import StrictBool, StrictInt
from app.core.paging import Page


class ImageOut(BaseModel):
    """One image. `position` changes when images before it are deleted; `sha256` never changes."""

    position: int
    sha256: str
    filename: str
    width: int
    height: int
    url: str
    large_url: str
    attributes: dict[str, Any]
    n_features: int

    @classmethod
    def of(cls, image: Image, n_features: int | None = None) -> "ImageOut":
        """Build the body; `n_features` is given where the row was read without its features."""
        if n_features is None:
            n_features = len(image.features or [])
        return cls(
            position=image.position,
            sha256=image.sha256,
            filename=image.filename,
            width=image.width,
            height=image.height,
            url=image_url(image),
            large_url=image_url(image, "large"),
            attributes=image.attributes,
            n_features=n_features,
        )


class ImagePage(Page[ImageOut]):
    """A page of images; `total` counts all that were found."""

    total: int


class ShowingOut(BaseModel):
    id: UUID
    name: str
    state: str
    n_grids: int
    n_answers: int


class ImageDetails(ImageOut):
    features: list[float]
    added_at: datetime
    campaigns: list[ShowingOut]

    @classmethod
    def of_details(cls, details: Details) -> "ImageDetails":
        features = details.image.features or []
        return cls(
            **ImageOut.of(details.image, len(features)).model_dump(),
            features=features,
            added_at=details.image.created_at,
            campaigns=[ShowingOut(**vars(showing)) for showing in details.campaigns],
        )


class FilterIn(BaseModel):
    search: str = ""
    attribute: list[str] = []
    missing: list[str] = []


class SelectionIn(BaseModel):
    """A selection of images: by their hashes, or all that match a filter; `expected` is then their
    number."""

    sha256: list[str] = Field(default=[], max_length=10_000)
    filter: FilterIn | None = None
    expected: StrictInt | None = None
    unused_only: StrictBool = False

    @model_validator(mode="after")
    def _hashes_or_filter(self) -> Self:
        if bool(self.sha256) == (self.filter is not None):
            raise ValueError("Select images by sha256 or by a filter, not both.")
        if self.filter is not None and self.expected is None:
            raise ValueError(
                "If you select images by a filter, set expected to the number of images it finds."
            )
        return self

    def selection(self) -> Selection:
        given = self.filter
        image_filter = (
            filter_of(given.search, given.attribute, given.missing) if given is not None else None
        )
        return Selection(hashes=self.sha256, filter=image_filter, expected=self.expected)


class CopyIn(BaseModel, extra="forbid"):
    """The name of a new collection, and the images to copy into it: by their hashes, by their
    positions, or all that match a filter; `expected` is then their number."""

    name: str = Field(description="1 to 200 characters.", examples=["Faces with glasses"])
    sha256: list[str] = Field(default=[], max_length=10_000)
    positions: Annotated[list[StrictInt], Field(max_length=1_000_000), FailFast()] = []
    filter: FilterIn | None = None
    expected: StrictInt | None = None

    @model_validator(mode="after")
    def _selects_in_one_way(self) -> Self:
        if [bool(self.sha256), bool(self.positions), self.filter is not None].count(True) != 1:
            raise ValueError("Select images by sha256, by positions, or by a filter.")
        if self.filter is not None and self.expected is None:
            raise ValueError(
                "If you select images by a filter, set expected to the number of images it finds."
            )
        outside = [position for position in self.positions if not 0 <= position < 2**31]
        if outside:
            raise ValueError(f"There is no image {outside[0]}.")
        return self

    def selection(self) -> Selection:
        given = self.filter
        image_filter = (
            filter_of(given.search, given.attribute, given.missing) if given is not None else None
        )
        return Selection(
            hashes=self.sha256,
            filter=image_filter,
            expected=self.expected,
            positions=self.positions or None,
        )


class UsageOut(BaseModel, from_attributes=True):
    id: UUID
    name: str
    state: str


class SelectionUseOut(BaseModel):
    """How many images are selected, how many of them cannot be deleted, and which campaigns use
    them."""

    n_chosen: int
    n_in_use: int
    campaigns: list[UsageOut]
    sentence: str

    @classmethod
    def of(cls, use: SelectionUse) -> "SelectionUseOut":
        return cls(
            n_chosen=use.n_chosen,
            n_in_use=use.n_in_use,
            campaigns=[
                UsageOut(id=usage.id, name=usage.name, state=usage.state) for usage in use.campaigns
            ],
            sentence=use.sentence,
        )


class DeletedOut(BaseModel):
    deleted: int
    n_images: int


class ShapesOut(BaseModel, from_attributes=True):
    """`n_extreme` images have sides of more than 4:1; `examples` are the most extreme ones."""

    n_extreme: int
    examples: list[str]


class ValueOut(BaseModel):
    value: str
    n_images: int


class AttributeValuesOut(BaseModel):
    """An attribute. `values` are the most frequent of its `n_values` values."""

    name: str
    n_images: int
    n_values: int
    values: list[ValueOut]

    @classmethod
    def of(cls, attribute: AttributeValues) -> "AttributeValuesOut":
        return cls(
            name=attribute.name,
            n_images=attribute.n_images,
            n_values=attribute.n_values,
            values=[ValueOut(value=value, n_images=n) for value, n in attribute.values],
        )
