"""Nobody makes an admin of themselves, nor opens again an account that was closed.

Revision ID: 0014
Revises: 0013
"""

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

ME, ADMIN = "(SELECT likewise_account())", "(SELECT likewise_admin())"


def upgrade() -> None:
    op.execute(
        f"ALTER POLICY changed ON account WITH CHECK "
        f"({ADMIN} OR id = {ME} AND role = 'requester' AND disabled_at IS NULL)"
    )


def downgrade() -> None:
    op.execute(f"ALTER POLICY changed ON account WITH CHECK (id = {ME} OR {ADMIN})")
