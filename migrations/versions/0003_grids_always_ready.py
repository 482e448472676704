"""Rounds that wait ready while the one before is learned.

Revision ID: 0003
Revises: 0002
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "campaign", sa.Column("ready_share", sa.Float(), nullable=False, server_default="1")
    )
    op.create_check_constraint(
        op.f("ck_campaign_ready_share"), "campaign", "ready_share BETWEEN 0 AND 1"
    )
    for table in ("round", "grid"):
        op.add_column(table, sa.Column("basis", sa.Integer(), nullable=False, server_default="0"))
    # Campaigns begun before there was a choice go on as they began.
    op.execute(
        """
        UPDATE campaign SET settings = settings || '{"algorithm": "paper"}'
        WHERE strategy = 'crowdster'
        """
    )
    op.execute("UPDATE round SET basis = number - 1")
    op.execute("UPDATE grid SET basis = round.number - 1 FROM round WHERE round.id = grid.round_id")
    op.drop_constraint(op.f("ck_round_state"), "round")
    op.create_check_constraint(
        op.f("ck_round_state"), "round", "state IN ('ready', 'open', 'closed')"
    )


def downgrade() -> None:
    op.execute(
        """
        UPDATE campaign SET
            settings = (settings - 'algorithm' - 'random_share' - 'focus_images')
                || jsonb_build_object('n_dimensions',
                    COALESCE((settings ->> 'n_dimensions')::int, 3))
        WHERE strategy = 'crowdster'
        """
    )
    # Nobody has begun a ready round; the model of the round before makes it again.
    op.execute("DELETE FROM round WHERE state = 'ready'")
    # A full round used to stay open until its model was there.
    op.execute(
        """
        UPDATE round SET state = 'open', closed_at = NULL WHERE id IN (
            SELECT DISTINCT ON (last.campaign_id) last.id
            FROM round AS last JOIN campaign ON campaign.id = last.campaign_id
            WHERE campaign.state IN ('running', 'paused') AND NOT EXISTS (
                SELECT FROM round AS other
                WHERE other.campaign_id = last.campaign_id AND other.state = 'open')
            ORDER BY last.campaign_id, last.number DESC)
        """
    )
    op.drop_constraint(op.f("ck_round_state"), "round")
    op.create_check_constraint(op.f("ck_round_state"), "round", "state IN ('open', 'closed')")
    op.drop_column("grid", "basis")
    op.drop_column("round", "basis")
    op.drop_constraint(op.f("ck_campaign_ready_share"), "campaign")
    op.drop_column("campaign", "ready_share")
