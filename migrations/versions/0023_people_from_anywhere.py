"""What a link's address says of the people who come by it is kept apart from answers.

Revision ID: 0023
Revises: 0022
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

# The wall between requesters (0012): rows that may be seen, and those that may be changed.
WALL = "campaign_id IN (SELECT likewise_campaigns({change}))"
# Settings of links that the release before does not know, and refuses.
SETTINGS = ("parameters", "person", "person_required", "person_form", "returns", "framed_by")


def upgrade() -> None:
    op.create_table(
        "link_parameters",
        _key("assignment_id", "assignment", primary_key=True),
        _key("annotator_id", "annotator", nullable=False, index=True),
        _key("campaign_id", "campaign", nullable=False, index=True),
        sa.Column("values", sa.dialects.postgresql.JSONB(), nullable=False),
    )
    seen, change = (WALL.format(change=which) for which in ("false", "true"))
    op.execute(f"CREATE POLICY seen ON link_parameters FOR SELECT USING ({seen})")
    op.execute(f"CREATE POLICY added ON link_parameters FOR INSERT WITH CHECK ({change})")
    op.execute(f"CREATE POLICY changed ON link_parameters FOR UPDATE USING ({change})")
    op.execute(f"CREATE POLICY removed ON link_parameters FOR DELETE USING ({change})")
    op.execute("ALTER TABLE link_parameters ENABLE ROW LEVEL SECURITY")


def _key(name: str, table: str, **options: bool) -> sa.Column[object]:
    key = sa.ForeignKey(f"{table}.id", ondelete="CASCADE")
    return sa.Column(name, sa.Uuid(), key, **options)  # type: ignore[arg-type]


def downgrade() -> None:
    without = "".join(f" - '{name}'" for name in SETTINGS)
    op.execute(f"UPDATE recruitment SET settings = settings{without} WHERE channel = 'link'")
    op.drop_table("link_parameters")
