"""Bodies of the API of single clusters: their images, and clusters that are selected on the map."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, FailFast, Field

from app.collections.models import Image
from app.core.fields import StrictInt
from app.core.paging import Page
from app.results.explore_schemas import ClusterName, ShownImage


class SelectedClusterIn(BaseModel, extra="forbid"):
    """Positions of images that become a cluster of their own, its name, and the clustering that the
    other images keep (by default, they are one cluster)."""

    images: Annotated[list[StrictInt], Field(max_length=1_000_000), FailFast()]
    name: ClusterName = ""
    clustering_id: UUID | None = None


class ClusterImage(ShownImage):
    """An image of a cluster with its own `silhouette`."""

    silhouette: float

    @classmethod
    def of_member(cls, image: Image, silhouette: float) -> "ClusterImage":
        return cls(**vars(ShownImage.of(image)), silhouette=round(silhouette, 6))


class ClusterImagesPage(Page[ClusterImage]):
    """A page of a cluster's images; `total` counts all of them."""

    total: int
