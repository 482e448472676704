"""An index by which a claim finds the call that goes before another.

Revision ID: 0020
Revises: 0019
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "ix_channel_call_turn",
        "channel_call",
        [sa.text("COALESCE(submission_id, posting_id, recruitment_id)"), "id"],
        postgresql_where=sa.text("state IN ('due', 'running') AND action <> 'exclude'"),
    )


def downgrade() -> None:
    op.drop_index("ix_channel_call_turn", "channel_call")
