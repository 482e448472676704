"""Answers that are left out are asked again.

Revision ID: 0031
Revises: 0030
"""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

# The checks, by table and name, before and after.
CHECKS = {
    ("campaign", "within_budget"): (
        "n_answers >= 0 AND n_answers <= budget",
        "n_answers >= 0 AND n_reopened >= 0 AND n_answers + n_reopened <= budget",
    ),
    ("grid", "answers"): (
        "n_answers >= 0 AND n_answers <= wanted",
        "n_answers >= 0 AND n_reopened >= 0 AND n_answers + n_reopened <= wanted",
    ),
    ("round", "state"): (
        "state IN ('ready', 'open', 'closed')",
        "state IN ('ready', 'open', 'closed', 'reopened')",
    ),
}
# The places that are still open get their answers back.
WITHDRAW = (
    """
    CREATE TEMPORARY TABLE asked_again ON COMMIT DROP AS
    SELECT id FROM campaign WHERE n_reopened > 0 AND state IN ('running', 'paused')
    """,
    """
    UPDATE answer SET state = 'submitted' FROM grid
    WHERE grid.id = answer.grid_id AND grid.n_reopened > 0
    AND answer.reopened_at IS NOT NULL AND answer.state = 'surplus'
    AND NOT EXISTS (SELECT 1 FROM answer filler WHERE filler.replaces = answer.id)
    """,
    """
    UPDATE round SET n_answers = round.n_answers + reopened.n
    FROM (SELECT round_id, sum(n_reopened) AS n FROM grid GROUP BY round_id) reopened
    WHERE reopened.round_id = round.id
    """,
    "UPDATE round SET state = 'closed', closed_at = now() WHERE state = 'reopened'",
    "UPDATE grid SET n_answers = n_answers + n_reopened, n_reopened = 0 WHERE n_reopened > 0",
    """
    UPDATE campaign SET n_answers = n_answers + n_reopened, n_surplus = n_surplus - n_reopened,
        n_reopened = 0
    WHERE n_reopened > 0
    """,
    """
    UPDATE campaign SET state = 'finished', finished_at = now(), reopened_only = false
    WHERE reopened_only
    """,
    # Nobody will answer a round that is full now, so nothing else would lead to the next one.
    """
    UPDATE round SET state = 'closed', closed_at = now()
    WHERE state = 'open' AND n_answers >= n_wanted AND campaign_id IN (SELECT id FROM asked_again)
    """,
    """
    UPDATE round SET state = 'open' WHERE id IN (
        SELECT DISTINCT ON (campaign_id) id FROM round
        WHERE state = 'ready' AND campaign_id IN (SELECT id FROM asked_again)
        ORDER BY campaign_id, number
    ) AND NOT EXISTS (
        SELECT 1 FROM round other WHERE other.campaign_id = round.campaign_id
        AND other.state = 'open'
    )
    """,
    # Where a model is to come, it makes the next round or ends the campaign. Others can be
    # reopened, which requests one.
    """
    UPDATE campaign SET state = 'finished', finished_at = now()
    WHERE id IN (SELECT id FROM asked_again) AND state IN ('running', 'paused')
    AND NOT EXISTS (
        SELECT 1 FROM round WHERE campaign_id = campaign.id AND state IN ('open', 'ready')
    )
    AND NOT EXISTS (
        SELECT 1 FROM job WHERE campaign_id = campaign.id AND state IN ('queued', 'running')
    )
    """,
)


def upgrade() -> None:
    op.add_column(
        "campaign", sa.Column("n_reopened", sa.Integer(), server_default="0", nullable=False)
    )
    op.add_column(
        "campaign",
        sa.Column("reopened_only", sa.Boolean(), server_default="false", nullable=False),
    )
    op.add_column("grid", sa.Column("n_reopened", sa.Integer(), server_default="0", nullable=False))
    op.add_column("annotator", sa.Column("asked_again_at", sa.DateTime(timezone=True)))
    op.add_column("assignment", sa.Column("left_out_at", sa.DateTime(timezone=True)))
    op.create_index(
        "ix_assignment_left_out",
        "assignment",
        ["id"],
        postgresql_where=sa.text("left_out_at IS NOT NULL"),
    )
    op.add_column("answer", sa.Column("reopened_at", sa.DateTime(timezone=True)))
    op.add_column("answer", sa.Column("replaces", sa.Uuid()))
    op.create_foreign_key(
        op.f("fk_answer_replaces_answer"), "answer", "answer", ["replaces"], ["id"]
    )
    op.create_index(
        "uq_answer_replaces",
        "answer",
        ["replaces"],
        unique=True,
        postgresql_where=sa.text("replaces IS NOT NULL"),
    )
    op.create_index(
        "ix_answer_reopened",
        "answer",
        ["campaign_id", "grid_id"],
        postgresql_where=sa.text("reopened_at IS NOT NULL"),
    )
    _set_checks(1)


def downgrade() -> None:
    """Answers whose places have no new answer yet count again, and campaigns that run only for such
    places are finished again. Annotators stay left out; rejected work is learned from again."""
    for statement in WITHDRAW:
        op.execute(statement)
    _set_checks(0)
    op.drop_index("ix_answer_reopened", table_name="answer")
    op.drop_index("uq_answer_replaces", table_name="answer")
    op.drop_constraint(op.f("fk_answer_replaces_answer"), "answer", type_="foreignkey")
    op.drop_column("answer", "replaces")
    op.drop_column("answer", "reopened_at")
    op.drop_index("ix_assignment_left_out", table_name="assignment")
    op.drop_column("assignment", "left_out_at")
    op.drop_column("annotator", "asked_again_at")
    op.drop_column("grid", "n_reopened")
    op.drop_column("campaign", "reopened_only")
    op.drop_column("campaign", "n_reopened")


def _set_checks(which: int) -> None:
    """`which`: 0 for the checks of the release before, 1 for those of this release."""
    for (table, name), conditions in CHECKS.items():
        constraint = op.f(f"ck_{table}_{name}")
        op.drop_constraint(constraint, table, type_="check")
        op.create_check_constraint(constraint, table, conditions[which])
