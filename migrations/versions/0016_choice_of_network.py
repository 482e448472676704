"""Campaigns with the strategy cen choose between the default and the published network.

Revision ID: 0016
Revises: 0015
"""

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        UPDATE campaign SET settings = '{"model": "default"}'::jsonb || settings
        WHERE strategy = 'cen'
        """
    )


def downgrade() -> None:
    op.execute("UPDATE campaign SET settings = settings - 'model' WHERE strategy = 'cen'")
