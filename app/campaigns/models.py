"""Tables of campaigns, rounds and grids."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    ForeignKey,
    Identity,
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

STATES = ("draft", "running", "paused", "finished")
# The number of the round that holds imported answers. Other rounds count from 1.
IMPORTED_ROUND = 0


class Campaign(Identified, Base):
    """A question asked about a collection.

    n_images: fixed at the start.
    n_answers: answers that count toward the budget.
    n_surplus: finished answers beyond what their grid needed.
    n_imported: answers that were given elsewhere; they don't count toward the budget.
    n_reopened: places that lost their answer, are asked again and have no new answer yet
        (app/campaigns/reopening.py).
    reopened_only: whether it had ended and runs again for these places only.
    learn_at: the number of answers at which the next training is due.
    ready_share: the share of a round's grids that are prepared before the round's own model is
        ready; 0 makes annotators wait for the model.
    reward_cents: the payment for a whole assignment, in cents.
    laid_out: grids of each round that existed when budget or rounds last changed; later rounds
        share what is left.
    classes: the names that annotators choose from; empty unless the kind asks for them.
    ask_about: how many of its images it asks about; 0 means all. Once it has started, these are in
        `AskedImage`, from the moment they are chosen.
    ask_by: the features by which these images are chosen, a source or a feature set.
    archived_at: when the campaign was hidden from the list; this changes nothing else.
    is_demo: whether `likewise demo` made it, whose simulated crowd answers such campaigns only.
    """

    __tablename__ = "campaign"
    __table_args__ = (
        CheckConstraint(f"state IN {STATES}", name="state"),
        CheckConstraint("budget > 0 AND rounds > 0 AND grid_size > 1", name="sizes"),
        CheckConstraint(
            "n_answers >= 0 AND n_reopened >= 0 AND n_answers + n_reopened <= budget",
            name="within_budget",
        ),
        CheckConstraint("ready_share BETWEEN 0 AND 1", name="ready_share"),
        CheckConstraint("reward_cents >= 0", name="reward"),
        CheckConstraint("n_imported >= 0", name="imported"),
        CheckConstraint("cardinality(classes) <= 10", name="classes"),
        CheckConstraint("ask_about >= 0", name="ask_about"),
    )

    owner_id: Mapped[UUID] = mapped_column(ForeignKey("account.id"), index=True)
    collection_id: Mapped[UUID] = mapped_column(ForeignKey("collection.id"), index=True)
    name: Mapped[str] = mapped_column(String(200))
    kind: Mapped[str] = mapped_column(String(20))
    strategy: Mapped[str] = mapped_column(String(40))
    settings: Mapped[dict[str, Any]] = mapped_column(JSONB)
    question: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(String(20), default="draft")
    seed: Mapped[int] = mapped_column(BigInteger)
    link_token: Mapped[str] = mapped_column(String(64), unique=True)
    budget: Mapped[int]
    rounds: Mapped[int]
    grid_size: Mapped[int]
    max_groups: Mapped[int]
    classes: Mapped[list[str]] = mapped_column(ARRAY(String(40)), default=list, server_default="{}")
    ask_about: Mapped[int] = mapped_column(default=0, server_default="0")
    ask_by: Mapped[str] = mapped_column(String(100), default="", server_default="")
    answers_per_grid: Mapped[int] = mapped_column(default=1)
    grids_per_assignment: Mapped[int] = mapped_column(default=10)
    learn_every: Mapped[int]
    ready_share: Mapped[float] = mapped_column(default=1.0, server_default="1")
    # app.campaigns.annotation_settings.AnnotationSettings
    annotation: Mapped[dict[str, Any]] = mapped_column(JSONB, default=dict, server_default="{}")
    # app.campaigns.plan_settings.PlanSettings
    plan: Mapped[dict[str, Any]] = mapped_column(JSONB, default=dict, server_default="{}")
    laid_out: Mapped[list[int]] = mapped_column(ARRAY(Integer), default=list, server_default="{}")
    reward_cents: Mapped[int] = mapped_column(default=0, server_default="0")
    currency: Mapped[str] = mapped_column(String(3), default="USD", server_default="USD")
    n_images: Mapped[int] = mapped_column(default=0)
    n_answers: Mapped[int] = mapped_column(default=0)
    n_surplus: Mapped[int] = mapped_column(default=0)
    n_imported: Mapped[int] = mapped_column(default=0, server_default="0")
    n_reopened: Mapped[int] = mapped_column(default=0, server_default="0")
    reopened_only: Mapped[bool] = mapped_column(default=False, server_default="false")
    # The positions of annotators who have answered are below this number.
    n_annotators: Mapped[int] = mapped_column(default=0)
    learn_at: Mapped[int] = mapped_column(default=0)
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    archived_at: Mapped[datetime | None]
    is_demo: Mapped[bool] = mapped_column(default=False, server_default="false")

    @property
    def n_finished(self) -> int:
        """Return the number of all answers that models learn from."""
        return self.n_answers + self.n_surplus + self.n_imported

    @property
    def n_left(self) -> int:
        """Return the number of answers that it still asks for."""
        return self.n_reopened if self.reopened_only else max(0, self.budget - self.n_answers)


class ReadOnlyLink(Identified, Base):
    """A link that shows a campaign's results to people without an account; only the token's hash is
    stored.

    note: whom it is for; only the owner sees it.
    """

    __tablename__ = "read_only_link"

    campaign_id: Mapped[UUID] = mapped_column(
        ForeignKey("campaign.id", ondelete="CASCADE"), index=True
    )
    note: Mapped[str] = mapped_column(String(200))
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    expires_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]
    withdrawn_at: Mapped[datetime | None]


class AskedImage(Base):
    """An image that a campaign asks about, if it asks about a part of its images.

    position: of the image in the campaign, which does not change once the campaign has started.
    origin: `chosen` to represent all images, or `added` by a requester.
    """

    __tablename__ = "asked_image"
    __table_args__ = (
        CheckConstraint("position >= 0", name="position"),
        CheckConstraint("origin IN ('chosen', 'added')", name="origin"),
    )

    campaign_id: Mapped[UUID] = mapped_column(
        ForeignKey("campaign.id", ondelete="CASCADE"), primary_key=True
    )
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    origin: Mapped[str] = mapped_column(String(10))


class Round(Identified, Base):
    """A batch of grids made from one state of the model; `number` starts at 1. Round 0 holds
    imported answers: it is closed, outside the budget and needs no more answers.

    A `ready` round waits until the round before it is full, so that nobody waits for a model. Until
    then its grids come from an older model, and those that nobody has started are replaced when the
    new model is ready. `basis` is the number of full rounds that its newest grids were made from.

    A `reopened` round was full, and some of its places are asked again. It counts as full, so that
    later rounds do not wait for it.
    """

    __tablename__ = "round"
    __table_args__ = (
        UniqueConstraint("campaign_id", "number"),
        CheckConstraint("state IN ('ready', 'open', 'closed', 'reopened')", name="state"),
        CheckConstraint("n_answers >= 0 AND n_answers <= n_wanted", name="answers"),
        # A campaign has at most one open round; the claim query and the learning job rely on it.
        Index("uq_round_open", "campaign_id", unique=True, postgresql_where=text("state = 'open'")),
    )

    campaign_id: Mapped[UUID] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"))
    number: Mapped[int]
    state: Mapped[str] = mapped_column(String(20), default="open")
    n_wanted: Mapped[int]
    n_answers: Mapped[int] = mapped_column(default=0)
    locality: Mapped[float | None]
    model_version: Mapped[int | None]
    basis: Mapped[int] = mapped_column(default=0, server_default="0")
    # How many grids have which purpose, and how far they spread; null for the first round.
    contents: Mapped[dict[str, Any] | None] = mapped_column(JSONB)
    closed_at: Mapped[datetime | None]


class Grid(Base):
    """An ordered set of images shown together. `images` are positions in the campaign.

    role: `ask` grids belong to a round and are learned from. The others belong to no round, are
        outside the budget and are not learned from: `practice` comes before the first grid that
        counts, `gold` has a known answer, and `repeat` shows an annotator the images of `repeats`
        again in other places.
    truth: the known groups of practice and gold grids, aligned with `images`.
    basis: the number of full rounds that the model which chose the grid had learned from.
    n_reopened: places that lost their answer, are asked again and have no new answer yet.
    """

    __tablename__ = "grid"
    __table_args__ = (
        UniqueConstraint("round_id", "number"),
        CheckConstraint(
            "n_answers >= 0 AND n_reopened >= 0 AND n_answers + n_reopened <= wanted",
            name="answers",
        ),
        CheckConstraint("cardinality(images) > 1", name="images"),
        CheckConstraint("role IN ('ask', 'practice', 'gold', 'repeat')", name="role"),
        CheckConstraint("(role = 'ask') = (round_id IS NOT NULL)", name="of_a_round"),
        CheckConstraint("(role IN ('practice', 'gold')) = (truth IS NOT NULL)", name="known"),
        CheckConstraint("(role = 'repeat') = (repeats IS NOT NULL)", name="repeat"),
        # Each number exists once, so that two requests at the same moment create the same grid.
        Index(
            "uq_grid_known",
            "campaign_id",
            "role",
            "number",
            unique=True,
            postgresql_where=text("role IN ('practice', 'gold')"),
        ),
        # Finds the answers that saw an image, as evidence for its neighbours.
        Index("ix_grid_images", "images", postgresql_using="gin"),
        Index(
            "ix_grid_unfilled",
            "round_id",
            "number",
            postgresql_where=text("n_answers < wanted"),
        ),
    )

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    round_id: Mapped[UUID | None] = mapped_column(ForeignKey("round.id", ondelete="CASCADE"))
    campaign_id: Mapped[UUID] = mapped_column(
        ForeignKey("campaign.id", ondelete="CASCADE"), index=True
    )
    role: Mapped[str] = mapped_column(String(10), default="ask", server_default="ask")
    truth: Mapped[list[int] | None] = mapped_column(ARRAY(SmallInteger))
    repeats: Mapped[int | None] = mapped_column(
        BigInteger, ForeignKey("grid.id", ondelete="CASCADE"), index=True
    )
    number: Mapped[int]
    images: Mapped[list[int]] = mapped_column(ARRAY(Integer))
    wanted: Mapped[int]
    n_answers: Mapped[int] = mapped_column(default=0)
    n_reopened: Mapped[int] = mapped_column(default=0, server_default="0")
    purpose: Mapped[str | None] = mapped_column(String(20))
    attribute: Mapped[int | None] = mapped_column(SmallInteger)
    basis: Mapped[int] = mapped_column(default=0, server_default="0")
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class Share(Identified, Base):
    """Another requester's access to a campaign, to view or to edit it."""

    __tablename__ = "share"
    __table_args__ = (
        UniqueConstraint("campaign_id", "account_id"),
        CheckConstraint("access IN ('view', 'edit')", name="access"),
    )

    campaign_id: Mapped[UUID] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"))
    account_id: Mapped[UUID] = mapped_column(
        ForeignKey("account.id", ondelete="CASCADE"), index=True
    )
    access: Mapped[str] = mapped_column(String(10))
