"""Bodies of the API of alignments."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, Field

from app.alignments.placing import MOST_NEIGHBOURS, MOST_VECTORS, AssignedCluster, Near, Placed
from app.alignments.service import MOST_AT_ONCE, NamedAlignment
from app.collections.media import image_url
from app.features.models import OF_TABLE, UPLOADED, FeatureSet
from app.features.set_schemas import SourceOut
from app.features.sources import LONGEST_NAME, TABLE, get_source, titles

Neighbours = Annotated[int, Field(ge=1, le=MOST_NEIGHBOURS, description="Number of neighbours.")]


class ScoreOut(BaseModel):
    """How well held-out pairs are predicted. `auc`: 0.5 is chance; `error`: its standard deviation
    over repeats; `accuracy` with the threshold of the training pairs; `majority`: accuracy of
    always predicting the more frequent answer."""

    auc: float
    accuracy: float
    majority: float
    n_pairs: int
    error: float


class PeopleOut(BaseModel):
    """How well half of the annotators predict the others' answers about the same pairs."""

    auc: float
    n_pairs: int


class AttributeFiguresOut(BaseModel):
    """Scores for held-out answers about one attribute. `low`, `high`: the annotators' words."""

    attribute: int
    low: list[str]
    high: list[str]
    raw: ScoreOut | None
    aligned: ScoreOut | None


class FiguresOut(BaseModel):
    """Scores for held-out grids of held-out images, null with too few pairs. `raw`: by distances
    of the scaled features; `aligned`: by the learned alignment; `used_share`: of the repeats in
    which the features were used; `explained`: share of the variance of held-out images, for each
    column of the space; `gain`: in log likelihood over chance, in nats per pair; `gain_error`: its
    standard error; `campaign`: by the campaign's own model, for images that it was shown;
    `people`: null if too few pairs were answered by several people."""

    raw: ScoreOut | None
    aligned: ScoreOut | None
    used_share: float
    by_attribute: list[AttributeFiguresOut]
    explained: list[float]
    gain: float
    gain_error: float
    campaign: ScoreOut | None
    people: PeopleOut | None


# How the title of features from a file begins.
UPLOADED_FILE = "uploaded: "


class AlignmentOut(BaseModel):
    """A feature set aligned with a campaign's answers. `state`: `queued`, `running`, `done` or
    `failed`; `waits_for_features` while the server still computes them. `usable`: it can be
    downloaded, also while it is learned again. `used`: whether the features predict what
    annotators put together; otherwise images cannot be placed. `takes_images`: whether the server
    computes the features of new images. `figures` are those of `n_answers` answers and model
    `model_version`."""

    id: UUID
    set_id: UUID
    features: str
    title: str
    n_features: int | None
    state: str
    progress: float
    waits_for_features: bool
    error: str | None
    usable: bool
    used: bool | None
    takes_images: bool
    n_answers: int
    n_images: int
    model_version: int | None
    figures: FiguresOut | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None

    @classmethod
    def of(cls, named: NamedAlignment) -> "AlignmentOut":
        alignment, feature_set = named.alignment, named.feature_set
        own = set(cls.model_fields) & set(type(alignment).__table__.columns.keys())
        is_computed = feature_set.kind not in (UPLOADED, OF_TABLE)
        return cls(
            **{name: getattr(alignment, name) for name in own},
            features=feature_set.name,
            title=_title(feature_set),
            n_features=feature_set.n_features,
            waits_for_features=alignment.state == "queued"
            and is_computed
            and feature_set.state in ("queued", "running"),
            usable=bool(alignment.key),
            takes_images=is_computed and _encodes(feature_set.kind),
        )


def _title(feature_set: FeatureSet) -> str:
    if feature_set.kind == UPLOADED:
        return f"{UPLOADED_FILE}{feature_set.file}"
    return titles().get(TABLE if feature_set.kind == OF_TABLE else feature_set.kind, "")


def _encodes(kind: str) -> bool:
    try:
        return get_source(kind).encode is not None
    except ValueError:
        # This server no longer has the source.
        return False


class AlignableOut(BaseModel):
    """Features that can be aligned: a feature set of the collection, or a source that the server
    computes. `n_known` of `n_images` images have a row."""

    name: str
    title: str
    n_known: int


class AlignmentsOut(BaseModel):
    """The alignments of a campaign, and features that are not aligned yet. `reason`: why nothing
    can be aligned, null if that is possible."""

    items: list[AlignmentOut]
    next: str | None = None
    others: list[AlignableOut]
    n_images: int
    reason: str | None

    @classmethod
    def of_campaign(
        cls,
        items: list[NamedAlignment],
        sets: list[FeatureSet],
        sources: list[SourceOut],
        n_images: int,
        reason: str | None,
    ) -> "AlignmentsOut":
        aligned = {named.feature_set.id for named in items}
        others = [
            AlignableOut(name=each.name, title=_title(each), n_known=each.n_known)
            for each in sets
            if each.id not in aligned
        ]
        names = {each.name for each in sets}
        others += [
            AlignableOut(name=source.name, title=source.title, n_known=0)
            for source in sources
            if source.name not in names
        ]
        return cls(
            items=[AlignmentOut.of(named) for named in items],
            others=others,
            n_images=n_images,
            reason=reason,
        )


class AlignIn(BaseModel):
    """Names of feature sets of the collection, or of sources."""

    features: list[Annotated[str, Field(max_length=LONGEST_NAME)]] = Field(
        min_length=1, max_length=MOST_AT_ONCE, examples=[["clip", "objects"]]
    )


class VectorsIn(BaseModel):
    """Vectors of new images, as the rows of the feature set were uploaded."""

    vectors: list[list[float]] = Field(min_length=1, max_length=MOST_VECTORS)
    k: Neighbours = 10


class PlacedNeighbourOut(BaseModel):
    """An image of the collection. `distance` in the campaign's space, and its standard `deviation`;
    `probability` that a typical annotator puts the two together, null if the image has no
    features; `asked`: whether answers are about it; otherwise its own place is predicted, too."""

    image: int
    filename: str
    sha256: str
    url: str
    large_url: str
    distance: float
    deviation: float
    probability: float | None
    asked: bool

    @classmethod
    def of(cls, near: Near) -> "PlacedNeighbourOut":
        image = near.image
        return cls(
            image=image.position,
            filename=image.filename,
            sha256=image.sha256,
            url=image_url(image),
            large_url=image_url(image, "large"),
            **{name: value for name, value in vars(near).items() if name != "image"},
        )


class PlacedAttributeOut(BaseModel):
    """The columns of the place that belong to one attribute. `low`, `high`: the annotators'
    words."""

    attribute: int
    low: list[str]
    high: list[str]
    position: list[float]
    deviation: list[float]

    @classmethod
    def of(cls, attribute: dict[str, Any], placed: Placed) -> "PlacedAttributeOut":
        columns = attribute["columns"]
        return cls(
            attribute=attribute["index"],
            low=attribute["low"],
            high=attribute["high"],
            position=placed.position[columns].tolist(),
            deviation=placed.deviation[columns].tolist(),
        )


class PlacedClusterOut(BaseModel):
    """The cluster of most of the ten nearest images, in the newest clustering of the model;
    `share`: of those that are in it."""

    clustering_id: UUID
    cluster: int
    name: str
    share: float

    @classmethod
    def of(cls, cluster: AssignedCluster) -> "PlacedClusterOut":
        return cls(
            clustering_id=cluster.clustering.id,
            cluster=cluster.number,
            name=cluster.name,
            share=cluster.share,
        )


class PlaceOut(BaseModel):
    """A new image. `position` in the campaign's space, with standard deviations; `x`, `y` on its
    map; `name`: of the file, or the number of the vector."""

    name: str
    position: list[float]
    deviation: list[float]
    x: float
    y: float
    attributes: list[PlacedAttributeOut]
    cluster: PlacedClusterOut | None
    neighbours: list[PlacedNeighbourOut]

    @classmethod
    def of(cls, placed: Placed) -> "PlaceOut":
        x, y = placed.map_position
        return cls(
            name=placed.name,
            position=placed.position.tolist(),
            deviation=placed.deviation.tolist(),
            x=x,
            y=y,
            attributes=[PlacedAttributeOut.of(each, placed) for each in placed.attributes],
            cluster=None if placed.cluster is None else PlacedClusterOut.of(placed.cluster),
            neighbours=[PlacedNeighbourOut.of(near) for near in placed.neighbours],
        )


class PlacesOut(BaseModel):
    """Places of new images, in the order of the request. They are in the space of model
    `model_version`."""

    model_version: int
    items: list[PlaceOut]
