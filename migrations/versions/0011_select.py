"""Campaigns of the kind `select`.

Revision ID: 0011
Revises: 0010
"""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _allow("'grid', 'bins', 'select'")


def downgrade() -> None:
    """Campaigns of the newer kind become grids, so that no answer is lost: their votes are then
    groups, and what is older learns from them as such."""
    op.execute(
        "UPDATE campaign SET kind = 'grid', strategy = 'cen', settings = '{}' WHERE kind = 'select'"
    )
    # What is older refuses settings that it does not know.
    op.execute("UPDATE campaign SET annotation = annotation - 'known_value'")
    _allow("'grid', 'bins'")


def _allow(kinds: str) -> None:
    op.drop_constraint(op.f("ck_campaign_kind"), "campaign", type_="check")
    op.create_check_constraint(op.f("ck_campaign_kind"), "campaign", f"kind IN ({kinds})")
