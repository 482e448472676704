"""Clusterings of a model, reasons for decisions about annotators, answers found by image.

Revision ID: 0007
Revises: 0006
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "clustering",
        sa.Column("model_id", sa.Uuid(), nullable=False),
        sa.Column("merged_from", sa.Uuid()),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("algorithm", sa.String(20), nullable=False),
        sa.Column("parameters", postgresql.JSONB(), nullable=False),
        sa.Column("labels", sa.ARRAY(sa.SmallInteger()), nullable=False),
        sa.Column("silhouettes", sa.ARRAY(sa.REAL()), nullable=False),
        sa.Column("clusters", postgresql.JSONB(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False
        ),
        sa.CheckConstraint(
            "cardinality(labels) = cardinality(silhouettes)", name=op.f("ck_clustering_images")
        ),
        sa.ForeignKeyConstraint(
            ["model_id"],
            ["model.id"],
            name=op.f("fk_clustering_model_id_model"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["merged_from"],
            ["clustering.id"],
            name=op.f("fk_clustering_merged_from_clustering"),
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_clustering")),
    )
    op.create_index(op.f("ix_clustering_model_id"), "clustering", ["model_id"])
    op.create_index(op.f("ix_clustering_merged_from"), "clustering", ["merged_from"])
    op.add_column(
        "annotator", sa.Column("decision_reason", sa.Text(), nullable=False, server_default="")
    )
    # Which answers saw an image: the evidence for its neighbours.
    op.create_index("ix_grid_images", "grid", ["images"], postgresql_using="gin")


def downgrade() -> None:
    op.drop_index("ix_grid_images", "grid")
    op.drop_column("annotator", "decision_reason")
    op.drop_table("clustering")
