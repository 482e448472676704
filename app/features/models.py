"""Tables of feature sets."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    CheckConstraint,
    ForeignKey,
    Index,
    String,
    Text,
    func,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database import Base
from app.core.leased import Leased

UPLOADED, OF_TABLE = "uploaded", "table"


class FeatureSet(Leased, Base):
    """Named vectors of a collection's images.

    kind:       `uploaded`; `table`, for the columns feature_0, … of the collection's table, which
                are stored with the images; or the source that computes it (app/features/sources.py)
    version:    of the source that computed it
    file:       name of the uploaded file
    n_features: numbers per image as they are stored; null until the first image is encoded
    n_known:    images of the collection that have a row
    n_constant: columns that are the same for all images, if it was uploaded
    n_done:     images that have a row, including those encoded since the last part was stored
    attempts:   claims since a part was last stored
    """

    NOUN = "feature set"
    __tablename__ = "feature_set"
    __table_args__ = (
        CheckConstraint("state IN ('queued', 'running', 'done', 'failed')", name="state"),
        Index("uq_feature_set_name", "collection_id", func.lower(text("name")), unique=True),
        Index(
            "ix_feature_set_active_state",
            "state",
            postgresql_where=text("state IN ('queued', 'running')"),
        ),
    )

    collection_id: Mapped[UUID] = mapped_column(ForeignKey("collection.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(100))
    kind: Mapped[str] = mapped_column(String(50))
    version: Mapped[str] = mapped_column(String(16), default="")
    file: Mapped[str] = mapped_column(String(500), default="")
    n_features: Mapped[int | None]
    n_known: Mapped[int] = mapped_column(default=0)
    n_constant: Mapped[int] = mapped_column(default=0)
    n_done: Mapped[int] = mapped_column(default=0)
    state: Mapped[str] = mapped_column(String(20), default="queued")
    attempts: Mapped[int] = mapped_column(default=0)
    epoch: Mapped[int] = mapped_column(default=0)
    lease_until: Mapped[datetime | None]
    error: Mapped[str | None] = mapped_column(Text)
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]


class FeatureShard(Base):
    """A part of a feature set: one object in storage with the vectors of some images.

    images: their hashes (`Image.sha256`), in the order of the rows. Positions change when images
            are deleted, and hashes do not. Some of the images may have been deleted since.
    sha256: of the object's bytes
    """

    __tablename__ = "feature_shard"

    set_id: Mapped[UUID] = mapped_column(
        ForeignKey("feature_set.id", ondelete="CASCADE"), primary_key=True
    )
    number: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(String(200))
    sha256: Mapped[str] = mapped_column(String(64))
    images: Mapped[list[str]] = mapped_column(ARRAY(String(64)))
