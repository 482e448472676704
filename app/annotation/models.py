"""Tables of annotators, assignments and answers."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    ForeignKey,
    Index,
    Integer,
    SmallInteger,
    String,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database import Base, Identified


class Annotator(Identified, Base):
    """A person who groups images, as this campaign knows them: by a position, without an identity.

    consented_at, consented_to: the last agreement to a consent text, and that text's key.
    answered_before, answered_after: keys of the last questionnaires that the annotator answered.
    screened_out_at: when answers before the grids screened the annotator out.
    practice: agreement with the known answer for each practice grid, as a list per grid with one
        number per try.
    warned_at, stopped_at, left_out_at: when a measure against careless work was taken; null if not.
    asked_again_at: when the answers of an annotator who is left out were asked again; later ones
        fill no place.
    reviewed_at: when a requester decided about the annotator; after that, no automatic rule does.
    decision_reason: why the last measure was taken or undone.
    """

    __tablename__ = "annotator"
    __table_args__ = (UniqueConstraint("campaign_id", "position"),)

    campaign_id: Mapped[UUID] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"))
    position: Mapped[int]
    consented_at: Mapped[datetime | None]
    consented_to: Mapped[str | None] = mapped_column(String(64))
    answered_before: Mapped[str | None] = mapped_column(String(64))
    answered_after: Mapped[str | None] = mapped_column(String(64))
    screened_out_at: Mapped[datetime | None]
    instructed_at: Mapped[datetime | None]
    practice: Mapped[list[list[float]]] = mapped_column(JSONB, default=list, server_default="[]")
    warned_at: Mapped[datetime | None]
    warning_seen_at: Mapped[datetime | None]
    stopped_at: Mapped[datetime | None]
    left_out_at: Mapped[datetime | None]
    asked_again_at: Mapped[datetime | None]
    reviewed_at: Mapped[datetime | None]
    decision_reason: Mapped[str] = mapped_column(Text, default="", server_default="")


class ConsentText(Identified, Base):
    """A consent text as somebody agreed to it. `sha256` is its key; versions are numbered from 1 in
    the order of their first agreements."""

    __tablename__ = "consent_text"
    __table_args__ = (
        UniqueConstraint("campaign_id", "version"),
        UniqueConstraint("campaign_id", "sha256"),
    )

    campaign_id: Mapped[UUID] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"))
    version: Mapped[int]
    sha256: Mapped[str] = mapped_column(String(64))
    text: Mapped[str] = mapped_column(Text)


class ConsentAgreement(Base):
    """An annotator agreed to a consent text."""

    __tablename__ = "consent_agreement"

    annotator_id: Mapped[UUID] = mapped_column(
        ForeignKey("annotator.id", ondelete="CASCADE"), primary_key=True
    )
    consent_text_id: Mapped[UUID] = mapped_column(
        ForeignKey("consent_text.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    agreed_at: Mapped[datetime]


class Questionnaire(Identified, Base):
    """The questions before or after the grids as somebody answered them. `sha256` is their key;
    versions are numbered from 1 in the order of their first answers."""

    __tablename__ = "questionnaire"
    __table_args__ = (
        CheckConstraint("place IN ('before', 'after')", name="place"),
        UniqueConstraint("campaign_id", "place", "version"),
        UniqueConstraint("campaign_id", "place", "sha256"),
    )

    campaign_id: Mapped[UUID] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"))
    place: Mapped[str] = mapped_column(String(10))
    version: Mapped[int]
    sha256: Mapped[str] = mapped_column(String(64))
    questions: Mapped[list[dict[str, Any]]] = mapped_column(JSONB)


class QuestionnaireReply(Base):
    """An annotator's answers to one version of a questionnaire, by the keys of the questions.

    screened_out_by: keys of the questions whose answers screened the annotator out; the answers
        themselves are then not kept.
    """

    __tablename__ = "questionnaire_reply"

    annotator_id: Mapped[UUID] = mapped_column(
        ForeignKey("annotator.id", ondelete="CASCADE"), primary_key=True
    )
    questionnaire_id: Mapped[UUID] = mapped_column(
        ForeignKey("questionnaire.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    answers: Mapped[dict[str, Any]] = mapped_column(JSONB)
    screened_out_by: Mapped[list[str]] = mapped_column(
        ARRAY(String(40)), default=list, server_default="{}"
    )
    answered_at: Mapped[datetime]


class AnnotatorIdentity(Base):
    """Where an annotator comes from. It is separate from answers so that it can be deleted alone.

    `channel` is `import` for people whose answers were imported; nobody is paid for those.
    `key_hash` recognises a returning annotator. `external_id` is the channel's id of the person; it
    is null for links that know only the browser's random key.
    """

    __tablename__ = "annotator_identity"
    __table_args__ = (UniqueConstraint("campaign_id", "channel", "key_hash"),)

    annotator_id: Mapped[UUID] = mapped_column(
        ForeignKey("annotator.id", ondelete="CASCADE"), primary_key=True
    )
    campaign_id: Mapped[UUID] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"))
    channel: Mapped[str] = mapped_column(String(20))
    key_hash: Mapped[str] = mapped_column(String(64))
    external_id: Mapped[str | None] = mapped_column(String(200))


class Assignment(Identified, Base):
    """What one annotator takes on and is paid for: `target` grids of one campaign, and `extra`
    grids that they chose to do for a bonus.

    state: `returned` if the person returned it on the platform, or if the platform gave it to
        someone else; `screened_out` if answers before the grids screened the person out.
    external_id: the platform's id; the platform has its own record
        (app.recruitment.models.Submission).
    handed_in_at: when the annotator's page began to submit it on the platform.
    grids_over_at: when there were no more grids for the person before all were done, and the
        questions after them were asked.
    screened_out_at: when practice was failed, if the recruitment then sends people back, or when
        answers before the grids screened the person out.
    seen_at: when the annotator's page last reported; null if it reported that it was closed.
    left_out_at: when its work was rejected and asked again; its answers are left out of learning.
    """

    __tablename__ = "assignment"
    __table_args__ = (
        CheckConstraint("state IN ('open', 'completed', 'returned', 'screened_out')", name="state"),
        CheckConstraint("n_answered >= 0 AND extra >= 0", name="answered"),
        # A platform may hand the same assignment id to another person, so the person is in the key.
        UniqueConstraint("channel", "external_id", "annotator_id"),
        # On platforms a person may hold several at once, each with its own id there.
        Index(
            "uq_assignment_open",
            "annotator_id",
            unique=True,
            postgresql_where=text("state = 'open' AND external_id IS NULL"),
        ),
        Index(
            "ix_assignment_left_out",
            "id",
            postgresql_where=text("left_out_at IS NOT NULL"),
        ),
    )

    campaign_id: Mapped[UUID] = mapped_column(
        ForeignKey("campaign.id", ondelete="CASCADE"), index=True
    )
    annotator_id: Mapped[UUID] = mapped_column(ForeignKey("annotator.id", ondelete="CASCADE"))
    recruitment_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("recruitment.id", ondelete="SET NULL"), index=True
    )
    posting_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("posting.id", ondelete="SET NULL"), index=True
    )
    channel: Mapped[str] = mapped_column(String(20))
    external_id: Mapped[str | None] = mapped_column(String(200))
    state: Mapped[str] = mapped_column(String(20), default="open")
    target: Mapped[int]
    extra: Mapped[int] = mapped_column(default=0, server_default="0")
    n_answered: Mapped[int] = mapped_column(default=0)
    completion_code: Mapped[str] = mapped_column(String(20))
    completed_at: Mapped[datetime | None]
    handed_in_at: Mapped[datetime | None]
    grids_over_at: Mapped[datetime | None]
    screened_out_at: Mapped[datetime | None]
    seen_at: Mapped[datetime | None]
    left_out_at: Mapped[datetime | None]


class Answer(Identified, Base):
    """One annotator's grouping of one grid: first a lease, then the submitted answer.

    state: `leased` (live until `lease_expires_at`, then free again), `submitted`, `surplus`
        (finished, but the grid already had enough answers, or its place is asked again), or
        `returned` by the annotator.
    reopened_at: when the place of this answer was opened for another annotator.
    replaces: the answer whose place was opened again and is filled by this one.
    groups: aligned with the grid's `images`; the group number, −1 for a leftover.
    unseen: images that were not shown to the annotator or that they reported as broken; nothing is
        learned about them.
    agreement: adjusted Rand index with the known or the repeated answer; null if there is nothing
        to compare.
    chance: standard deviation of `agreement` if the images were distributed at random.
    trace: the annotator's actions with their times (docs/annotator-api.md), on this `device`.
    ahead: whether the grid was leased before it was needed, to prefetch its images.
    imported_as: keyed hash that recognises an imported answer when it is imported again.
    """

    __tablename__ = "answer"
    __table_args__ = (
        # No annotator sees a grid twice.
        UniqueConstraint("grid_id", "annotator_id"),
        CheckConstraint("state IN ('leased', 'submitted', 'surplus', 'returned')", name="state"),
        CheckConstraint(
            "(state IN ('submitted', 'surplus')) = "
            "(groups IS NOT NULL AND submitted_at IS NOT NULL)",
            name="submitted_has_groups",
        ),
        Index(
            "ix_answer_live",
            "grid_id",
            "lease_expires_at",
            postgresql_where=text("state = 'leased'"),
        ),
        # Nothing is imported twice.
        Index(
            "uq_answer_imported",
            "campaign_id",
            "imported_as",
            unique=True,
            postgresql_where=text("imported_as IS NOT NULL"),
        ),
        # A place is filled once.
        Index(
            "uq_answer_replaces",
            "replaces",
            unique=True,
            postgresql_where=text("replaces IS NOT NULL"),
        ),
        Index(
            "ix_answer_reopened",
            "campaign_id",
            "grid_id",
            postgresql_where=text("reopened_at IS NOT NULL"),
        ),
        Index(
            "ix_answer_finished",
            "campaign_id",
            "submitted_at",
            "id",
            postgresql_where=text("submitted_at IS NOT NULL"),
        ),
    )

    campaign_id: Mapped[UUID] = mapped_column(
        ForeignKey("campaign.id", ondelete="CASCADE"), index=True
    )
    grid_id: Mapped[int] = mapped_column(BigInteger, ForeignKey("grid.id", ondelete="CASCADE"))
    annotator_id: Mapped[UUID] = mapped_column(ForeignKey("annotator.id"), index=True)
    assignment_id: Mapped[UUID] = mapped_column(ForeignKey("assignment.id"), index=True)
    state: Mapped[str] = mapped_column(String(20), default="leased")
    leased_at: Mapped[datetime] = mapped_column(server_default=func.now())
    lease_expires_at: Mapped[datetime]
    submitted_at: Mapped[datetime | None]
    groups: Mapped[list[int] | None] = mapped_column(ARRAY(SmallInteger))
    descriptions: Mapped[list[str]] = mapped_column(ARRAY(Text), default=list)
    elapsed_ms: Mapped[int | None]
    trace: Mapped[list[Any]] = mapped_column(JSONB, default=list)
    device: Mapped[dict[str, Any] | None] = mapped_column(JSONB)
    unseen: Mapped[list[int]] = mapped_column(ARRAY(Integer), default=list, server_default="{}")
    agreement: Mapped[float | None]
    chance: Mapped[float | None]
    ahead: Mapped[bool] = mapped_column(default=False, server_default="false")
    draft: Mapped[dict[str, Any] | None] = mapped_column(JSONB)
    draft_version: Mapped[int] = mapped_column(default=0)
    idempotency_key: Mapped[str | None] = mapped_column(String(100))
    request_hash: Mapped[str | None] = mapped_column(String(64))
    imported_as: Mapped[str | None] = mapped_column(String(64))
    reopened_at: Mapped[datetime | None]
    replaces: Mapped[UUID | None] = mapped_column(ForeignKey("answer.id"))


class Remark(Identified, Base):
    """What an annotator reported: a comment, a skipped grid, or an image that is not displayed."""

    __tablename__ = "remark"
    __table_args__ = (
        CheckConstraint("kind IN ('comment', 'skipped', 'broken_image')", name="kind"),
        CheckConstraint("(kind = 'broken_image') = (image IS NOT NULL)", name="image"),
    )

    campaign_id: Mapped[UUID] = mapped_column(
        ForeignKey("campaign.id", ondelete="CASCADE"), index=True
    )
    annotator_id: Mapped[UUID] = mapped_column(
        ForeignKey("annotator.id", ondelete="CASCADE"), index=True
    )
    grid_id: Mapped[int | None] = mapped_column(
        BigInteger, ForeignKey("grid.id", ondelete="SET NULL"), index=True
    )
    kind: Mapped[str] = mapped_column(String(20))
    image: Mapped[int | None]
    text: Mapped[str] = mapped_column(Text, default="")
