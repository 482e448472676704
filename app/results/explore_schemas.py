"""Bodies of the API of strips, evidence, comparison and clusterings."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from app.collections.media import image_url
from app.collections.models import Image
from app.core.fields import Whole
from app.results.clusterings import MOST_NAME, mean_silhouette
from app.results.comparing import ComparedModels, MatchedBy
from app.results.evidence import Evidence
from app.results.models import Clustering
from app.results.strips import Axis
from learning.clusters import MOST_CLUSTERS, Suggestion
from learning.comparison import Figure

Name = Annotated[str, Field(max_length=MOST_NAME)]
Algorithm = Literal["k-means", "ward", "average"]


class ShownImage(BaseModel):
    image: int
    url: str
    large_url: str
    filename: str

    @classmethod
    def of(cls, image: Image) -> "ShownImage":
        return cls(**_shown(image))


def _shown(image: Image) -> dict[str, object]:
    return {
        "image": image.position,
        "url": image_url(image),
        "large_url": image_url(image, "large"),
        "filename": image.filename,
    }


class PlacedImage(ShownImage):
    """`place`: its coordinate on the axis."""

    place: float


class AxisOut(BaseModel):
    """An axis of the embedding: an ordered `attribute`, or where the strategy learns none a
    `direction`.

    `share`: of the answers about the attribute, or of the spread along the direction; `low`,
    `middle`, `high`: the annotators' words; `counts`: images in equal stretches between `ends`;
    `images`: evenly spread by rank, the lowest first.
    """

    kind: Literal["attribute", "direction"]
    index: int
    share: float
    low: list[str]
    middle: list[str]
    high: list[str]
    ends: tuple[float, float]
    counts: list[int]
    images: list[PlacedImage]

    @classmethod
    def of(cls, axis: Axis) -> "AxisOut":
        told = {name: value for name, value in vars(axis).items() if name != "images"}
        placed = [PlacedImage(**_shown(image), place=place) for image, place in axis.images]
        return cls(**told, images=placed)


class SharedAnswerOut(BaseModel):
    """`words`: of the group of each of both images, or the vote on it; blank for none, or a
    leftover."""

    id: UUID
    round: int
    annotator: int
    submitted_at: datetime
    verdict: Literal["together", "apart"]
    words: tuple[str, str]


class PairEvidenceOut(BaseModel):
    """Answers that had both images: counted all, listed the newest."""

    image: ShownImage
    other: ShownImage
    together: int
    apart: int
    annotators: int
    answers: list[SharedAnswerOut]

    @classmethod
    def of(cls, evidence: Evidence) -> "PairEvidenceOut":
        image, other = (ShownImage.of(one) for one in evidence.images)
        answers = [
            SharedAnswerOut(
                id=one.id,
                round=one.round_number,
                annotator=one.annotator,
                submitted_at=one.submitted_at,
                verdict=one.verdict,
                words=one.words,
            )
            for one in evidence.answers
        ]
        return cls(image=image, other=other, answers=answers, **vars(evidence.counts))


class FigureOut(BaseModel):
    """`value` ± `error` (standard); `chance` ± `chance_error` for unrelated embeddings."""

    value: float
    error: float
    chance: float
    chance_error: float

    @classmethod
    def of(cls, figure: Figure) -> "FigureOut":
        return cls(**vars(figure))


class ComparedPoint(BaseModel):
    """Places on one map: (`x`, `y`) in this model, (`other_x`, `other_y`) in the other, aligned.
    `moved`: between them, in all dimensions; 1 is the usual distance from the centre."""

    image: int
    url: str
    filename: str
    x: float
    y: float
    other_x: float
    other_y: float
    moved: float


class ComparisonOut(BaseModel):
    """`disparity`: what turning, scaling and moving leave (Procrustes; 0: same shape);
    `overlap`: share of the `k` nearest neighbours in common; `rank_correlation`: of distances.
    `points`: those that moved most first; of many images a part."""

    n_images: int
    matched_by: MatchedBy
    k: int
    disparity: FigureOut
    overlap: FigureOut
    rank_correlation: FigureOut
    points: list[ComparedPoint]

    @classmethod
    def of(cls, compared: ComparedModels) -> "ComparisonOut":
        found = compared.comparison
        return cls(
            n_images=compared.n_images,
            matched_by=compared.matched_by,
            k=found.k,
            disparity=FigureOut.of(found.disparity),
            overlap=FigureOut.of(found.overlap),
            rank_correlation=FigureOut.of(found.rank_correlation),
            points=[
                ComparedPoint(
                    image=one.image.position,
                    url=image_url(one.image),
                    filename=one.image.filename,
                    x=one.place[0],
                    y=one.place[1],
                    other_x=one.other_place[0],
                    other_y=one.other_place[1],
                    moved=one.moved,
                )
                for one in compared.images
            ],
        )


class SuggestionOut(BaseModel):
    """`n_clusters`: that of the largest mean `silhouette` among the numbers `tried`."""

    n_clusters: int
    tried: list[int]
    silhouette: list[float]

    @classmethod
    def of(cls, suggestion: Suggestion) -> "SuggestionOut":
        return cls(**vars(suggestion))


class ClusteringIn(BaseModel, extra="forbid"):
    algorithm: Algorithm = "k-means"
    n_clusters: Whole = Field(ge=2, le=MOST_CLUSTERS)
    name: Name = ""


class MergeIn(BaseModel, extra="forbid"):
    """Numbers of the clusters to be made one, and its name (theirs, joined, unless told)."""

    clusters: list[Whole] = Field(max_length=MOST_CLUSTERS)
    name: Name = ""


class RenameIn(BaseModel, extra="forbid"):
    """`names`: of clusters, by number; blank takes a name away."""

    name: Name | None = None
    names: dict[int, Name] = {}


class ClusteringSummary(BaseModel):
    """`silhouette`: mean over all images; `merged_from`: the clustering that was merged;
    `algorithm`: "model" for the clusters that the model itself tells."""

    id: UUID
    name: str
    algorithm: Algorithm | Literal["model"]
    n_clusters: int
    created_at: datetime
    silhouette: float
    merged_from: UUID | None

    @classmethod
    def of(cls, clustering: Clustering) -> "ClusteringSummary":
        return cls(**_summary(clustering))


def _summary(clustering: Clustering) -> dict[str, object]:
    return {
        "id": clustering.id,
        "name": clustering.name,
        "algorithm": clustering.algorithm,
        "n_clusters": len(clustering.clusters),
        "created_at": clustering.created_at,
        "silhouette": round(mean_silhouette(clustering), 6),
        "merged_from": clustering.merged_from,
    }


class ClusterOut(BaseModel):
    """`silhouette`: mean of its images; `cohesion`: their mean distance to its centre; `words`:
    what annotators called groups of its images; `images`: typical ones, the medoid first."""

    index: int
    name: str
    size: int
    silhouette: float
    cohesion: float
    words: list[str]
    images: list[ShownImage]


class ClusteringOut(ClusteringSummary):
    """`labels`: the cluster of every image, by position."""

    labels: list[int]
    clusters: list[ClusterOut]

    @classmethod
    def whole(cls, clustering: Clustering, images: dict[int, Image]) -> "ClusteringOut":
        """images: by position, at least the typical ones."""
        clusters = [
            ClusterOut(
                **{name: value for name, value in one.items() if name != "images"},
                index=index,
                images=[ShownImage.of(images[position]) for position in one["images"]],
            )
            for index, one in enumerate(clustering.clusters)
        ]
        return cls(**_summary(clustering), labels=clustering.labels, clusters=clusters)
