"""Alignments of feature sets with a campaign's answers.

Revision ID: 0029
Revises: 0028
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

TABLE = "feature_alignment"
# Row-level security (0012): rows that may be seen, and those that may be changed.
SEEN, CHANGE = (
    f"campaign_id IN (SELECT likewise_campaigns({change}))" for change in ("false", "true")
)


def upgrade() -> None:
    op.create_table(
        TABLE,
        sa.Column("id", sa.Uuid(), primary_key=True),
        _time("created_at", server_default=sa.func.now(), nullable=False),
        _parent("campaign_id", "campaign.id"),
        _parent("set_id", "feature_set.id"),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("progress", sa.Float(), server_default="0", nullable=False),
        *(_count(name) for name in ("attempts", "epoch", "n_answers", "n_images")),
        sa.Column("model_version", sa.Integer()),
        sa.Column("used", sa.Boolean()),
        sa.Column("figures", JSONB()),
        sa.Column("key", sa.String(300), server_default="", nullable=False),
        sa.Column("sha256", sa.String(64), server_default="", nullable=False),
        _time("lease_until"),
        sa.Column("error", sa.Text()),
        _time("started_at"),
        _time("finished_at"),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'done', 'failed')",
            name=op.f("ck_feature_alignment_state"),
        ),
        sa.UniqueConstraint("campaign_id", "set_id", name="uq_feature_alignment_campaign_id"),
    )
    op.create_index("ix_feature_alignment_set_id", TABLE, ["set_id"])
    op.create_index(
        "ix_feature_alignment_active_state",
        TABLE,
        ["state"],
        postgresql_where=sa.text("state IN ('queued', 'running')"),
    )
    op.execute(f"CREATE POLICY seen ON {TABLE} FOR SELECT USING ({SEEN})")
    op.execute(f"CREATE POLICY added ON {TABLE} FOR INSERT WITH CHECK ({CHANGE})")
    op.execute(f"CREATE POLICY changed ON {TABLE} FOR UPDATE USING ({CHANGE})")
    op.execute(f"CREATE POLICY removed ON {TABLE} FOR DELETE USING ({CHANGE})")
    op.execute(f"ALTER TABLE {TABLE} ENABLE ROW LEVEL SECURITY")


def downgrade() -> None:
    """Alignments are lost, and can be learned again. Their objects stay in storage until their
    feature set or collection is deleted."""
    op.drop_table(TABLE)


def _parent(name: str, key: str) -> sa.Column[object]:
    return sa.Column(name, sa.Uuid(), sa.ForeignKey(key, ondelete="CASCADE"), nullable=False)


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), server_default="0", nullable=False)


def _time(name: str, **options: object) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), **options)  # type: ignore[arg-type]
