"""The column of a channel call that says what the platform is asked to do is called `action`.

Revision ID: 0018
Revises: 0017
"""

from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # contract: before 0.1 there is no release, so none uses the old name. Processes of an earlier
    # build must be stopped first.
    op.alter_column("channel_call", "deed", new_column_name="action")


def downgrade() -> None:
    op.alter_column("channel_call", "action", new_column_name="deed")
