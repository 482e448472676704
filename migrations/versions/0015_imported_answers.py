"""Answers that were collected elsewhere.

Revision ID: 0015
Revises: 0014
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "campaign", sa.Column("n_imported", sa.Integer(), server_default="0", nullable=False)
    )
    op.create_check_constraint(op.f("ck_campaign_imported"), "campaign", "n_imported >= 0")
    op.add_column("answer", sa.Column("imported_as", sa.String(64)))
    op.create_index(
        "uq_answer_imported",
        "answer",
        ["campaign_id", "imported_as"],
        unique=True,
        postgresql_where=sa.text("imported_as IS NOT NULL"),
    )


def downgrade() -> None:
    """Imported answers go: the code before counts rounds from 1 and expects all grids of a campaign
    to be of one size. Annotators stay, as their numbers stand in models; their answers can be
    imported again from the file."""
    # Grids and answers go with their round.
    op.execute("DELETE FROM round WHERE number = 0")
    op.execute("DELETE FROM assignment WHERE channel = 'import'")
    op.drop_index("uq_answer_imported", "answer")
    op.drop_column("answer", "imported_as")
    op.drop_constraint(op.f("ck_campaign_imported"), "campaign", type_="check")
    op.drop_column("campaign", "n_imported")
