"""The tables of recruitment and payment."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    CheckConstraint,
    ForeignKey,
    Index,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database import Base, Identified
from app.core.work import Attempted

RECRUITMENT_STATES = ("draft", "open", "paused", "stopped")
POSTING_STATES = ("planned", "open", "paused", "closed", "failed")
SUBMISSION_STATES = (
    "accepted",
    "submitted",
    "approved",
    "rejected",
    "returned",
    "timed_out",
    "screened_out",
)
WORK_STATES = ("due", "running", "done", "failed", "parked", "cancelled")
PAYMENT_STATES = ("held", "due", "running", "paid", "failed", "parked", "cancelled")


class ChannelAccount(Identified, Base):
    """A requester's account on a platform.

    environment: `production`, `sandbox`, or `custom` (the endpoint in the operator's settings).
    source: `stored` if the credentials are encrypted in `secret`; `environment` if they come from
        the server's own environment or from the AWS profile `profile`, which only admins can use.
    checked: the result of the last check: balance, problems and warnings.
    """

    __tablename__ = "channel_account"
    __table_args__ = (
        CheckConstraint("environment IN ('production', 'sandbox', 'custom')", name="environment"),
        CheckConstraint("source IN ('stored', 'environment')", name="source"),
        CheckConstraint("(source = 'stored') = (secret IS NOT NULL)", name="secret"),
    )

    account_id: Mapped[UUID] = mapped_column(
        ForeignKey("account.id", ondelete="CASCADE"), index=True
    )
    channel: Mapped[str] = mapped_column(String(20))
    name: Mapped[str] = mapped_column(String(100))
    environment: Mapped[str] = mapped_column(String(20))
    source: Mapped[str] = mapped_column(String(20))
    profile: Mapped[str] = mapped_column(String(100), default="", server_default="")
    secret: Mapped[bytes | None] = mapped_column(LargeBinary)
    # The secret of the platform's signed notifications, encrypted.
    hook_secret: Mapped[bytes | None] = mapped_column(LargeBinary)
    checked: Mapped[dict[str, Any] | None] = mapped_column(JSONB)
    checked_at: Mapped[datetime | None]


class Recruitment(Identified, Base):
    """A campaign's recruiting on one channel.

    `settings` are those of the channel in app.recruitment.settings. `places` is the total number of
    assignments, and the reward is for each. `spend_limit_cents` limits everything that this
    recruitment can ever cost, with fees. It is null on the channel `link`, where Likewise does not
    pay. There, 0 places means no limit, and the link with the campaign's own `link_token` is its
    first one, created at its start.

    password_hash: hash of the link's password (Argon2id), if it has one.
    """

    __tablename__ = "recruitment"
    __table_args__ = (
        CheckConstraint(f"state IN {RECRUITMENT_STATES}", name="state"),
        CheckConstraint("places >= 0 AND reward_cents >= 0", name="sizes"),
        CheckConstraint("spend_limit_cents >= 0", name="spend_limit"),
        CheckConstraint(
            "(channel = 'link') = (channel_account_id IS NULL)", name="has_channel_account"
        ),
        CheckConstraint(
            "(channel = 'link' AND settings ->> 'access' = 'password') = "
            "(password_hash IS NOT NULL)",
            name="password",
        ),
        Index(
            "ix_recruitment_due",
            "poll_at",
            postgresql_where=text("poll_at IS NOT NULL"),
        ),
    )

    campaign_id: Mapped[UUID] = mapped_column(
        ForeignKey("campaign.id", ondelete="CASCADE"), index=True
    )
    channel: Mapped[str] = mapped_column(String(20))
    channel_account_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("channel_account.id"), index=True
    )
    name: Mapped[str] = mapped_column(String(100))
    link_token: Mapped[str] = mapped_column(String(64), unique=True)
    state: Mapped[str] = mapped_column(String(20), default="draft")
    settings: Mapped[dict[str, Any]] = mapped_column(JSONB)
    password_hash: Mapped[str | None] = mapped_column(String(200))
    places: Mapped[int]
    reward_cents: Mapped[int]
    currency: Mapped[str] = mapped_column(String(3))
    spend_limit_cents: Mapped[int | None]
    opened_at: Mapped[datetime | None]
    stopped_at: Mapped[datetime | None]
    # When the platform is checked next; null if nothing more will come.
    poll_at: Mapped[datetime | None]
    polled_at: Mapped[datetime | None]
    poll_failures: Mapped[int] = mapped_column(default=0, server_default="0")
    poll_error: Mapped[str] = mapped_column(Text, default="", server_default="")


class Posting(Identified, Base):
    """A HIT or a study on the platform. `details` come from publishing it.

    compensates: the assignment that it pays for, if it is for one person who worked but could not
        submit; `amount_cents` is then paid instead of the recruitment's reward.
    taken: places that nobody else can have, as last seen.
    at_work: how many of these have not submitted yet.
    """

    __tablename__ = "posting"
    __table_args__ = (
        UniqueConstraint("recruitment_id", "number"),
        UniqueConstraint("recruitment_id", "external_id"),
        CheckConstraint(f"state IN {POSTING_STATES}", name="state"),
        CheckConstraint("places > 0", name="places"),
        CheckConstraint("(compensates IS NULL) = (amount_cents IS NULL)", name="compensation"),
    )

    recruitment_id: Mapped[UUID] = mapped_column(ForeignKey("recruitment.id", ondelete="CASCADE"))
    compensates: Mapped[UUID | None] = mapped_column(ForeignKey("assignment.id"), index=True)
    amount_cents: Mapped[int | None]
    number: Mapped[int]
    places: Mapped[int]
    state: Mapped[str] = mapped_column(String(20), default="planned")
    external_id: Mapped[str | None] = mapped_column(String(100), index=True)
    details: Mapped[dict[str, Any]] = mapped_column(JSONB, default=dict, server_default="{}")
    taken: Mapped[int] = mapped_column(default=0, server_default="0")
    at_work: Mapped[int] = mapped_column(default=0, server_default="0")
    closed_at: Mapped[datetime | None]


class Submission(Identified, Base):
    """The platform's own record of one person's work on a posting, as last read.

    person_hash: keyed hash of the person's platform id; the person may never have come here.
    assignment_id: our assignment, once the two were matched.
    flag: why the submission needs attention, or empty.
    decision: what the requester or a rule decided; payments and calls send it to the platform.
    bonus_cents: what the platform says it paid on top of the reward; null if not checked yet.
    """

    __tablename__ = "submission"
    __table_args__ = (
        # MTurk gives a returned assignment's id to the next person.
        UniqueConstraint("recruitment_id", "external_id", "person_hash"),
        CheckConstraint(f"state IN {SUBMISSION_STATES}", name="state"),
        CheckConstraint("decision IN ('approve', 'reject', 'screen_out')", name="decision"),
    )

    recruitment_id: Mapped[UUID] = mapped_column(ForeignKey("recruitment.id", ondelete="CASCADE"))
    posting_id: Mapped[UUID] = mapped_column(
        ForeignKey("posting.id", ondelete="CASCADE"), index=True
    )
    assignment_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("assignment.id", ondelete="SET NULL"), index=True
    )
    external_id: Mapped[str] = mapped_column(String(100))
    person_hash: Mapped[str] = mapped_column(String(64))
    state: Mapped[str] = mapped_column(String(20))
    code: Mapped[str] = mapped_column(String(100), default="", server_default="")
    accepted_at: Mapped[datetime | None]
    submitted_at: Mapped[datetime | None]
    auto_approved_at: Mapped[datetime | None]
    seen_at: Mapped[datetime] = mapped_column(server_default=func.now())
    flag: Mapped[str] = mapped_column(String(40), default="", server_default="")
    bonus_cents: Mapped[int | None]
    decision: Mapped[str | None] = mapped_column(String(20))
    reason: Mapped[str] = mapped_column(Text, default="", server_default="")


class Payment(Attempted, Base):
    """A row of the ledger: money for one person, recorded before the platform is asked to pay.

    kind: `reward` (by approving the submission), `bonus`, `screen_out`, or `outside`: what the
        requester owes on channels where Likewise does not pay.
    rule: what the payment is for; there is one payment per assignment and rule, so nothing is paid
        twice.
    state: `held` (over the limit, or waiting for the requester), `due`, `running`, `paid`, `failed`
        (the platform refused), `parked` (the outcome is unknown and a person must check),
        `cancelled`.
    fee_cents: the platform's fee, by its published rates.

    A trigger ensures that amount, kind, rule and token never change. Rows are deleted only with
    their campaign.
    """

    __tablename__ = "payment"
    __table_args__ = (
        CheckConstraint(f"state IN {PAYMENT_STATES}", name="state"),
        CheckConstraint("kind IN ('reward', 'bonus', 'screen_out', 'outside')", name="kind"),
        CheckConstraint("amount_cents >= 0 AND fee_cents >= 0", name="amounts"),
        CheckConstraint("(state = 'paid') = (paid_at IS NOT NULL)", name="paid_at"),
        Index(
            "uq_payment_assignment_id_rule",
            "assignment_id",
            "rule",
            unique=True,
            postgresql_where=text("state <> 'cancelled'"),
        ),
        Index(
            "uq_payment_submission_id_rule",
            "submission_id",
            "rule",
            unique=True,
            postgresql_where=text("state <> 'cancelled'"),
        ),
        Index("ix_payment_due", "due_at", postgresql_where=text("state IN ('due', 'running')")),
        Index("ix_payment_campaign_id_state", "campaign_id", "state"),
        Index(
            "ix_payment_bonus_unfinished",
            "submission_id",
            "id",
            postgresql_where=text("kind = 'bonus' AND state IN ('due', 'running')"),
        ),
        Index(
            "ix_payment_bonus_in_flight",
            "submission_id",
            "id",
            postgresql_where=text("kind = 'bonus' AND (state IN ('running', 'parked') OR unsure)"),
        ),
    )

    campaign_id: Mapped[UUID] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"))
    recruitment_id: Mapped[UUID] = mapped_column(
        ForeignKey("recruitment.id", ondelete="CASCADE"), index=True
    )
    submission_id: Mapped[UUID | None] = mapped_column(ForeignKey("submission.id"))
    assignment_id: Mapped[UUID | None] = mapped_column(ForeignKey("assignment.id"))
    annotator_id: Mapped[UUID | None] = mapped_column(ForeignKey("annotator.id"), index=True)
    kind: Mapped[str] = mapped_column(String(20))
    rule: Mapped[str] = mapped_column(String(60))
    amount_cents: Mapped[int]
    fee_cents: Mapped[int]
    currency: Mapped[str] = mapped_column(String(3))
    reason: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(String(20))
    why: Mapped[str] = mapped_column(Text, default="", server_default="")
    attempts: Mapped[int] = mapped_column(default=0, server_default="0")
    due_at: Mapped[datetime] = mapped_column(server_default=func.now())
    first_tried_at: Mapped[datetime | None]
    # If `unsure`, the outcome of an attempt is not known, so the payment is looked for and never
    # repeated blindly. `looks` counts how often.
    unsure: Mapped[bool] = mapped_column(default=False, server_default="false")
    looks: Mapped[int] = mapped_column(default=0, server_default="0")
    external_id: Mapped[str] = mapped_column(String(100), default="", server_default="")
    paid_at: Mapped[datetime | None]
    history: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, default=list, server_default="[]")


class ChannelCall(Attempted, Base):
    """A request to a platform that must take effect exactly once. Its id is the token of all
    attempts.

    action: `publish`, `extend`, `pause`, `resume`, `stop` or `exclude` (of a posting), `reject` (of
        a submission), `message` (to the person of a submission; `arguments` have the text, and who
        sent it), or `notify` (of a recruitment's account).
    arguments: JSON.
    """

    __tablename__ = "channel_call"
    __table_args__ = (
        CheckConstraint(f"state IN {WORK_STATES}", name="state"),
        Index(
            "ix_channel_call_due", "due_at", postgresql_where=text("state IN ('due', 'running')")
        ),
        Index(
            "ix_channel_call_turn",
            text("COALESCE(submission_id, posting_id, recruitment_id)"),
            "id",
            postgresql_where=text("state IN ('due', 'running') AND action <> 'exclude'"),
        ),
    )

    recruitment_id: Mapped[UUID] = mapped_column(
        ForeignKey("recruitment.id", ondelete="CASCADE"), index=True
    )
    posting_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("posting.id", ondelete="CASCADE"), index=True
    )
    submission_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("submission.id", ondelete="CASCADE"), index=True
    )
    action: Mapped[str] = mapped_column(String(20))
    arguments: Mapped[dict[str, Any]] = mapped_column(JSONB, default=dict, server_default="{}")
    state: Mapped[str] = mapped_column(String(20), default="due")
    why: Mapped[str] = mapped_column(Text, default="", server_default="")
    attempts: Mapped[int] = mapped_column(default=0, server_default="0")
    due_at: Mapped[datetime] = mapped_column(server_default=func.now())
    ended_at: Mapped[datetime | None]
    history: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, default=list, server_default="[]")


class SeenEvent(Base):
    """A platform's notification that was processed. The platform may send it again."""

    __tablename__ = "channel_event"

    channel_account_id: Mapped[UUID] = mapped_column(
        ForeignKey("channel_account.id", ondelete="CASCADE"), primary_key=True
    )
    event_id: Mapped[str] = mapped_column(String(200), primary_key=True)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now(), index=True)


class LinkParameters(Base):
    """What the address said by which somebody came through a link, apart from the person's id,
    which is in `annotator_identity`. Deleted with identities.

    values: the kept parameters by name, as the newest visit of the assignment brought them.
    """

    __tablename__ = "link_parameters"

    assignment_id: Mapped[UUID] = mapped_column(
        ForeignKey("assignment.id", ondelete="CASCADE"), primary_key=True
    )
    annotator_id: Mapped[UUID] = mapped_column(
        ForeignKey("annotator.id", ondelete="CASCADE"), index=True
    )
    campaign_id: Mapped[UUID] = mapped_column(
        ForeignKey("campaign.id", ondelete="CASCADE"), index=True
    )
    values: Mapped[dict[str, str]] = mapped_column(JSONB)


class Invitation(Identified, Base):
    """A personal address of a link: for one person on its list, or single-use. Only the hash of its
    token is stored.

    label: the person's name on the imported list; deleted with identities.
    used_at: when someone started with it.
    annotator_id: who that is; null again once deleted.
    """

    __tablename__ = "invitation"
    __table_args__ = (
        UniqueConstraint("recruitment_id", "number"),
        CheckConstraint("annotator_id IS NULL OR used_at IS NOT NULL", name="used"),
    )

    recruitment_id: Mapped[UUID] = mapped_column(ForeignKey("recruitment.id", ondelete="CASCADE"))
    number: Mapped[int]
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    label: Mapped[str] = mapped_column(String(200), default="", server_default="")
    annotator_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("annotator.id", ondelete="SET NULL"), index=True
    )
    used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
