"""Campaigns of the demo are marked; before, they were recognised by their names.

Revision ID: 0032
Revises: 0031
"""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "campaign", sa.Column("is_demo", sa.Boolean(), server_default="false", nullable=False)
    )
    # The demo was made at the first start, before anybody could use its names.
    op.execute(
        "UPDATE campaign SET is_demo = true WHERE id IN ("
        "SELECT DISTINCT ON (name) id FROM campaign WHERE (name, kind, budget) IN ("
        "('Emoji: what belongs together?', 'grid', 240), ('300 colours', 'bins', 235)"
        ") ORDER BY name, created_at)"
    )


def downgrade() -> None:
    op.drop_column("campaign", "is_demo")
