"""Images can be copied into a new collection.

Revision ID: 0033
Revises: 0032
"""

from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

NAME = "ck_collection_import_kind"


def upgrade() -> None:
    op.drop_constraint(op.f(NAME), "collection_import", type_="check")
    op.create_check_constraint(
        op.f(NAME), "collection_import", "kind IN ('manifest', 'prefix', 'copy')"
    )


def downgrade() -> None:
    # The images that were copied stay; only the record of the copying goes.
    op.execute("DELETE FROM collection_import WHERE kind = 'copy'")
    op.drop_constraint(op.f(NAME), "collection_import", type_="check")
    op.create_check_constraint(op.f(NAME), "collection_import", "kind IN ('manifest', 'prefix')")
