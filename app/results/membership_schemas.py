"""Bodies of the API of a model's own clusters."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from app.collections.models import Image
from app.results.explore_schemas import ShownImage
from app.results.models import Model

Interval = tuple[float, float]


class MembershipOut(ShownImage):
    """An image with its most likely `cluster`, the `second` most likely one (null if there is only
    one cluster), and their probabilities. `asked`: whether the model learned from an answer that
    shows it."""

    cluster: int
    probability: float
    second_cluster: int | None
    second_probability: float
    asked: bool


class OwnClusterOut(BaseModel):
    """A cluster. `name`: given by a requester; `words`: the annotators' descriptions of its images;
    `proportion`: the share of images that the model expects in it; `size`: number of images most
    likely in it; `certain`: typical images; `uncertain`: images that may belong elsewhere, the
    least certain first."""

    index: int
    name: str
    words: list[str]
    proportion: float
    size: int
    certain: list[ShownImage]
    uncertain: list[ShownImage]


class ReliabilityOut(BaseModel):
    """An annotator by position, without identity. `sensitivity`: how often two images of one
    cluster were put together; `specificity`: how often two images of different clusters were put
    apart; both have 95 % intervals if the model provides them; `weight`: sum of their log odds."""

    annotator: int
    n_answers: int
    n_pairs: int
    sensitivity: float
    sensitivity_interval: Interval | None
    specificity: float
    specificity_interval: Interval | None
    weight: float


class OwnClustersOut(BaseModel):
    """The model's own clusters. `n_clusters`: the effective number in the model; `features`: the
    features by which images are assigned; `clusters`: the largest first, numbered as in
    `memberships`."""

    version: int
    n_clusters: float
    features: str
    clusters: list[OwnClusterOut]
    annotators: list[ReliabilityOut]

    @classmethod
    def of(
        cls,
        model: Model,
        insight: Mapping[str, Any],
        images: Mapping[int, Image],
        stored: Sequence[Mapping[str, Any]],
    ) -> "OwnClustersOut":
        """Build the body.

        images: by position, at least the typical ones of the clusters; stored: names and words of
        the clusters, by number, as far as there are any."""
        blank = {"name": "", "words": []}
        named = [*stored, *([blank] * len(insight["clusters"]))]
        return cls(
            version=model.version,
            n_clusters=insight["n_clusters"],
            features=insight["features"],
            clusters=[
                OwnClusterOut(
                    index=cluster["index"],
                    name=named[cluster["index"]]["name"],
                    words=named[cluster["index"]]["words"],
                    proportion=cluster["proportion"],
                    size=cluster["size"],
                    certain=[ShownImage.of(images[position]) for position in cluster["certain"]],
                    uncertain=[
                        ShownImage.of(images[position]) for position in cluster["uncertain"]
                    ],
                )
                for cluster in insight["clusters"]
            ],
            annotators=[ReliabilityOut(**annotator) for annotator in insight["reliability"]],
        )
