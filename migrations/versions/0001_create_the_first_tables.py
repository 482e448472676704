"""create the first tables"""

import sqlalchemy as sa
from alembic import op
from pgvector.sqlalchemy import VECTOR
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("CREATE EXTENSION IF NOT EXISTS vector")
    op.create_table(
        "account",
        sa.Column("email", sa.String(length=320), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("disabled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint("role IN ('requester', 'admin')", name=op.f("ck_account_role")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_account")),
        sa.UniqueConstraint("email", name=op.f("uq_account_email")),
    )
    op.create_table(
        "outbox",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("task", sa.String(length=200), nullable=False),
        sa.Column("arguments", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("job_id", sa.Uuid(), nullable=True),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("dispatched_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
    )
    op.create_index(op.f("ix_outbox_job_id"), "outbox", ["job_id"], unique=False)
    op.create_index(
        "ix_outbox_waiting",
        "outbox",
        ["id"],
        unique=False,
        postgresql_where=sa.text("dispatched_at IS NULL"),
    )
    op.create_table(
        "audit_event",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column(
            "at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("account_id", sa.Uuid(), nullable=True),
        sa.Column("action", sa.String(length=100), nullable=False),
        sa.Column("subject_type", sa.String(length=50), nullable=False),
        sa.Column("subject_id", sa.Uuid(), nullable=True),
        sa.Column("details", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["account.id"],
            name=op.f("fk_audit_event_account_id_account"),
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_event")),
    )
    op.create_index(op.f("ix_audit_event_account_id"), "audit_event", ["account_id"], unique=False)
    op.create_index(op.f("ix_audit_event_subject_id"), "audit_event", ["subject_id"], unique=False)
    op.create_table(
        "browser_session",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["account.id"],
            name=op.f("fk_browser_session_account_id_account"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_browser_session")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_browser_session_token_hash")),
    )
    op.create_table(
        "collection",
        sa.Column("owner_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("n_images", sa.Integer(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint("n_images >= 0", name=op.f("ck_collection_n_images")),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["account.id"], name=op.f("fk_collection_owner_id_account")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_collection")),
    )
    op.create_index(op.f("ix_collection_owner_id"), "collection", ["owner_id"], unique=False)
    op.create_table(
        "sign_in_link",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["account.id"],
            name=op.f("fk_sign_in_link_account_id_account"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_in_link")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_sign_in_link_token_hash")),
    )
    op.create_table(
        "campaign",
        sa.Column("owner_id", sa.Uuid(), nullable=False),
        sa.Column("collection_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("strategy", sa.String(length=40), nullable=False),
        sa.Column("settings", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("link_token", sa.String(length=64), nullable=False),
        sa.Column("budget", sa.Integer(), nullable=False),
        sa.Column("rounds", sa.Integer(), nullable=False),
        sa.Column("grid_size", sa.Integer(), nullable=False),
        sa.Column("max_groups", sa.Integer(), nullable=False),
        sa.Column("answers_per_grid", sa.Integer(), nullable=False),
        sa.Column("grids_per_assignment", sa.Integer(), nullable=False),
        sa.Column("learn_every", sa.Integer(), nullable=False),
        sa.Column("n_images", sa.Integer(), nullable=False),
        sa.Column("n_answers", sa.Integer(), nullable=False),
        sa.Column("n_surplus", sa.Integer(), nullable=False),
        sa.Column("n_annotators", sa.Integer(), nullable=False),
        sa.Column("learn_at", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint("kind IN ('grid', 'bins')", name=op.f("ck_campaign_kind")),
        sa.CheckConstraint(
            "state IN ('draft', 'running', 'paused', 'finished')",
            name=op.f("ck_campaign_state"),
        ),
        sa.CheckConstraint(
            "budget > 0 AND rounds > 0 AND grid_size > 1",
            name=op.f("ck_campaign_sizes"),
        ),
        sa.CheckConstraint(
            "n_answers >= 0 AND n_answers <= budget",
            name=op.f("ck_campaign_within_budget"),
        ),
        sa.ForeignKeyConstraint(
            ["collection_id"],
            ["collection.id"],
            name=op.f("fk_campaign_collection_id_collection"),
        ),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["account.id"], name=op.f("fk_campaign_owner_id_account")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_campaign")),
        sa.UniqueConstraint("link_token", name=op.f("uq_campaign_link_token")),
    )
    op.create_index(op.f("ix_campaign_collection_id"), "campaign", ["collection_id"], unique=False)
    op.create_index(op.f("ix_campaign_owner_id"), "campaign", ["owner_id"], unique=False)
    op.create_table(
        "image",
        sa.Column("collection_id", sa.Uuid(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("filename", sa.String(length=500), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("attributes", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("features", sa.ARRAY(sa.REAL()), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint("position >= 0", name=op.f("ck_image_position")),
        sa.ForeignKeyConstraint(
            ["collection_id"],
            ["collection.id"],
            name=op.f("fk_image_collection_id_collection"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_image")),
        sa.UniqueConstraint(
            "collection_id", "position", name=op.f("uq_image_collection_id_position")
        ),
        sa.UniqueConstraint("collection_id", "sha256", name=op.f("uq_image_collection_id_sha256")),
    )
    op.create_table(
        "annotator",
        sa.Column("campaign_id", sa.Uuid(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id"],
            ["campaign.id"],
            name=op.f("fk_annotator_campaign_id_campaign"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_annotator")),
        sa.UniqueConstraint(
            "campaign_id", "position", name=op.f("uq_annotator_campaign_id_position")
        ),
    )
    op.create_table(
        "job",
        sa.Column("campaign_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("max_attempts", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("lease_owner", sa.String(length=200), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("watermark", sa.Integer(), nullable=False),
        sa.Column("rerun_wanted", sa.Boolean(), nullable=False),
        sa.Column("progress", sa.Double(), nullable=False),
        sa.Column("metrics", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'done', 'failed')",
            name=op.f("ck_job_state"),
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id"],
            ["campaign.id"],
            name=op.f("fk_job_campaign_id_campaign"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job")),
    )
    op.create_index(
        "ix_job_active_state",
        "job",
        ["state"],
        unique=False,
        postgresql_where=sa.text("state IN ('queued','running')"),
    )
    op.create_index(op.f("ix_job_campaign_id"), "job", ["campaign_id"], unique=False)
    op.create_index(
        "uq_job_active",
        "job",
        ["campaign_id", "kind"],
        unique=True,
        postgresql_where=sa.text("state IN ('queued', 'running')"),
    )
    op.create_table(
        "round",
        sa.Column("campaign_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("n_wanted", sa.Integer(), nullable=False),
        sa.Column("n_answers", sa.Integer(), nullable=False),
        sa.Column("locality", sa.Double(), nullable=True),
        sa.Column("model_version", sa.Integer(), nullable=True),
        sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint("state IN ('open', 'closed')", name=op.f("ck_round_state")),
        sa.CheckConstraint(
            "n_answers >= 0 AND n_answers <= n_wanted", name=op.f("ck_round_answers")
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id"],
            ["campaign.id"],
            name=op.f("fk_round_campaign_id_campaign"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_round")),
        sa.UniqueConstraint("campaign_id", "number", name=op.f("uq_round_campaign_id_number")),
    )
    op.create_index(
        "uq_round_open",
        "round",
        ["campaign_id"],
        unique=True,
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_table(
        "annotator_identity",
        sa.Column("annotator_id", sa.Uuid(), nullable=False),
        sa.Column("campaign_id", sa.Uuid(), nullable=False),
        sa.Column("channel", sa.String(length=20), nullable=False),
        sa.Column("key_hash", sa.String(length=64), nullable=False),
        sa.Column("external_id", sa.String(length=200), nullable=True),
        sa.ForeignKeyConstraint(
            ["annotator_id"],
            ["annotator.id"],
            name=op.f("fk_annotator_identity_annotator_id_annotator"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id"],
            ["campaign.id"],
            name=op.f("fk_annotator_identity_campaign_id_campaign"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("annotator_id", name=op.f("pk_annotator_identity")),
        sa.UniqueConstraint(
            "campaign_id",
            "channel",
            "key_hash",
            name=op.f("uq_annotator_identity_campaign_id_channel_key_hash"),
        ),
    )
    op.create_table(
        "assignment",
        sa.Column("campaign_id", sa.Uuid(), nullable=False),
        sa.Column("annotator_id", sa.Uuid(), nullable=False),
        sa.Column("channel", sa.String(length=20), nullable=False),
        sa.Column("external_id", sa.String(length=200), nullable=True),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("target", sa.Integer(), nullable=False),
        sa.Column("n_answered", sa.Integer(), nullable=False),
        sa.Column("completion_code", sa.String(length=20), nullable=False),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint("state IN ('open', 'completed')", name=op.f("ck_assignment_state")),
        sa.CheckConstraint("n_answered >= 0", name=op.f("ck_assignment_answered")),
        sa.ForeignKeyConstraint(
            ["annotator_id"],
            ["annotator.id"],
            name=op.f("fk_assignment_annotator_id_annotator"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id"],
            ["campaign.id"],
            name=op.f("fk_assignment_campaign_id_campaign"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_assignment")),
        sa.UniqueConstraint(
            "channel",
            "external_id",
            "annotator_id",
            name=op.f("uq_assignment_channel_external_id_annotator_id"),
        ),
    )
    op.create_index(op.f("ix_assignment_campaign_id"), "assignment", ["campaign_id"], unique=False)
    op.create_index(
        "uq_assignment_open",
        "assignment",
        ["annotator_id"],
        unique=True,
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_table(
        "grid",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("round_id", sa.Uuid(), nullable=False),
        sa.Column("campaign_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("images", sa.ARRAY(sa.Integer()), nullable=False),
        sa.Column("wanted", sa.Integer(), nullable=False),
        sa.Column("n_answers", sa.Integer(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint("cardinality(images) > 1", name=op.f("ck_grid_images")),
        sa.CheckConstraint("n_answers >= 0 AND n_answers <= wanted", name=op.f("ck_grid_answers")),
        sa.ForeignKeyConstraint(
            ["campaign_id"],
            ["campaign.id"],
            name=op.f("fk_grid_campaign_id_campaign"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["round_id"],
            ["round.id"],
            name=op.f("fk_grid_round_id_round"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_grid")),
        sa.UniqueConstraint("round_id", "number", name=op.f("uq_grid_round_id_number")),
    )
    op.create_index(op.f("ix_grid_campaign_id"), "grid", ["campaign_id"], unique=False)
    op.create_index(
        "ix_grid_unfilled",
        "grid",
        ["round_id", "number"],
        unique=False,
        postgresql_where=sa.text("n_answers < wanted"),
    )
    op.create_table(
        "model",
        sa.Column("campaign_id", sa.Uuid(), nullable=False),
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("round_number", sa.Integer(), nullable=False),
        sa.Column("strategy", sa.String(length=40), nullable=False),
        sa.Column("settings", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("metrics", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("n_answers", sa.Integer(), nullable=False),
        sa.Column("artifact_key", sa.String(length=300), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id"],
            ["campaign.id"],
            name=op.f("fk_model_campaign_id_campaign"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["job_id"], ["job.id"], name=op.f("fk_model_job_id_job"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model")),
        sa.UniqueConstraint("campaign_id", "version", name=op.f("uq_model_campaign_id_version")),
        sa.UniqueConstraint("job_id", name=op.f("uq_model_job_id")),
    )
    op.create_table(
        "answer",
        sa.Column("campaign_id", sa.Uuid(), nullable=False),
        sa.Column("grid_id", sa.BigInteger(), nullable=False),
        sa.Column("annotator_id", sa.Uuid(), nullable=False),
        sa.Column("assignment_id", sa.Uuid(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column(
            "leased_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("lease_expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("submitted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("groups", sa.ARRAY(sa.SmallInteger()), nullable=True),
        sa.Column("descriptions", sa.ARRAY(sa.Text()), nullable=False),
        sa.Column("elapsed_ms", sa.Integer(), nullable=True),
        sa.Column("trace", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("draft", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("draft_version", sa.Integer(), nullable=False),
        sa.Column("idempotency_key", sa.String(length=100), nullable=True),
        sa.Column("request_hash", sa.String(length=64), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint(
            "(state IN ('submitted', 'surplus')) = "
            "(groups IS NOT NULL AND submitted_at IS NOT NULL)",
            name=op.f("ck_answer_submitted_has_groups"),
        ),
        sa.CheckConstraint(
            "state IN ('leased', 'submitted', 'surplus', 'returned')",
            name=op.f("ck_answer_state"),
        ),
        sa.ForeignKeyConstraint(
            ["annotator_id"],
            ["annotator.id"],
            name=op.f("fk_answer_annotator_id_annotator"),
        ),
        sa.ForeignKeyConstraint(
            ["assignment_id"],
            ["assignment.id"],
            name=op.f("fk_answer_assignment_id_assignment"),
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id"],
            ["campaign.id"],
            name=op.f("fk_answer_campaign_id_campaign"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["grid_id"],
            ["grid.id"],
            name=op.f("fk_answer_grid_id_grid"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_answer")),
        sa.UniqueConstraint("grid_id", "annotator_id", name=op.f("uq_answer_grid_id_annotator_id")),
    )
    op.create_index(op.f("ix_answer_annotator_id"), "answer", ["annotator_id"], unique=False)
    op.create_index(op.f("ix_answer_assignment_id"), "answer", ["assignment_id"], unique=False)
    op.create_index(op.f("ix_answer_campaign_id"), "answer", ["campaign_id"], unique=False)
    op.create_index(
        "ix_answer_live",
        "answer",
        ["grid_id", "lease_expires_at"],
        unique=False,
        postgresql_where=sa.text("state = 'leased'"),
    )
    op.create_table(
        "embedding",
        sa.Column("model_id", sa.Uuid(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("vector", VECTOR(), nullable=False),
        sa.Column("x", sa.Double(), nullable=False),
        sa.Column("y", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["model_id"],
            ["model.id"],
            name=op.f("fk_embedding_model_id_model"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("model_id", "position", name=op.f("pk_embedding")),
    )


def downgrade() -> None:
    op.drop_table("embedding")
    op.drop_index(
        "ix_answer_live",
        table_name="answer",
        postgresql_where=sa.text("state = 'leased'"),
    )
    op.drop_index(op.f("ix_answer_campaign_id"), table_name="answer")
    op.drop_index(op.f("ix_answer_assignment_id"), table_name="answer")
    op.drop_index(op.f("ix_answer_annotator_id"), table_name="answer")
    op.drop_table("answer")
    op.drop_table("model")
    op.drop_index(
        "ix_grid_unfilled",
        table_name="grid",
        postgresql_where=sa.text("n_answers < wanted"),
    )
    op.drop_index(op.f("ix_grid_campaign_id"), table_name="grid")
    op.drop_table("grid")
    op.drop_index(
        "uq_assignment_open",
        table_name="assignment",
        postgresql_where=sa.text("state = 'open'"),
    )
    op.drop_index(op.f("ix_assignment_campaign_id"), table_name="assignment")
    op.drop_table("assignment")
    op.drop_table("annotator_identity")
    op.drop_index("uq_round_open", table_name="round", postgresql_where=sa.text("state = 'open'"))
    op.drop_table("round")
    op.drop_index(
        "uq_job_active",
        table_name="job",
        postgresql_where=sa.text("state IN ('queued', 'running')"),
    )
    op.drop_index(op.f("ix_job_campaign_id"), table_name="job")
    op.drop_index(
        "ix_job_active_state",
        table_name="job",
        postgresql_where=sa.text("state IN ('queued','running')"),
    )
    op.drop_table("job")
    op.drop_table("annotator")
    op.drop_table("image")
    op.drop_index(op.f("ix_campaign_owner_id"), table_name="campaign")
    op.drop_index(op.f("ix_campaign_collection_id"), table_name="campaign")
    op.drop_table("campaign")
    op.drop_table("sign_in_link")
    op.drop_index(op.f("ix_collection_owner_id"), table_name="collection")
    op.drop_table("collection")
    op.drop_table("browser_session")
    op.drop_index(op.f("ix_audit_event_subject_id"), table_name="audit_event")
    op.drop_index(op.f("ix_audit_event_account_id"), table_name="audit_event")
    op.drop_table("audit_event")
    op.drop_index(
        "ix_outbox_waiting",
        table_name="outbox",
        postgresql_where=sa.text("dispatched_at IS NULL"),
    )
    op.drop_index(op.f("ix_outbox_job_id"), table_name="outbox")
    op.drop_table("outbox")
    op.drop_table("account")
