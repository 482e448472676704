"""What people see: a model's insight, what each grid is for, shares of grids in CEN settings.

Revision ID: 0002
Revises: 0001
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("model", sa.Column("insight", JSONB(), nullable=True))
    op.add_column("model", sa.Column("notes", JSONB(), nullable=False, server_default="{}"))
    op.add_column("round", sa.Column("contents", JSONB(), nullable=True))
    op.add_column("grid", sa.Column("purpose", sa.String(20), nullable=True))
    op.add_column("grid", sa.Column("attribute", sa.SmallInteger(), nullable=True))
    op.execute(
        """
        UPDATE campaign SET settings = (settings - 'random_share') || jsonb_build_object(
            'attribute_share', 1 - COALESCE((settings ->> 'random_share')::float, 0.5),
            'uncertain_share', 0.0,
            'focus', NULL)
        WHERE strategy = 'cen'
        """
    )


def downgrade() -> None:
    op.execute(
        """
        UPDATE campaign SET
            settings = (settings - 'attribute_share' - 'uncertain_share' - 'focus')
                || jsonb_build_object('random_share',
                    1 - COALESCE((settings ->> 'attribute_share')::float, 0.5)
                      - COALESCE((settings ->> 'uncertain_share')::float, 0))
        WHERE strategy = 'cen'
        """
    )
    op.drop_column("grid", "attribute")
    op.drop_column("grid", "purpose")
    op.drop_column("round", "contents")
    op.drop_column("model", "notes")
    op.drop_column("model", "insight")
