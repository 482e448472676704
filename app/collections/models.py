"""Tables of collections."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    REAL,
    BigInteger,
    CheckConstraint,
    ForeignKey,
    Identity,
    Index,
    String,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database import Base, Identified
from app.core.leased import Leased


class Collection(Identified, Base):
    """A set of images. Their positions are 0..n_images-1, without gaps."""

    __tablename__ = "collection"
    __table_args__ = (CheckConstraint("n_images >= 0", name="n_images"),)

    owner_id: Mapped[UUID] = mapped_column(ForeignKey("account.id"), index=True)
    name: Mapped[str] = mapped_column(String(200))
    n_images: Mapped[int] = mapped_column(default=0)


class Image(Identified, Base):
    """One image, identified by the SHA-256 of the uploaded file."""

    __tablename__ = "image"
    __table_args__ = (
        # The constraint is deferrable, because positions are renumbered in one statement and
        # collide in the middle of it.
        UniqueConstraint("collection_id", "position", deferrable=True, initially="IMMEDIATE"),
        UniqueConstraint("collection_id", "sha256"),
        CheckConstraint("position >= 0", name="position"),
        Index("ix_image_collection_id_filename", "collection_id", "filename"),
    )

    collection_id: Mapped[UUID] = mapped_column(ForeignKey("collection.id", ondelete="CASCADE"))
    position: Mapped[int]
    sha256: Mapped[str] = mapped_column(String(64))
    filename: Mapped[str] = mapped_column(String(500))
    width: Mapped[int]
    height: Mapped[int]
    attributes: Mapped[dict[str, Any]] = mapped_column(JSONB, default=dict)
    features: Mapped[list[float] | None] = mapped_column(ARRAY(REAL))


class CollectionImport(Leased, Base):
    """An import: a worker fetches images from addresses or from object storage.

    kind:   `manifest` (a CSV or JSON Lines list of addresses), `prefix` (all objects below one) or
    `copy` (of images of another collection)
    source: name of the list, the prefix, or the name of the other collection
    n_rows: null until the objects below a prefix have been listed
    n_done: rows processed; written together with their images, so that the next worker continues
    after them
    attempts: claims since rows were last processed
    """

    NOUN = "import"
    __tablename__ = "collection_import"
    __table_args__ = (
        CheckConstraint("kind IN ('manifest', 'prefix', 'copy')", name="kind"),
        CheckConstraint(
            "state IN ('queued', 'running', 'done', 'failed', 'cancelled')", name="state"
        ),
        Index(
            "ix_collection_import_active_state",
            "state",
            postgresql_where=text("state IN ('queued', 'running')"),
        ),
    )

    collection_id: Mapped[UUID] = mapped_column(
        ForeignKey("collection.id", ondelete="CASCADE"), index=True
    )
    kind: Mapped[str] = mapped_column(String(10))
    source: Mapped[str] = mapped_column(String(1000))
    state: Mapped[str] = mapped_column(String(20), default="queued")
    n_rows: Mapped[int | None]
    n_done: Mapped[int] = mapped_column(default=0)
    n_added: Mapped[int] = mapped_column(default=0)
    n_duplicates: Mapped[int] = mapped_column(default=0)
    n_rejected: Mapped[int] = mapped_column(default=0)
    attempts: Mapped[int] = mapped_column(default=0)
    epoch: Mapped[int] = mapped_column(default=0)
    lease_until: Mapped[datetime | None]
    error: Mapped[str | None] = mapped_column(Text)
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]


class ImportProblem(Base):
    """A row of an import that could not be used; `row` is its line in the list, from 1."""

    __tablename__ = "import_problem"

    import_id: Mapped[UUID] = mapped_column(
        ForeignKey("collection_import.id", ondelete="CASCADE"), primary_key=True
    )
    row: Mapped[int] = mapped_column(primary_key=True)
    address: Mapped[str] = mapped_column(Text)
    code: Mapped[str] = mapped_column(String(50))
    reason: Mapped[str] = mapped_column(Text)


class Discard(Base):
    """Objects in storage that nothing refers to any more, to be removed after the commit.

    If `collection_id` and `sha256` are set, they are removed only if no image of the collection has
    this content by then. `refused` says why they could not be removed although storage responds; it
    is not tried again.
    """

    __tablename__ = "discard"

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    prefix: Mapped[str] = mapped_column(String(300))
    collection_id: Mapped[UUID | None]
    sha256: Mapped[str | None] = mapped_column(String(64))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    refused: Mapped[str | None] = mapped_column(Text)
