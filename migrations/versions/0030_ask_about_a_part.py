"""Campaigns that ask about a part of their images.

Revision ID: 0030
Revises: 0029
"""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

# Row-level security (0012): rows that may be seen, and those that may be changed.
POLICY = "campaign_id IN (SELECT likewise_campaigns({change}))"


def upgrade() -> None:
    op.add_column(
        "campaign", sa.Column("ask_about", sa.Integer(), server_default="0", nullable=False)
    )
    op.add_column(
        "campaign", sa.Column("ask_by", sa.String(100), server_default="", nullable=False)
    )
    op.create_check_constraint(op.f("ck_campaign_ask_about"), "campaign", "ask_about >= 0")
    op.create_table(
        "asked_image",
        sa.Column(
            "campaign_id",
            sa.Uuid(),
            sa.ForeignKey("campaign.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("position", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("origin", sa.String(10), nullable=False),
        sa.CheckConstraint("position >= 0", name=op.f("ck_asked_image_position")),
        sa.CheckConstraint("origin IN ('chosen', 'added')", name=op.f("ck_asked_image_origin")),
    )
    seen, change = (POLICY.format(change=which) for which in ("false", "true"))
    op.execute(f"CREATE POLICY seen ON asked_image FOR SELECT USING ({seen})")
    op.execute(f"CREATE POLICY added ON asked_image FOR INSERT WITH CHECK ({change})")
    op.execute(f"CREATE POLICY changed ON asked_image FOR UPDATE USING ({change})")
    op.execute(f"CREATE POLICY removed ON asked_image FOR DELETE USING ({change})")
    op.execute("ALTER TABLE asked_image ENABLE ROW LEVEL SECURITY")


def downgrade() -> None:
    """Campaigns then ask about all their images, because the release before knows no part. Those
    whose images are still being chosen are drafts again."""
    op.execute(
        "UPDATE campaign SET state = 'draft', n_images = 0, started_at = NULL "
        "WHERE ask_about > 0 AND NOT EXISTS "
        "(SELECT 1 FROM asked_image WHERE campaign_id = campaign.id) AND NOT EXISTS "
        "(SELECT 1 FROM round WHERE campaign_id = campaign.id AND number > 0)"
    )
    op.execute("DELETE FROM outbox WHERE job_id IN (SELECT id FROM job WHERE kind = 'choose')")
    op.execute("DELETE FROM job WHERE kind = 'choose'")
    op.drop_table("asked_image")
    op.drop_constraint(op.f("ck_campaign_ask_about"), "campaign", type_="check")
    op.drop_column("campaign", "ask_by")
    op.drop_column("campaign", "ask_about")
