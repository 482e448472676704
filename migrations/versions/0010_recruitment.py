"""Recruitment and payment: channel accounts, postings, submissions, the ledger.

Revision ID: 0010
Revises: 0009
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql
from uuid_utils.compat import uuid7

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

# What a payment is for and how much it is never changes; only how it goes with it does.
KEEPS_PAYMENTS = """
CREATE FUNCTION keep_payment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.id, NEW.campaign_id, NEW.recruitment_id, NEW.kind, NEW.rule, NEW.amount_cents,
        NEW.fee_cents, NEW.currency)
       IS DISTINCT FROM
       (OLD.id, OLD.campaign_id, OLD.recruitment_id, OLD.kind, OLD.rule, OLD.amount_cents,
        OLD.fee_cents, OLD.currency) THEN
        RAISE EXCEPTION 'a payment never changes what it is for';
    END IF;
    IF OLD.state IN ('paid', 'cancelled') AND NEW.state <> OLD.state THEN
        RAISE EXCEPTION 'payment % is % for good', OLD.id, OLD.state;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER payment_is_kept BEFORE UPDATE ON payment
    FOR EACH ROW EXECUTE FUNCTION keep_payment();
"""

NEW_LINK = """
INSERT INTO recruitment (id, campaign_id, channel, name, link_token, state, settings, places,
    reward_cents, currency, opened_at, created_at)
SELECT :link, id, 'link', 'Link', link_token, 'open', '{"access": "open", "per_device": 0}', 0,
    reward_cents, currency, coalesce(started_at, created_at), coalesce(started_at, created_at)
FROM campaign WHERE id = :campaign
"""
COMES_BY_LINK = """
UPDATE assignment SET recruitment_id = recruitment.id FROM recruitment
WHERE assignment.campaign_id = recruitment.campaign_id AND assignment.channel = 'link'
"""
FINISHED = """
SELECT assignment.id FROM assignment JOIN recruitment ON recruitment.id = recruitment_id
WHERE assignment.state = 'completed' AND n_answered > 0 AND target > 0 AND reward_cents > 0
ORDER BY completed_at, assignment.id
"""
# In proportion, rounded up to a cent. Whether it was paid already, only the requester knows.
NEW_PAYMENT = """
INSERT INTO payment (id, campaign_id, recruitment_id, assignment_id, annotator_id, kind, rule,
    amount_cents, fee_cents, currency, reason, state, why, created_at)
SELECT :payment, assignment.campaign_id, recruitment_id, assignment.id, annotator_id, 'outside',
    'reward', ceil(reward_cents::numeric * least(n_answered, target) / target), 0, currency,
    least(n_answered, target) || ' of ' || target || ' grids.', 'due',
    'From before payments were kept here: say so if it is paid already.',
    coalesce(completed_at, assignment.created_at)
FROM assignment JOIN recruitment ON recruitment.id = recruitment_id
WHERE assignment.id = :assignment
"""


def upgrade() -> None:
    op.create_table(
        "channel_account",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("channel", sa.String(20), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("environment", sa.String(20), nullable=False),
        sa.Column("source", sa.String(20), nullable=False),
        sa.Column("profile", sa.String(100), server_default="", nullable=False),
        sa.Column("secret", sa.LargeBinary()),
        sa.Column("hook_secret", sa.LargeBinary()),
        sa.Column("checked", postgresql.JSONB()),
        sa.Column("checked_at", sa.DateTime(timezone=True)),
        *_identified(),
        sa.CheckConstraint(
            "(source = 'stored') = (secret IS NOT NULL)", name=op.f("ck_channel_account_secret")
        ),
        sa.CheckConstraint(
            "channel IN ('mturk', 'prolific')", name=op.f("ck_channel_account_channel")
        ),
        sa.CheckConstraint(
            "environment IN ('production', 'sandbox', 'custom')",
            name=op.f("ck_channel_account_environment"),
        ),
        sa.CheckConstraint(
            "source IN ('stored', 'environment')", name=op.f("ck_channel_account_source")
        ),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["account.id"],
            name=op.f("fk_channel_account_account_id_account"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_channel_account")),
    )
    op.create_index(op.f("ix_channel_account_account_id"), "channel_account", ["account_id"])
    op.create_table(
        "channel_event",
        sa.Column("channel_account_id", sa.Uuid(), nullable=False),
        sa.Column("event_id", sa.String(200), nullable=False),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False
        ),
        sa.ForeignKeyConstraint(
            ["channel_account_id"],
            ["channel_account.id"],
            name=op.f("fk_channel_event_channel_account_id_channel_account"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("channel_account_id", "event_id", name=op.f("pk_channel_event")),
    )
    op.create_index(op.f("ix_channel_event_created_at"), "channel_event", ["created_at"])
    op.create_table(
        "recruitment",
        sa.Column("campaign_id", sa.Uuid(), nullable=False),
        sa.Column("channel", sa.String(20), nullable=False),
        sa.Column("channel_account_id", sa.Uuid()),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("link_token", sa.String(64), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("settings", postgresql.JSONB(), nullable=False),
        sa.Column("password_hash", sa.String(200)),
        sa.Column("places", sa.Integer(), nullable=False),
        sa.Column("reward_cents", sa.Integer(), nullable=False),
        sa.Column("currency", sa.String(3), nullable=False),
        sa.Column("spend_limit_cents", sa.Integer()),
        sa.Column("opened_at", sa.DateTime(timezone=True)),
        sa.Column("stopped_at", sa.DateTime(timezone=True)),
        sa.Column("poll_at", sa.DateTime(timezone=True)),
        sa.Column("polled_at", sa.DateTime(timezone=True)),
        sa.Column("poll_failures", sa.Integer(), server_default="0", nullable=False),
        sa.Column("poll_error", sa.Text(), server_default="", nullable=False),
        *_identified(),
        sa.CheckConstraint(
            "(channel = 'link') = (channel_account_id IS NULL)",
            name=op.f("ck_recruitment_has_channel_account"),
        ),
        sa.CheckConstraint(
            "(channel = 'link' AND settings ->> 'access' = 'password') = "
            "(password_hash IS NOT NULL)",
            name=op.f("ck_recruitment_password"),
        ),
        sa.CheckConstraint(
            "channel IN ('link', 'mturk', 'prolific')", name=op.f("ck_recruitment_channel")
        ),
        sa.CheckConstraint(
            "state IN ('draft', 'open', 'paused', 'stopped')", name=op.f("ck_recruitment_state")
        ),
        sa.CheckConstraint("places >= 0 AND reward_cents >= 0", name=op.f("ck_recruitment_sizes")),
        sa.CheckConstraint("spend_limit_cents >= 0", name=op.f("ck_recruitment_spend_limit")),
        sa.ForeignKeyConstraint(
            ["campaign_id"],
            ["campaign.id"],
            name=op.f("fk_recruitment_campaign_id_campaign"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["channel_account_id"],
            ["channel_account.id"],
            name=op.f("fk_recruitment_channel_account_id_channel_account"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_recruitment")),
        sa.UniqueConstraint("link_token", name=op.f("uq_recruitment_link_token")),
    )
    op.create_index(op.f("ix_recruitment_campaign_id"), "recruitment", ["campaign_id"])
    op.create_index(
        op.f("ix_recruitment_channel_account_id"), "recruitment", ["channel_account_id"]
    )
    op.create_index(
        "ix_recruitment_due",
        "recruitment",
        ["poll_at"],
        postgresql_where=sa.text("poll_at IS NOT NULL"),
    )
    op.create_table(
        "invitation",
        sa.Column("recruitment_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("label", sa.String(200), server_default="", nullable=False),
        sa.Column("annotator_id", sa.Uuid()),
        sa.Column("used_at", sa.DateTime(timezone=True)),
        sa.Column("revoked_at", sa.DateTime(timezone=True)),
        *_identified(),
        sa.CheckConstraint(
            "annotator_id IS NULL OR used_at IS NOT NULL", name=op.f("ck_invitation_used")
        ),
        sa.ForeignKeyConstraint(
            ["annotator_id"],
            ["annotator.id"],
            name=op.f("fk_invitation_annotator_id_annotator"),
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["recruitment_id"],
            ["recruitment.id"],
            name=op.f("fk_invitation_recruitment_id_recruitment"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitation")),
        sa.UniqueConstraint(
            "recruitment_id", "number", name=op.f("uq_invitation_recruitment_id_number")
        ),
        sa.UniqueConstraint("token_hash", name=op.f("uq_invitation_token_hash")),
    )
    op.create_index(op.f("ix_invitation_annotator_id"), "invitation", ["annotator_id"])
    op.create_table(
        "posting",
        sa.Column("recruitment_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("places", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("external_id", sa.String(100)),
        sa.Column("details", postgresql.JSONB(), server_default="{}", nullable=False),
        sa.Column("at_work", sa.Integer(), server_default="0", nullable=False),
        sa.Column("compensates", sa.Uuid()),
        sa.Column("amount_cents", sa.Integer()),
        sa.Column("taken", sa.Integer(), server_default="0", nullable=False),
        sa.Column("closed_at", sa.DateTime(timezone=True)),
        *_identified(),
        sa.CheckConstraint(
            "state IN ('planned', 'open', 'paused', 'closed', 'failed')",
            name=op.f("ck_posting_state"),
        ),
        sa.CheckConstraint("places > 0", name=op.f("ck_posting_places")),
        sa.CheckConstraint(
            "(compensates IS NULL) = (amount_cents IS NULL)", name=op.f("ck_posting_compensation")
        ),
        sa.ForeignKeyConstraint(
            ["compensates"], ["assignment.id"], name=op.f("fk_posting_compensates_assignment")
        ),
        sa.ForeignKeyConstraint(
            ["recruitment_id"],
            ["recruitment.id"],
            name=op.f("fk_posting_recruitment_id_recruitment"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_posting")),
        sa.UniqueConstraint(
            "recruitment_id", "external_id", name=op.f("uq_posting_recruitment_id_external_id")
        ),
        sa.UniqueConstraint(
            "recruitment_id", "number", name=op.f("uq_posting_recruitment_id_number")
        ),
    )
    op.create_index(op.f("ix_posting_external_id"), "posting", ["external_id"])
    op.create_index(op.f("ix_posting_compensates"), "posting", ["compensates"])
    op.create_table(
        "submission",
        sa.Column("recruitment_id", sa.Uuid(), nullable=False),
        sa.Column("posting_id", sa.Uuid(), nullable=False),
        sa.Column("assignment_id", sa.Uuid()),
        sa.Column("external_id", sa.String(100), nullable=False),
        sa.Column("person_hash", sa.String(64), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("code", sa.String(100), server_default="", nullable=False),
        sa.Column("accepted_at", sa.DateTime(timezone=True)),
        sa.Column("submitted_at", sa.DateTime(timezone=True)),
        sa.Column("auto_approved_at", sa.DateTime(timezone=True)),
        sa.Column(
            "seen_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False
        ),
        sa.Column("bonus_cents", sa.Integer()),
        sa.Column("flag", sa.String(40), server_default="", nullable=False),
        sa.Column("decision", sa.String(20)),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        *_identified(),
        sa.CheckConstraint(
            "decision IN ('approve', 'reject', 'screen_out')", name=op.f("ck_submission_decision")
        ),
        sa.CheckConstraint(
            "state IN ('accepted', 'submitted', 'approved', 'rejected', 'returned', 'timed_out', "
            "'screened_out')",
            name=op.f("ck_submission_state"),
        ),
        sa.ForeignKeyConstraint(
            ["assignment_id"],
            ["assignment.id"],
            name=op.f("fk_submission_assignment_id_assignment"),
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["posting_id"],
            ["posting.id"],
            name=op.f("fk_submission_posting_id_posting"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["recruitment_id"],
            ["recruitment.id"],
            name=op.f("fk_submission_recruitment_id_recruitment"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_submission")),
        sa.UniqueConstraint(
            "recruitment_id",
            "external_id",
            "person_hash",
            name=op.f("uq_submission_recruitment_id_external_id_person_hash"),
        ),
    )
    op.create_index(op.f("ix_submission_assignment_id"), "submission", ["assignment_id"])
    op.create_index(op.f("ix_submission_posting_id"), "submission", ["posting_id"])
    op.create_table(
        "channel_call",
        sa.Column("recruitment_id", sa.Uuid(), nullable=False),
        sa.Column("posting_id", sa.Uuid()),
        sa.Column("submission_id", sa.Uuid()),
        sa.Column("deed", sa.String(20), nullable=False),
        sa.Column("arguments", postgresql.JSONB(), server_default="{}", nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("why", sa.Text(), server_default="", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column(
            "due_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False
        ),
        sa.Column("ended_at", sa.DateTime(timezone=True)),
        sa.Column("history", postgresql.JSONB(), server_default="[]", nullable=False),
        *_identified(),
        sa.CheckConstraint(
            "state IN ('due', 'running', 'done', 'failed', 'parked', 'cancelled')",
            name=op.f("ck_channel_call_state"),
        ),
        sa.ForeignKeyConstraint(
            ["posting_id"],
            ["posting.id"],
            name=op.f("fk_channel_call_posting_id_posting"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["recruitment_id"],
            ["recruitment.id"],
            name=op.f("fk_channel_call_recruitment_id_recruitment"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["submission_id"],
            ["submission.id"],
            name=op.f("fk_channel_call_submission_id_submission"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_channel_call")),
    )
    op.create_index(
        "ix_channel_call_due",
        "channel_call",
        ["due_at"],
        postgresql_where=sa.text("state IN ('due', 'running')"),
    )
    op.create_index(op.f("ix_channel_call_posting_id"), "channel_call", ["posting_id"])
    op.create_index(op.f("ix_channel_call_recruitment_id"), "channel_call", ["recruitment_id"])
    op.create_index(op.f("ix_channel_call_submission_id"), "channel_call", ["submission_id"])
    op.create_table(
        "payment",
        sa.Column("campaign_id", sa.Uuid(), nullable=False),
        sa.Column("recruitment_id", sa.Uuid(), nullable=False),
        sa.Column("submission_id", sa.Uuid()),
        sa.Column("assignment_id", sa.Uuid()),
        sa.Column("annotator_id", sa.Uuid()),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("rule", sa.String(60), nullable=False),
        sa.Column("amount_cents", sa.Integer(), nullable=False),
        sa.Column("fee_cents", sa.Integer(), nullable=False),
        sa.Column("currency", sa.String(3), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("why", sa.Text(), server_default="", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column(
            "due_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False
        ),
        sa.Column("first_tried_at", sa.DateTime(timezone=True)),
        sa.Column("looks", sa.Integer(), server_default="0", nullable=False),
        sa.Column("unsure", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("external_id", sa.String(100), server_default="", nullable=False),
        sa.Column("paid_at", sa.DateTime(timezone=True)),
        sa.Column("history", postgresql.JSONB(), server_default="[]", nullable=False),
        *_identified(),
        sa.CheckConstraint(
            "(state = 'paid') = (paid_at IS NOT NULL)", name=op.f("ck_payment_paid_at")
        ),
        sa.CheckConstraint(
            "kind IN ('reward', 'bonus', 'screen_out', 'outside')", name=op.f("ck_payment_kind")
        ),
        sa.CheckConstraint(
            "state IN ('held', 'due', 'running', 'paid', 'failed', 'parked', 'cancelled')",
            name=op.f("ck_payment_state"),
        ),
        sa.CheckConstraint("amount_cents >= 0 AND fee_cents >= 0", name=op.f("ck_payment_amounts")),
        sa.ForeignKeyConstraint(
            ["annotator_id"], ["annotator.id"], name=op.f("fk_payment_annotator_id_annotator")
        ),
        sa.ForeignKeyConstraint(
            ["assignment_id"], ["assignment.id"], name=op.f("fk_payment_assignment_id_assignment")
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id"],
            ["campaign.id"],
            name=op.f("fk_payment_campaign_id_campaign"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["recruitment_id"],
            ["recruitment.id"],
            name=op.f("fk_payment_recruitment_id_recruitment"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submission.id"], name=op.f("fk_payment_submission_id_submission")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_payment")),
    )
    for column in ("assignment_id", "submission_id"):
        op.create_index(
            f"uq_payment_{column}_rule",
            "payment",
            [column, "rule"],
            unique=True,
            postgresql_where=sa.text("state <> 'cancelled'"),
        )
    op.create_index(op.f("ix_payment_annotator_id"), "payment", ["annotator_id"])
    op.create_index("ix_payment_campaign_id_state", "payment", ["campaign_id", "state"])
    op.create_index(
        "ix_payment_due",
        "payment",
        ["due_at"],
        postgresql_where=sa.text("state IN ('due', 'running')"),
    )
    op.create_index(op.f("ix_payment_recruitment_id"), "payment", ["recruitment_id"])
    op.add_column("assignment", sa.Column("recruitment_id", sa.Uuid()))
    op.add_column("assignment", sa.Column("posting_id", sa.Uuid()))
    op.add_column(
        "assignment", sa.Column("extra", sa.Integer(), server_default="0", nullable=False)
    )
    op.add_column("assignment", sa.Column("handed_in_at", sa.DateTime(timezone=True)))
    op.add_column("assignment", sa.Column("screened_out_at", sa.DateTime(timezone=True)))
    op.add_column("assignment", sa.Column("seen_at", sa.DateTime(timezone=True)))
    op.create_index(op.f("ix_assignment_posting_id"), "assignment", ["posting_id"])
    op.create_index(op.f("ix_assignment_recruitment_id"), "assignment", ["recruitment_id"])
    op.create_foreign_key(
        op.f("fk_assignment_posting_id_posting"),
        "assignment",
        "posting",
        ["posting_id"],
        ["id"],
        ondelete="SET NULL",
    )
    op.create_foreign_key(
        op.f("fk_assignment_recruitment_id_recruitment"),
        "assignment",
        "recruitment",
        ["recruitment_id"],
        ["id"],
        ondelete="SET NULL",
    )
    op.drop_constraint("ck_assignment_state", "assignment")
    op.create_check_constraint(
        op.f("ck_assignment_state"), "assignment", "state IN ('open', 'completed', 'returned')"
    )
    op.drop_constraint("ck_assignment_answered", "assignment")
    op.create_check_constraint(
        op.f("ck_assignment_answered"), "assignment", "n_answered >= 0 AND extra >= 0"
    )
    op.drop_index("uq_assignment_open", table_name="assignment")
    op.create_index(
        "uq_assignment_open",
        "assignment",
        ["annotator_id"],
        unique=True,
        postgresql_where=sa.text("state = 'open' AND external_id IS NULL"),
    )
    _links_of_started_campaigns()
    op.execute(KEEPS_PAYMENTS)


def downgrade() -> None:
    op.execute("DROP TRIGGER payment_is_kept ON payment")
    op.execute("DROP FUNCTION keep_payment()")
    # The older schema knows neither assignments given back nor several open ones of one person.
    op.execute("UPDATE assignment SET state = 'completed' WHERE state = 'returned'")
    op.execute(
        "UPDATE assignment SET state = 'completed' WHERE state = 'open' AND external_id IS NOT NULL"
    )
    op.drop_index("uq_assignment_open", table_name="assignment")
    op.create_index(
        "uq_assignment_open",
        "assignment",
        ["annotator_id"],
        unique=True,
        postgresql_where=sa.text("state = 'open'"),
    )
    op.drop_constraint("ck_assignment_state", "assignment")
    op.create_check_constraint(
        op.f("ck_assignment_state"), "assignment", "state IN ('open', 'completed')"
    )
    op.drop_constraint("ck_assignment_answered", "assignment")
    op.create_check_constraint(op.f("ck_assignment_answered"), "assignment", "n_answered >= 0")
    op.drop_constraint(
        op.f("fk_assignment_recruitment_id_recruitment"), "assignment", type_="foreignkey"
    )
    op.drop_constraint(op.f("fk_assignment_posting_id_posting"), "assignment", type_="foreignkey")
    op.drop_index(op.f("ix_assignment_recruitment_id"), table_name="assignment")
    op.drop_index(op.f("ix_assignment_posting_id"), table_name="assignment")
    op.drop_column("assignment", "seen_at")
    op.drop_column("assignment", "screened_out_at")
    op.drop_column("assignment", "handed_in_at")
    op.drop_column("assignment", "extra")
    op.drop_column("assignment", "posting_id")
    op.drop_column("assignment", "recruitment_id")
    op.drop_index(op.f("ix_payment_recruitment_id"), table_name="payment")
    op.drop_index(
        "ix_payment_due",
        table_name="payment",
        postgresql_where=sa.text("state IN ('due', 'running')"),
    )
    op.drop_index("ix_payment_campaign_id_state", table_name="payment")
    op.drop_index(op.f("ix_payment_annotator_id"), table_name="payment")
    op.drop_table("payment")
    op.drop_index(op.f("ix_channel_call_submission_id"), table_name="channel_call")
    op.drop_index(op.f("ix_channel_call_recruitment_id"), table_name="channel_call")
    op.drop_index(op.f("ix_channel_call_posting_id"), table_name="channel_call")
    op.drop_index(
        "ix_channel_call_due",
        table_name="channel_call",
        postgresql_where=sa.text("state IN ('due', 'running')"),
    )
    op.drop_table("channel_call")
    op.drop_index(op.f("ix_submission_posting_id"), table_name="submission")
    op.drop_index(op.f("ix_submission_assignment_id"), table_name="submission")
    op.drop_table("submission")
    op.drop_index(op.f("ix_posting_external_id"), table_name="posting")
    op.drop_table("posting")
    op.drop_index(op.f("ix_invitation_annotator_id"), table_name="invitation")
    op.drop_table("invitation")
    op.drop_index(
        "ix_recruitment_due",
        table_name="recruitment",
        postgresql_where=sa.text("poll_at IS NOT NULL"),
    )
    op.drop_index(op.f("ix_recruitment_channel_account_id"), table_name="recruitment")
    op.drop_index(op.f("ix_recruitment_campaign_id"), table_name="recruitment")
    op.drop_table("recruitment")
    op.drop_index(op.f("ix_channel_event_created_at"), table_name="channel_event")
    op.drop_table("channel_event")
    op.drop_index(op.f("ix_channel_account_account_id"), table_name="channel_account")
    op.drop_table("channel_account")


def _links_of_started_campaigns() -> None:
    """Each campaign's link becomes a recruitment, and what is owed to who came by it is booked."""
    connection = op.get_bind()
    campaigns = connection.execute(
        sa.text("SELECT id FROM campaign WHERE state <> 'draft' ORDER BY id")
    ).scalars()
    links = [{"campaign": one, "link": uuid7()} for one in campaigns]
    if not links:
        return
    connection.execute(sa.text(NEW_LINK), links)
    connection.execute(sa.text(COMES_BY_LINK))
    finished = connection.execute(sa.text(FINISHED)).scalars()
    owed = [{"assignment": one, "payment": uuid7()} for one in finished]
    if owed:
        connection.execute(sa.text(NEW_PAYMENT), owed)


def _identified() -> list[sa.Column[object]]:
    return [
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False
        ),
    ]
