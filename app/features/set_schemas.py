"""What the API says of feature sets."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field

from app.features.models import FeatureSet
from app.features.sources import LONGEST_NAME, TABLE, abouts, source_names, titles
from app.features.uploading import UploadSummary


class FeatureSetOut(BaseModel):
    """A feature set. `kind` is `uploaded`, `table` (columns feature_0, … of the collection's
    table), or the source that computes it. `n_known` of `n_images` images have a row; `n_done`
    includes those that are being encoded. `error` says why it failed or waits."""

    id: UUID
    name: str
    kind: str
    title: str
    file: str
    n_features: int | None
    n_constant: int
    n_known: int
    n_done: int
    n_images: int
    state: str
    error: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None

    @classmethod
    def of(cls, feature_set: FeatureSet, n_images: int) -> "FeatureSetOut":
        names = set(cls.model_fields) - {"title", "n_images"}
        values = {name: getattr(feature_set, name) for name in names}
        title = titles().get(TABLE if feature_set.kind == "table" else feature_set.kind, "")
        return cls(**values, title=title, n_images=n_images)


class SourceOut(BaseModel):
    """A source that the server can compute: see the documentation of features."""

    name: str
    title: str
    about: str


class FeatureSetsOut(BaseModel):
    """The feature sets of a collection, oldest first, and the sources that can be computed."""

    items: list[FeatureSetOut]
    next: str | None = None
    sources: list[SourceOut]


class UploadedSetOut(FeatureSetOut):
    """An uploaded set. `notes` say in sentences what was not used, and which images have no row."""

    notes: list[str]

    @classmethod
    def of_upload(cls, summary: UploadSummary) -> "UploadedSetOut":
        known = FeatureSetOut.of(summary.feature_set, summary.n_images)
        return cls(**known.model_dump(), notes=summary.notes)


class SetName(BaseModel):
    name: str = Field(max_length=2 * LONGEST_NAME)


class ComputeIn(BaseModel):
    source: str = Field(max_length=LONGEST_NAME, examples=["appearance"])


def computed_sources() -> list[SourceOut]:
    """Return the sources of this server that compute features from images."""
    named, described = titles(), abouts()
    return [
        SourceOut(name=name, title=named[name], about=described.get(name, ""))
        for name in source_names()
        if name != TABLE
    ]
