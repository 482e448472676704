"""Questionnaires before and after the grids, with versions, and people who are screened out.

Revision ID: 0025
Revises: 0024
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

# The wall between requesters (0012): rows that may be seen, and those that may be changed.
WALL = {
    "questionnaire": "campaign_id IN (SELECT likewise_campaigns({change}))",
    "questionnaire_reply": (
        "questionnaire_id IN (SELECT id FROM questionnaire "
        "WHERE campaign_id IN (SELECT likewise_campaigns({change})))"
    ),
}
STATES = "state IN ('open', 'completed', 'returned'{more})"


def upgrade() -> None:
    _create_tables()
    for name in ("answered_before", "answered_after"):
        op.add_column("annotator", sa.Column(name, sa.String(64)))
    op.add_column("annotator", _time("screened_out_at"))
    op.add_column("assignment", _time("grids_over_at"))
    _limit_states(", 'screened_out'")
    for table, condition in WALL.items():
        seen, change = (condition.format(change=which) for which in ("false", "true"))
        op.execute(f"CREATE POLICY seen ON {table} FOR SELECT USING ({seen})")
        op.execute(f"CREATE POLICY added ON {table} FOR INSERT WITH CHECK ({change})")
        op.execute(f"CREATE POLICY changed ON {table} FOR UPDATE USING ({change})")
        op.execute(f"CREATE POLICY removed ON {table} FOR DELETE USING ({change})")
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")


def _create_tables() -> None:
    op.create_table(
        "questionnaire",
        sa.Column("id", sa.Uuid(), primary_key=True),
        _time("created_at", server_default=sa.func.now(), nullable=False),
        sa.Column(
            "campaign_id",
            sa.Uuid(),
            sa.ForeignKey("campaign.id", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("place", sa.String(10), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("questions", JSONB(), nullable=False),
        sa.CheckConstraint("place IN ('before', 'after')", name=op.f("ck_questionnaire_place")),
        sa.UniqueConstraint("campaign_id", "place", "version"),
        sa.UniqueConstraint("campaign_id", "place", "sha256"),
    )
    op.create_table(
        "questionnaire_reply",
        sa.Column(
            "annotator_id",
            sa.Uuid(),
            sa.ForeignKey("annotator.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column(
            "questionnaire_id",
            sa.Uuid(),
            sa.ForeignKey("questionnaire.id", ondelete="CASCADE"),
            primary_key=True,
            index=True,
        ),
        sa.Column("answers", JSONB(), nullable=False),
        sa.Column("screened_out_by", ARRAY(sa.String(40)), server_default="{}", nullable=False),
        _time("answered_at", nullable=False),
    )


def _limit_states(more: str) -> None:
    op.drop_constraint(op.f("ck_assignment_state"), "assignment", type_="check")
    op.create_check_constraint(op.f("ck_assignment_state"), "assignment", STATES.format(more=more))


def _time(name: str, **options: object) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), **options)  # type: ignore[arg-type]


def downgrade() -> None:
    # The earlier version knows people without grids only as people who have left.
    op.execute("UPDATE assignment SET state = 'returned' WHERE state = 'screened_out'")
    _limit_states("")
    op.drop_column("assignment", "grids_over_at")
    for name in ("screened_out_at", "answered_after", "answered_before"):
        op.drop_column("annotator", name)
    op.drop_table("questionnaire_reply")
    op.drop_table("questionnaire")
