"""Campaigns that have started go on as they were: nobody is asked about quick answers.

Revision ID: 0027
Revises: 0026
"""

from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

# Settings that the release before does not know, and would refuse.
_NEW = "ARRAY['quick_pause', 'alt_text_attribute', 'text_language', 'translations']"


def upgrade() -> None:
    op.execute(
        """UPDATE campaign SET annotation = annotation || '{"quick_pause": 0}'
        WHERE started_at IS NOT NULL AND NOT annotation ? 'quick_pause'"""
    )


def downgrade() -> None:
    """Translations and descriptions are lost: the release before has no place for them."""
    op.execute(f"UPDATE campaign SET annotation = annotation - {_NEW}")
