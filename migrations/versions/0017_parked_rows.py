"""Rows that no sweep can deal with are parked with a reason; attempts have one limit, a setting.

Revision ID: 0017
Revises: 0016
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("outbox", sa.Column("refused", sa.Text()))
    op.add_column("discard", sa.Column("refused", sa.Text()))
    # Written by the release before, and read by nobody any more.
    op.alter_column("job", "max_attempts", server_default="3")


def downgrade() -> None:
    op.alter_column("job", "max_attempts", server_default=None)
    op.drop_column("discard", "refused")
    op.drop_column("outbox", "refused")
