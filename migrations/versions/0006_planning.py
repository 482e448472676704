"""Planning: dry runs, assumptions about prices, budgets that change, archived campaigns.

Revision ID: 0006
Revises: 0005
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "campaign", sa.Column("plan", postgresql.JSONB(), nullable=False, server_default="{}")
    )
    op.add_column(
        "campaign",
        sa.Column("laid_out", sa.ARRAY(sa.Integer()), nullable=False, server_default="{}"),
    )
    op.add_column("campaign", sa.Column("archived_at", sa.DateTime(timezone=True)))
    op.create_table(
        "dry_run",
        sa.Column("campaign_id", sa.Uuid(), nullable=False),
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("asked", postgresql.JSONB(), nullable=False),
        sa.Column("ends", postgresql.JSONB(), nullable=False, server_default="[]"),
        sa.Column("rounds", postgresql.JSONB(), nullable=False, server_default="[]"),
        sa.Column("picture", postgresql.JSONB()),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id"],
            ["campaign.id"],
            name=op.f("fk_dry_run_campaign_id_campaign"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["job_id"], ["job.id"], name=op.f("fk_dry_run_job_id_job"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dry_run")),
        sa.UniqueConstraint("job_id", name=op.f("uq_dry_run_job_id")),
    )
    op.create_index(op.f("ix_dry_run_campaign_id"), "dry_run", ["campaign_id"])


def downgrade() -> None:
    op.drop_table("dry_run")
    # Jobs that older code would take for learning jobs.
    op.execute("DELETE FROM job WHERE kind = 'dry_run'")
    for column in ("archived_at", "laid_out", "plan"):
        op.drop_column("campaign", column)
