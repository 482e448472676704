"""What browsers blocked; sessions that end of themselves; a second factor.

Revision ID: 0013
Revises: 0012
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

# The wall between requesters (0012): rows that may be seen, added, changed and removed.
ADMIN = "(SELECT likewise_admin())"
OWN = "account_id = (SELECT likewise_account())"
WALL = {
    "recovery_code": (f"{OWN} OR {ADMIN}", OWN, OWN, f"{OWN} OR {ADMIN}"),
    # Reports come without an account, past the wall; admins look at them.
    "csp_violation": (ADMIN, "false", "false", "false"),
}


def upgrade() -> None:
    op.create_table(
        "csp_violation",
        sa.Column("directive", sa.String(40), primary_key=True),
        sa.Column("blocked", sa.String(200), primary_key=True),
        sa.Column("page", sa.String(200), primary_key=True),
        sa.Column("n", sa.BigInteger(), nullable=False),
        _time("first_at", server_default=sa.func.now(), nullable=False),
        _time("last_at", server_default=sa.func.now(), nullable=False),
    )
    op.create_index(op.f("ix_csp_violation_last_at"), "csp_violation", ["last_at"])
    op.add_column("account", sa.Column("totp_secret", sa.LargeBinary()))
    op.add_column("account", _time("totp_since"))
    op.add_column("account", sa.Column("totp_step", sa.BigInteger()))
    _extend_sessions()
    op.create_table(
        "recovery_code",
        sa.Column("id", sa.Uuid(), primary_key=True),
        _time("created_at", server_default=sa.func.now(), nullable=False),
        sa.Column(
            "account_id",
            sa.Uuid(),
            sa.ForeignKey("account.id", ondelete="CASCADE"),
            nullable=False,
            index=True,
        ),
        sa.Column("code_hash", sa.String(64), nullable=False, unique=True),
        _time("used_at"),
    )
    for table, (seen, added, changed, removed) in WALL.items():
        op.execute(f"CREATE POLICY seen ON {table} FOR SELECT USING ({seen})")
        op.execute(f"CREATE POLICY added ON {table} FOR INSERT WITH CHECK ({added})")
        op.execute(f"CREATE POLICY changed ON {table} FOR UPDATE USING ({changed})")
        op.execute(f"CREATE POLICY removed ON {table} FOR DELETE USING ({removed})")
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    # A session that is confirmed gets a new cookie, in a row of its own.
    op.execute(f"ALTER POLICY added ON browser_session WITH CHECK ({OWN})")


def _extend_sessions() -> None:
    # Of sessions that are there: seen now, and confirmed when they began.
    now = sa.func.now()
    op.add_column("browser_session", _time("seen_at", server_default=now, nullable=False))
    op.add_column("browser_session", _time("confirmed_at", server_default=now, nullable=False))
    op.execute("UPDATE browser_session SET confirmed_at = created_at")
    false = sa.text("false")
    awaits = sa.Column("awaits_code", sa.Boolean(), server_default=false, nullable=False)
    op.add_column("browser_session", awaits)
    browser = sa.Column("browser", sa.String(100), server_default="", nullable=False)
    op.add_column("browser_session", browser)
    op.create_index(op.f("ix_browser_session_account_id"), "browser_session", ["account_id"])


def downgrade() -> None:
    op.execute("ALTER POLICY added ON browser_session WITH CHECK (false)")
    op.drop_table("recovery_code")
    # What is older does not ask for the code: who has not given it yet is not signed in.
    op.execute("DELETE FROM browser_session WHERE awaits_code")
    op.drop_index(op.f("ix_browser_session_account_id"), "browser_session")
    for name in ("browser", "awaits_code", "confirmed_at", "seen_at"):
        op.drop_column("browser_session", name)
    for name in ("totp_step", "totp_since", "totp_secret"):
        op.drop_column("account", name)
    op.drop_table("csp_violation")


def _time(name: str, **options: object) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), **options)  # type: ignore[arg-type]
