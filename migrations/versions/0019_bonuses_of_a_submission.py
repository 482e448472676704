"""Indexes by which a claim finds the bonuses of one submission that go before another.

Revision ID: 0019
Revises: 0018
"""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

CONDITIONS = {
    "ix_payment_bonus_unfinished": "kind = 'bonus' AND state IN ('due', 'running')",
    "ix_payment_bonus_in_flight": "kind = 'bonus' AND (state IN ('running', 'parked') OR unsure)",
}


def upgrade() -> None:
    for name, condition in CONDITIONS.items():
        op.create_index(
            name, "payment", ["submission_id", "id"], postgresql_where=sa.text(condition)
        )


def downgrade() -> None:
    for name in CONDITIONS:
        op.drop_index(name, "payment")
