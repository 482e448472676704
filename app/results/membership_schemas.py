"""Bodies of the API of a model's own clusters."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from app.collections.models import Image
from app.results.explore_schemas import ShownImage
from app.results.models import Model
from app.results.own_clusters import Member

Interval = tuple[float, float]


class MembershipOut(ShownImage):
    """An image, its likeliest `cluster` and the second (null where there is one only), with their
    probabilities by the model; `asked`: whether an answer that was learned from shows it."""

    cluster: int
    probability: float
    second_cluster: int | None
    second_probability: float
    asked: bool

    @classmethod
    def of_member(cls, member: Member) -> "MembershipOut":
        told = {name: value for name, value in vars(member).items() if name != "image"}
        return cls(**ShownImage.of(member.image).model_dump(), **told)


class OwnClusterOut(BaseModel):
    """`name`: as given; `words`: of annotators for its images; `proportion`: that the model
    expects; `size`: images most likely in it; `certain`: images that stand for it, `uncertain`:
    those that may belong elsewhere, the most so first."""

    index: int
    name: str
    words: list[str]
    proportion: float
    size: int
    certain: list[ShownImage]
    uncertain: list[ShownImage]


class ReliabilityOut(BaseModel):
    """An annotator by position, without identity. `sensitivity`: how often two images of one
    cluster were put together; `specificity`: two of different ones apart; with 95 % intervals
    where the model tells them; `weight`: sum of their log odds."""

    annotator: int
    n_answers: int
    n_pairs: int
    sensitivity: float
    sensitivity_interval: Interval | None
    specificity: float
    specificity_interval: Interval | None
    weight: float


class OwnClustersOut(BaseModel):
    """`n_clusters`: the effective number, as the model counts; `features`: what images are placed
    by; `clusters`: the largest first, numbered as in `memberships`."""

    version: int
    n_clusters: float
    features: str
    clusters: list[OwnClusterOut]
    annotators: list[ReliabilityOut]

    @classmethod
    def of(
        cls,
        model: Model,
        told: Mapping[str, Any],
        images: Mapping[int, Image],
        stored: Sequence[Mapping[str, Any]],
    ) -> "OwnClustersOut":
        """images: by position, at least those that stand for the clusters; stored: names and
        words of the clusters, by number, as far as there are any."""
        blank = {"name": "", "words": []}
        named = [*stored, *([blank] * len(told["clusters"]))]
        return cls(
            version=model.version,
            n_clusters=told["n_clusters"],
            features=told["features"],
            clusters=[
                OwnClusterOut(
                    index=one["index"],
                    name=named[one["index"]]["name"],
                    words=named[one["index"]]["words"],
                    proportion=one["proportion"],
                    size=one["size"],
                    certain=[ShownImage.of(images[position]) for position in one["certain"]],
                    uncertain=[ShownImage.of(images[position]) for position in one["uncertain"]],
                )
                for one in told["clusters"]
            ],
            annotators=[ReliabilityOut(**one) for one in told["reliability"]],
        )
