"""Bodies of the API of strips, evidence, comparison and clusterings."""

from datetime import datetime
from typing import Annotated, Literal, Protocol, Self
from uuid import UUID

from pydantic import BaseModel, Field

from app.collections.media import image_url
from app.collections.models import Image
from app.core.fields import StrictInt
from app.results.clusterings import MOST_NAME, mean_silhouette
from app.results.comparing import ComparedModels, MatchedBy
from app.results.evidence import Evidence
from app.results.models import Clustering
from app.results.strips import Axis
from learning.clusters import MOST_CLUSTERS, Suggestion
from learning.comparison import Figure

ClusterName = Annotated[str, Field(max_length=MOST_NAME)]
Algorithm = Literal["k-means", "ward", "average"]


class RowOfImage(Protocol):
    @property
    def image(self) -> Image: ...


class ShownImage(BaseModel):
    image: int
    url: str
    large_url: str
    filename: str

    @classmethod
    def of(cls, image: Image) -> "ShownImage":
        return cls(**_shown(image))

    @classmethod
    def of_row(cls, row: RowOfImage, **others: object) -> Self:
        """Return an image with the fields of a row of results about it. others: fields that
        replace the row's or that it does not have."""
        fields = {name: value for name, value in vars(row).items() if name != "image"}
        return cls(**{**_shown(row.image), **fields, **others})


def _shown(image: Image) -> dict[str, object]:
    return {
        "image": image.position,
        "url": image_url(image),
        "large_url": image_url(image, "large"),
        "filename": image.filename,
    }


class PlacedImage(ShownImage):
    """An image on an axis; `place` is its coordinate."""

    place: float


class AxisOut(BaseModel):
    """An axis of the embedding: an ordered `attribute`, or a `direction` if the strategy learns no
    attributes.

    `share`: of the answers about the attribute, or of the variance along the direction; `low`,
    `middle`, `high`: the annotators' words; `counts`: number of images in equal intervals between
    `ends`; `images`: evenly spaced by rank, the lowest first.
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
        fields = {name: value for name, value in vars(axis).items() if name != "images"}
        placed = [PlacedImage(**_shown(image), place=place) for image, place in axis.images]
        return cls(**fields, images=placed)


class SharedAnswerOut(BaseModel):
    """An answer that showed both images. `words` describe the group of each image, or are the vote
    on it; they are blank for a group without description and for a leftover."""

    id: UUID
    round: int
    annotator: int
    submitted_at: datetime
    verdict: Literal["together", "apart"]
    words: tuple[str, str]


class PairEvidenceOut(BaseModel):
    """Answers that showed both images: all are counted, the newest are listed."""

    image: ShownImage
    other: ShownImage
    together: int
    apart: int
    annotators: int
    answers: list[SharedAnswerOut]

    @classmethod
    def of(cls, evidence: Evidence) -> "PairEvidenceOut":
        image, other = (ShownImage.of(shown) for shown in evidence.images)
        answers = [
            SharedAnswerOut(
                id=answer.id,
                round=answer.round_number,
                annotator=answer.annotator,
                submitted_at=answer.submitted_at,
                verdict=answer.verdict,
                words=answer.words,
            )
            for answer in evidence.answers
        ]
        return cls(image=image, other=other, answers=answers, **vars(evidence.counts))


class FigureOut(BaseModel):
    """A measure: `value` ± `error` (standard error), and `chance` ± `chance_error` for unrelated
    embeddings."""

    value: float
    error: float
    chance: float
    chance_error: float

    @classmethod
    def of(cls, figure: Figure) -> "FigureOut":
        return cls(**vars(figure))


class ComparedPoint(BaseModel):
    """Positions on one map: (`x`, `y`) in this model and (`other_x`, `other_y`) in the other, after
    alignment. `moved` is the distance between the two in all dimensions, in units of the usual
    distance from the centre."""

    image: int
    url: str
    filename: str
    x: float
    y: float
    other_x: float
    other_y: float
    moved: float


class ComparisonOut(BaseModel):
    """A comparison of two models. `disparity`: the difference left after rotation, scaling and
    translation (Procrustes; 0 is the same shape); `overlap`: share of the `k` nearest neighbours in
    common; `rank_correlation`: of distances; `points`: those that moved most come first, and only
    some of many images are listed."""

    n_images: int
    matched_by: MatchedBy
    k: int
    disparity: FigureOut
    overlap: FigureOut
    rank_correlation: FigureOut
    points: list[ComparedPoint]

    @classmethod
    def of(cls, compared: ComparedModels) -> "ComparisonOut":
        comparison = compared.comparison
        return cls(
            n_images=compared.n_images,
            matched_by=compared.matched_by,
            k=comparison.k,
            disparity=FigureOut.of(comparison.disparity),
            overlap=FigureOut.of(comparison.overlap),
            rank_correlation=FigureOut.of(comparison.rank_correlation),
            points=[
                ComparedPoint(
                    image=point.image.position,
                    url=image_url(point.image),
                    filename=point.image.filename,
                    x=point.place[0],
                    y=point.place[1],
                    other_x=point.other_place[0],
                    other_y=point.other_place[1],
                    moved=point.moved,
                )
                for point in compared.images
            ],
        )


class SuggestionOut(BaseModel):
    """A suggestion: `n_clusters` has the largest mean `silhouette` among the numbers `tried`."""

    n_clusters: int
    tried: list[int]
    silhouette: list[float]

    @classmethod
    def of(cls, suggestion: Suggestion) -> "SuggestionOut":
        return cls(**vars(suggestion))


class ClusteringIn(BaseModel, extra="forbid"):
    algorithm: Algorithm = "k-means"
    n_clusters: StrictInt = Field(ge=2, le=MOST_CLUSTERS)
    name: ClusterName = ""


class MergeIn(BaseModel, extra="forbid"):
    """Numbers of the clusters to merge, and the name of the result (by default their names,
    joined)."""

    clusters: list[StrictInt] = Field(max_length=MOST_CLUSTERS)
    name: ClusterName = ""


class RenameIn(BaseModel, extra="forbid"):
    """New names. `names` has those of clusters, by number; a blank one removes the name."""

    name: ClusterName | None = None
    names: dict[int, ClusterName] = {}


class ClusteringSummary(BaseModel):
    """A clustering. `silhouette`: mean over all images; `merged_from`: the clustering it was merged
    from; `algorithm`: "model" for the clusters that the model itself learned, "selection" for those
    that a requester selected on the map."""

    id: UUID
    name: str
    algorithm: Algorithm | Literal["model", "selection"]
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
    """A cluster. `silhouette`: mean of its images; `cohesion`: mean distance of its images from its
    centre; `words`: the annotators' descriptions of groups of its images; `images`: typical ones,
    the medoid first; `carried_from`: the version of the model whose corresponding cluster was given
    this name, null if the name was given here."""

    index: int
    name: str
    size: int
    silhouette: float
    cohesion: float
    words: list[str]
    images: list[ShownImage]
    carried_from: int | None = None


class ClusteringOut(ClusteringSummary):
    """A clustering with `labels`: the cluster of every image, by position."""

    labels: list[int]
    clusters: list[ClusterOut]

    @classmethod
    def whole(cls, clustering: Clustering, images: dict[int, Image]) -> "ClusteringOut":
        """Build the body; `images` holds at least the typical images, by position."""
        clusters = [
            ClusterOut(
                **{name: value for name, value in cluster.items() if name != "images"},
                index=index,
                images=[ShownImage.of(images[position]) for position in cluster["images"]],
            )
            for index, cluster in enumerate(clustering.clusters)
        ]
        return cls(**_summary(clustering), labels=clustering.labels, clusters=clusters)
