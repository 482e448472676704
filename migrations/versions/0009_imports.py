"""Imports from lists and object storage, images that can be deleted.

Revision ID: 0009
Revises: 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _positions(deferrable=True)
    op.create_index("ix_image_collection_id_filename", "image", ["collection_id", "filename"])
    op.create_table(
        "collection_import",
        sa.Column("collection_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("source", sa.String(1000), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("n_rows", sa.Integer()),
        sa.Column("n_done", sa.Integer(), nullable=False),
        sa.Column("n_added", sa.Integer(), nullable=False),
        sa.Column("n_duplicates", sa.Integer(), nullable=False),
        sa.Column("n_rejected", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True)),
        sa.Column("error", sa.Text()),
        sa.Column("started_at", sa.DateTime(timezone=True)),
        sa.Column("finished_at", sa.DateTime(timezone=True)),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False
        ),
        sa.CheckConstraint(
            "kind IN ('manifest', 'prefix')", name=op.f("ck_collection_import_kind")
        ),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'done', 'failed', 'cancelled')",
            name=op.f("ck_collection_import_state"),
        ),
        sa.ForeignKeyConstraint(
            ["collection_id"],
            ["collection.id"],
            name=op.f("fk_collection_import_collection_id_collection"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_collection_import")),
    )
    op.create_index(
        op.f("ix_collection_import_collection_id"), "collection_import", ["collection_id"]
    )
    op.create_index(
        "ix_collection_import_active_state",
        "collection_import",
        ["state"],
        postgresql_where=sa.text("state IN ('queued', 'running')"),
    )
    op.create_table(
        "import_problem",
        sa.Column("import_id", sa.Uuid(), nullable=False),
        sa.Column("row", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("code", sa.String(50), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["import_id"],
            ["collection_import.id"],
            name=op.f("fk_import_problem_import_id_collection_import"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("import_id", "row", name=op.f("pk_import_problem")),
    )
    op.create_table(
        "discard",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("prefix", sa.String(300), nullable=False),
        sa.Column("collection_id", sa.Uuid()),
        sa.Column("sha256", sa.String(64)),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_discard")),
    )


def _positions(*, deferrable: bool) -> None:
    """Positions are unique in a collection; deferrable, so that they can close up."""
    name = op.f("uq_image_collection_id_position")
    op.drop_constraint(name, "image", type_="unique")
    op.create_unique_constraint(
        name,
        "image",
        ["collection_id", "position"],
        deferrable=deferrable or None,
        initially="IMMEDIATE" if deferrable else None,
    )


def downgrade() -> None:
    op.drop_table("discard")
    op.drop_table("import_problem")
    op.drop_table("collection_import")
    op.drop_index("ix_image_collection_id_filename", "image")
    _positions(deferrable=False)
