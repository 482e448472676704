"""How settled a model's nearest neighbours are, by models of two halves of its answers.

Revision ID: 0035
Revises: 0034
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("model", sa.Column("settled", JSONB(), nullable=True))


def downgrade() -> None:
    op.execute("DELETE FROM job WHERE kind = 'split_half'")
    # The earlier version refuses settings that it does not know.
    op.execute("UPDATE campaign SET settings = settings - 'settled_target'")
    op.execute("UPDATE model SET settings = settings - 'settled_target'")
    op.drop_column("model", "settled")
