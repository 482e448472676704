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


# Where the names wait that an earlier release does not know, so that coming back finds them.
KEPT = "campaign_classes_of_0024"


def upgrade() -> None:
    op.add_column(
        "campaign",
        sa.Column("classes", sa.ARRAY(sa.String(40)), nullable=False, server_default="{}"),
    )
    op.create_check_constraint(
        op.f("ck_campaign_classes"), "campaign", "cardinality(classes) <= 10"
    )
    if sa.inspect(op.get_bind()).has_table(KEPT):
        op.execute(
            f"UPDATE campaign SET classes = kept.classes FROM {KEPT} kept "
            "WHERE kept.campaign_id = campaign.id"
        )
        # contract: unused since 0.1, as no release reads it.
        op.drop_table(KEPT)


def downgrade() -> None:
    """An earlier release cannot show these campaigns, but nothing of them is lost."""
    named = "FROM campaign WHERE cardinality(classes) > 0"
    if op.get_bind().scalar(sa.text(f"SELECT EXISTS (SELECT 1 {named})")):
        op.execute(f"CREATE TABLE {KEPT} AS SELECT id AS campaign_id, classes {named}")
    op.drop_constraint(op.f("ck_campaign_classes"), "campaign")
    op.drop_column("campaign", "classes")
