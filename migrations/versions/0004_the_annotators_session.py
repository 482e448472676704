"""The annotator's session: consent, practice, checks of quality, remarks, rewards.

Revision ID: 0004
Revises: 0003
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

TIMES = (
    "consented_at",
    "instructed_at",
    "warned_at",
    "warning_seen_at",
    "stopped_at",
    "left_out_at",
    "reviewed_at",
)
GRID_CHECKS = {
    "role": "role IN ('ask', 'practice', 'gold', 'repeat')",
    "of_a_round": "(role = 'ask') = (round_id IS NOT NULL)",
    "known": "(role IN ('practice', 'gold')) = (truth IS NOT NULL)",
    "repeat": "(role = 'repeat') = (repeats IS NOT NULL)",
}


def upgrade() -> None:
    _upgrade_campaign()
    _upgrade_grid()
    for name in TIMES:
        op.add_column("annotator", sa.Column(name, sa.DateTime(timezone=True)))
    op.add_column("annotator", sa.Column("practice", JSONB(), nullable=False, server_default="[]"))
    op.add_column("answer", sa.Column("device", JSONB()))
    op.add_column(
        "answer", sa.Column("unseen", ARRAY(sa.Integer()), nullable=False, server_default="{}")
    )
    op.add_column("answer", sa.Column("agreement", sa.Float()))
    op.add_column("answer", sa.Column("chance", sa.Float()))
    op.add_column(
        "answer", sa.Column("ahead", sa.Boolean(), nullable=False, server_default="false")
    )
    _create_remark()


def _upgrade_campaign() -> None:
    op.add_column("campaign", sa.Column("annotation", JSONB(), nullable=False, server_default="{}"))
    op.add_column(
        "campaign", sa.Column("reward_cents", sa.Integer(), nullable=False, server_default="0")
    )
    op.add_column(
        "campaign", sa.Column("currency", sa.String(3), nullable=False, server_default="USD")
    )
    op.create_check_constraint(op.f("ck_campaign_reward"), "campaign", "reward_cents >= 0")


def _upgrade_grid() -> None:
    op.add_column("grid", sa.Column("role", sa.String(10), nullable=False, server_default="ask"))
    op.add_column("grid", sa.Column("truth", ARRAY(sa.SmallInteger())))
    op.add_column(
        "grid",
        sa.Column(
            "repeats",
            sa.BigInteger(),
            sa.ForeignKey("grid.id", ondelete="CASCADE", name=op.f("fk_grid_repeats_grid")),
        ),
    )
    op.alter_column("grid", "round_id", nullable=True)
    op.create_index(op.f("ix_grid_repeats"), "grid", ["repeats"])
    op.create_index(
        "uq_grid_known",
        "grid",
        ["campaign_id", "role", "number"],
        unique=True,
        postgresql_where=sa.text("role IN ('practice', 'gold')"),
    )
    for name, condition in GRID_CHECKS.items():
        op.create_check_constraint(op.f(f"ck_grid_{name}"), "grid", condition)


def _create_remark() -> None:
    op.create_table(
        "remark",
        sa.Column("campaign_id", sa.Uuid(), nullable=False),
        sa.Column("annotator_id", sa.Uuid(), nullable=False),
        sa.Column("grid_id", sa.BigInteger()),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("image", sa.Integer()),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False
        ),
        sa.CheckConstraint(
            "kind IN ('comment', 'skipped', 'broken_image')", name=op.f("ck_remark_kind")
        ),
        sa.CheckConstraint(
            "(kind = 'broken_image') = (image IS NOT NULL)", name=op.f("ck_remark_image")
        ),
        sa.ForeignKeyConstraint(
            ["annotator_id"],
            ["annotator.id"],
            name=op.f("fk_remark_annotator_id_annotator"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id"],
            ["campaign.id"],
            name=op.f("fk_remark_campaign_id_campaign"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["grid_id"], ["grid.id"], name=op.f("fk_remark_grid_id_grid"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_remark")),
    )
    for column in ("campaign_id", "annotator_id", "grid_id"):
        op.create_index(op.f(f"ix_remark_{column}"), "remark", [column])


def downgrade() -> None:
    op.drop_table("remark")
    for name in ("ahead", "chance", "agreement", "unseen", "device"):
        op.drop_column("answer", name)
    for name in ("practice", *TIMES):
        op.drop_column("annotator", name)
    # Checks belong to no round, which older code cannot hold; what was paid stays counted.
    op.execute(
        "DELETE FROM answer USING grid WHERE grid.id = answer.grid_id AND grid.role <> 'ask'"
    )
    op.execute("DELETE FROM grid WHERE role <> 'ask'")
    for name in GRID_CHECKS:
        op.drop_constraint(op.f(f"ck_grid_{name}"), "grid")
    op.drop_index("uq_grid_known", "grid")
    op.drop_index(op.f("ix_grid_repeats"), "grid")
    op.alter_column("grid", "round_id", nullable=False)
    for name in ("repeats", "truth", "role"):
        op.drop_column("grid", name)
    op.drop_constraint(op.f("ck_campaign_reward"), "campaign")
    for name in ("currency", "reward_cents", "annotation"):
        op.drop_column("campaign", name)
