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
        UPDATE campaign SET settings = settings || '{"algorithm": "paper", "random_share": 0}'
        WHERE strategy = 'crowdster'
        """
    )
    op.execute("UPDATE round SET basis = number - 1")
    op.execute("UPDATE grid SET basis = round.number - 1 FROM round WHERE round.id = grid.round_id")
    op.drop_constraint(op.f("ck_round_state"), "round")
    op.create_check_constraint(
        op.f("ck_round_state"), "round", "state IN ('ready', 'open', 'closed')"
    )
    # A full round used to stay open until its model was there; now nothing would close it.
    op.execute(
        "UPDATE round SET state = 'closed', closed_at = now() "
        "WHERE state = 'open' AND n_answers = n_wanted"
    )


def downgrade() -> None:
    op.execute(
        """
        UPDATE campaign SET
            settings = (settings - 'algorithm' - 'start_from' - 'random_share' - 'focus_images')
                || jsonb_build_object('n_dimensions',
                    GREATEST(2, COALESCE((settings ->> 'n_dimensions')::int, 3)))
        WHERE strategy = 'crowdster'
        """
    )
    _leave_one_round_open()
    op.drop_constraint(op.f("ck_round_state"), "round")
    op.create_check_constraint(op.f("ck_round_state"), "round", "state IN ('open', 'closed')")
    op.drop_column("grid", "basis")
    op.drop_column("round", "basis")
    op.drop_constraint(op.f("ck_campaign_ready_share"), "campaign")
    op.drop_column("campaign", "ready_share")


# The one round of each campaign at work that grids are handed out from before 0003.
_LAST = """
    SELECT DISTINCT ON (round.campaign_id) round.id, round.campaign_id
    FROM round JOIN campaign ON campaign.id = round.campaign_id
    WHERE campaign.state IN ('running', 'paused')
    ORDER BY round.campaign_id, round.number DESC
"""


def _leave_one_round_open() -> None:
    """Rounds as they were before some lay ready: of each campaign at work the last is open, full
    or not, and those before it are closed and full. No grid that anybody has begun is lost."""
    # A round that nobody has begun is made again by the model of the round before.
    op.execute(
        """
        DELETE FROM round WHERE state = 'ready' AND NOT EXISTS (
            SELECT FROM answer JOIN grid ON grid.id = answer.grid_id
            WHERE grid.round_id = round.id)
        """
    )
    # Grids that still want answers go where grids are handed out.
    op.execute(
        f"""
        UPDATE grid SET round_id = moved.round_id, number = moved.number FROM (
            SELECT wanting.id, last.id AS round_id,
                row_number() OVER (
                        PARTITION BY last.id ORDER BY earlier.number, wanting.number)
                    + COALESCE((SELECT max(number) FROM grid AS there
                        WHERE there.round_id = last.id), -1) AS number
            FROM ({_LAST}) AS last
            JOIN round AS earlier
                ON earlier.campaign_id = last.campaign_id AND earlier.id <> last.id
            JOIN grid AS wanting
                ON wanting.round_id = earlier.id AND wanting.n_answers < wanting.wanted
        ) AS moved WHERE grid.id = moved.id
        """
    )
    op.execute(
        f"""
        UPDATE round SET state = 'closed', closed_at = COALESCE(closed_at, now())
        WHERE state = 'ready' OR (
            state = 'open' AND id NOT IN (SELECT id FROM ({_LAST}) AS last)
            AND campaign_id IN (SELECT campaign_id FROM ({_LAST}) AS last))
        """
    )
    op.execute(
        f"""
        UPDATE round SET state = 'open', closed_at = NULL
        WHERE id IN (SELECT id FROM ({_LAST}) AS last)
        """
    )
    # A round counts the grids it has; more were to come for one of which only a part lay ready.
    op.execute(
        f"""
        UPDATE round SET n_wanted = counted.wanted, n_answers = counted.answers FROM (
            SELECT one.id, COALESCE(sum(grid.wanted), 0) AS wanted,
                COALESCE(sum(grid.n_answers), 0) AS answers
            FROM ({_LAST}) AS last JOIN round AS one ON one.campaign_id = last.campaign_id
            LEFT JOIN grid ON grid.round_id = one.id
            GROUP BY one.id
        ) AS counted WHERE round.id = counted.id
        """
    )
