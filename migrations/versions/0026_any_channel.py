"""Channels are what app/recruitment/channels/ has, no longer a list in the database.

Revision ID: 0026
Revises: 0025
"""

from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_constraint(op.f("ck_channel_account_channel"), "channel_account", type_="check")
    op.drop_constraint(op.f("ck_recruitment_channel"), "recruitment", type_="check")


def downgrade() -> None:
    """Rows of newer channels are kept, and only new rows are checked: an earlier version cannot
    recruit on them, but must not lose what was paid there."""
    for table, names in (
        ("channel_account", "'mturk', 'prolific'"),
        ("recruitment", "'link', 'mturk', 'prolific'"),
    ):
        op.execute(
            f"ALTER TABLE {table} ADD CONSTRAINT ck_{table}_channel "
            f"CHECK (channel IN ({names})) NOT VALID"
        )
