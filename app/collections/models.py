"""Tables of collections."""

from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, REAL, CheckConstraint, ForeignKey, String, UniqueConstraint
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database import Base, Identified


class Collection(Identified, Base):
    """A set of images; positions run 0..n_images-1 without gaps."""

    __tablename__ = "collection"
    __table_args__ = (CheckConstraint("n_images >= 0", name="n_images"),)

    owner_id: Mapped[UUID] = mapped_column(ForeignKey("account.id"), index=True)
    name: Mapped[str] = mapped_column(String(200))
    n_images: Mapped[int] = mapped_column(default=0)


class Image(Identified, Base):
    """One image, addressed by the SHA-256 of the file that was uploaded."""

    __tablename__ = "image"
    __table_args__ = (
        UniqueConstraint("collection_id", "position"),
        UniqueConstraint("collection_id", "sha256"),
        CheckConstraint("position >= 0", name="position"),
    )

    collection_id: Mapped[UUID] = mapped_column(ForeignKey("collection.id", ondelete="CASCADE"))
    position: Mapped[int]
    sha256: Mapped[str] = mapped_column(String(64))
    filename: Mapped[str] = mapped_column(String(500))
    width: Mapped[int]
    height: Mapped[int]
    attributes: Mapped[dict[str, Any]] = mapped_column(JSONB, default=dict)
    features: Mapped[list[float] | None] = mapped_column(ARRAY(REAL))
