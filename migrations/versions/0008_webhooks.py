"""Webhooks and what was sent, kept replies of idempotent requests, an index of finished answers.

Revision ID: 0008
Revises: 0007
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "webhook",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("campaign_id", sa.Uuid()),
        sa.Column("url", sa.String(2000), nullable=False),
        sa.Column("events", sa.ARRAY(sa.String(40)), nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("disabled_at", sa.DateTime(timezone=True)),
        sa.Column("disabled_because", sa.String(300), nullable=False, server_default=""),
        *_identified(),
        sa.CheckConstraint("cardinality(events) > 0", name=op.f("ck_webhook_events")),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["account.id"],
            name=op.f("fk_webhook_account_id_account"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id"],
            ["campaign.id"],
            name=op.f("fk_webhook_campaign_id_campaign"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook")),
    )
    op.create_index(op.f("ix_webhook_account_id"), "webhook", ["account_id"])
    op.create_index(op.f("ix_webhook_campaign_id"), "webhook", ["campaign_id"])
    op.create_table(
        "webhook_delivery",
        sa.Column("webhook_id", sa.Uuid(), nullable=False),
        sa.Column("event", sa.String(40), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column(
            "due_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False
        ),
        sa.Column("ended_at", sa.DateTime(timezone=True)),
        sa.Column("history", postgresql.JSONB(), server_default="[]", nullable=False),
        *_identified(),
        sa.CheckConstraint(
            "state IN ('pending', 'delivered', 'failed')", name=op.f("ck_webhook_delivery_state")
        ),
        sa.ForeignKeyConstraint(
            ["webhook_id"],
            ["webhook.id"],
            name=op.f("fk_webhook_delivery_webhook_id_webhook"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_delivery")),
    )
    op.create_index(
        "ix_webhook_delivery_due",
        "webhook_delivery",
        ["due_at"],
        postgresql_where=sa.text("state = 'pending'"),
    )
    op.create_index("ix_webhook_delivery_webhook_id_id", "webhook_delivery", ["webhook_id", "id"])
    op.create_index("ix_webhook_delivery_created_at", "webhook_delivery", ["created_at"])
    op.create_table(
        "kept_reply",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("route", sa.String(500), nullable=False),
        sa.Column("key", sa.String(100), nullable=False),
        sa.Column("request_hash", sa.String(64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("headers", postgresql.JSONB(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False
        ),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["account.id"],
            name=op.f("fk_kept_reply_account_id_account"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("account_id", "route", "key", name=op.f("pk_kept_reply")),
    )
    op.create_index(op.f("ix_kept_reply_created_at"), "kept_reply", ["created_at"])
    # Pages of answers in the order in which they came.
    op.create_index(
        "ix_answer_finished",
        "answer",
        ["campaign_id", "submitted_at", "id"],
        postgresql_where=sa.text("submitted_at IS NOT NULL"),
    )


def _identified() -> list[sa.Column[object]]:
    return [
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False
        ),
    ]


def downgrade() -> None:
    op.drop_index("ix_answer_finished", table_name="answer")
    op.drop_table("kept_reply")
    op.drop_table("webhook_delivery")
    op.drop_table("webhook")
