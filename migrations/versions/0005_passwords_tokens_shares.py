"""Passwords, personal API tokens, and campaigns shared with other requesters.

Revision ID: 0005
Revises: 0004
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("account", sa.Column("password_hash", sa.String(200)))
    op.add_column(
        "browser_session",
        sa.Column("by_link", sa.Boolean(), nullable=False, server_default="false"),
    )
    # Answers of somebody left out, or let in again: learn anew although none has come.
    op.add_column(
        "job", sa.Column("rerun_anew", sa.Boolean(), nullable=False, server_default="false")
    )
    op.create_table(
        "api_token",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("scope", sa.String(10), nullable=False),
        sa.Column("prefix", sa.String(12), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True)),
        sa.Column("expires_at", sa.DateTime(timezone=True)),
        sa.Column("revoked_at", sa.DateTime(timezone=True)),
        *_identified(),
        sa.CheckConstraint("scope IN ('read', 'write')", name=op.f("ck_api_token_scope")),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["account.id"],
            name=op.f("fk_api_token_account_id_account"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_token")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_api_token_token_hash")),
    )
    op.create_index(op.f("ix_api_token_account_id"), "api_token", ["account_id"])
    op.create_table(
        "share",
        sa.Column("campaign_id", sa.Uuid(), nullable=False),
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("access", sa.String(10), nullable=False),
        *_identified(),
        sa.CheckConstraint("access IN ('view', 'edit')", name=op.f("ck_share_access")),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["account.id"],
            name=op.f("fk_share_account_id_account"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id"],
            ["campaign.id"],
            name=op.f("fk_share_campaign_id_campaign"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_share")),
        sa.UniqueConstraint(
            "campaign_id", "account_id", name=op.f("uq_share_campaign_id_account_id")
        ),
    )
    op.create_index(op.f("ix_share_account_id"), "share", ["account_id"])


def _identified() -> list[sa.Column[object]]:
    return [
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False
        ),
    ]


def downgrade() -> None:
    op.drop_table("share")
    op.drop_table("api_token")
    op.drop_column("job", "rerun_anew")
    op.drop_column("browser_session", "by_link")
    op.drop_column("account", "password_hash")
