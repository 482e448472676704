"""Kinds of task are what app/kinds/ has, no longer a list in the database.

Revision ID: 0021
Revises: 0020
"""

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_constraint(op.f("ck_campaign_kind"), "campaign", type_="check")


def downgrade() -> None:
    """Campaigns of newer kinds become grids, so that no answer is lost: their groups stay as they
    are."""
    op.execute("UPDATE campaign SET kind = 'grid' WHERE kind NOT IN ('grid', 'bins', 'select')")
    op.create_check_constraint(
        op.f("ck_campaign_kind"), "campaign", "kind IN ('grid', 'bins', 'select')"
    )
