"""Campaigns whose annotators choose from names that the requester gives.

Revision ID: 0024
Revises: 0023
"""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "campaign",
        sa.Column("classes", sa.ARRAY(sa.String(40)), nullable=False, server_default="{}"),
    )
    op.create_check_constraint(
        op.f("ck_campaign_classes"), "campaign", "cardinality(classes) <= 10"
    )


def downgrade() -> None:
    op.drop_constraint(op.f("ck_campaign_classes"), "campaign")
    op.drop_column("campaign", "classes")
