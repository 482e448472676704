"""Tables of trained models and their embeddings."""

from typing import Any
from uuid import UUID

from pgvector.sqlalchemy import VECTOR
from sqlalchemy import (
    ARRAY,
    REAL,
    CheckConstraint,
    ColumnElement,
    ForeignKey,
    SmallInteger,
    String,
    UniqueConstraint,
    func,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database import Base, Identified


class Model(Identified, Base):
    """A trained version of a campaign's model; versions count from 1."""

    __tablename__ = "model"
    __table_args__ = (UniqueConstraint("campaign_id", "version"), UniqueConstraint("job_id"))

    campaign_id: Mapped[UUID] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"))
    # A job publishes at most one model: the second safeguard after the job's epoch.
    job_id: Mapped[UUID] = mapped_column(ForeignKey("job.id", ondelete="CASCADE"))
    version: Mapped[int]
    round_number: Mapped[int]
    strategy: Mapped[str] = mapped_column(String(40))
    settings: Mapped[dict[str, Any]] = mapped_column(JSONB)
    metrics: Mapped[dict[str, Any]] = mapped_column(JSONB)
    n_answers: Mapped[int]
    artifact_key: Mapped[str] = mapped_column(String(300))
    # What the strategy says about attributes and annotators; null if nothing.
    insight: Mapped[dict[str, Any] | None] = mapped_column(JSONB)
    # What the next fit needs to know about this one.
    notes: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default="{}")
    # What models of two halves of the answers have in common (app/results/settled.py); null until
    # it is measured.
    settled: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))


def why_enough() -> ColumnElement[str | None]:
    """Select why the campaign may end with a model, by what it learned or by how settled its
    neighbours are; null if it may not."""
    return func.coalesce(Model.settled["enough"].astext, Model.insight["enough"].astext)


class EmbeddedImage(Base):
    """The position of an image in a model: the learned vector, and (x, y) on the 2-D map."""

    __tablename__ = "embedding"

    model_id: Mapped[UUID] = mapped_column(
        ForeignKey("model.id", ondelete="CASCADE"), primary_key=True
    )
    position: Mapped[int] = mapped_column(primary_key=True)
    vector: Mapped[Any] = mapped_column(VECTOR())
    x: Mapped[float]
    y: Mapped[float]


class Clustering(Identified, Base):
    """A clustering of a model's images; `merged_from` is the one it was created from by merging.

    labels, silhouettes: one per image, by position; clusters: by number, each with `name`, `size`,
    `silhouette`, `cohesion`, `words` and `images` (positions of typical ones, the medoid first),
    and `carried_from` (version of the earlier model that the name comes from) if it was carried.
    """

    __tablename__ = "clustering"
    __table_args__ = (
        CheckConstraint("cardinality(labels) = cardinality(silhouettes)", name="images"),
    )

    model_id: Mapped[UUID] = mapped_column(ForeignKey("model.id", ondelete="CASCADE"), index=True)
    merged_from: Mapped[UUID | None] = mapped_column(
        ForeignKey("clustering.id", ondelete="SET NULL"), index=True
    )
    name: Mapped[str] = mapped_column(String(200))
    algorithm: Mapped[str] = mapped_column(String(20))
    parameters: Mapped[dict[str, Any]] = mapped_column(JSONB)
    labels: Mapped[list[int]] = mapped_column(ARRAY(SmallInteger))
    silhouettes: Mapped[list[float]] = mapped_column(ARRAY(REAL))
    clusters: Mapped[list[dict[str, Any]]] = mapped_column(JSONB)
