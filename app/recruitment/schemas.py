"""Request and response bodies of the accounts and recruitments API. Amounts of money are in
cents."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from app.core.fields import StrictInt
from app.recruitment.estimate import Estimate
from app.recruitment.ledger import Commitments
from app.recruitment.models import ChannelAccount, Posting
from app.recruitment.service import MOST_PLACES

# The name of a channel, as in `GET …/recruiting/options`.
Platform = Annotated[str, Field(max_length=20)]


class NewChannelAccount(BaseModel, extra="forbid"):
    """A platform account to add. `secret` has `access_key_id` and `secret_access_key` for mturk, or
    `token` for prolific. If an admin leaves it out, the server's own environment or AWS profile is
    used."""

    channel: Platform
    name: str = Field(default="", max_length=100)
    environment: Literal["production", "sandbox", "custom"]
    secret: dict[str, str] | None = None
    profile: str = Field(default="", max_length=100)


class NewSecret(BaseModel, extra="forbid"):
    secret: dict[str, str]


class CheckedOut(BaseModel):
    """What the platform reported about the account."""

    balance_cents: int | None
    currency: str
    who: str
    problems: list[str]
    warnings: list[str]


class ChannelAccountOut(BaseModel):
    """A platform account. Its credentials are never returned."""

    id: UUID
    channel: str
    name: str
    environment: str
    source: str
    checked: CheckedOut | None
    checked_at: datetime | None
    created_at: datetime

    @classmethod
    def of(cls, channel_account: ChannelAccount) -> "ChannelAccountOut":
        return cls(
            id=channel_account.id,
            channel=channel_account.channel,
            name=channel_account.name,
            environment=channel_account.environment,
            source=channel_account.source,
            checked=CheckedOut.model_validate(channel_account.checked)
            if channel_account.checked
            else None,
            checked_at=channel_account.checked_at,
            created_at=channel_account.created_at,
        )


class NewRecruitment(BaseModel, extra="forbid"):
    """A recruitment to plan.

    places: number of assignments.
    reward_cents: the campaign's reward by default.
    spend_limit_cents: by default, what the places cost with fees and all bonuses that the settings
        promise.
    """

    channel: Platform
    channel_account_id: UUID
    places: StrictInt
    name: str = Field(default="", max_length=100)
    reward_cents: StrictInt | None = None
    spend_limit_cents: StrictInt | None = Field(default=None, ge=0, le=2**31 - 1)
    settings: dict[str, Any] = Field(default_factory=dict)


class MorePlaces(BaseModel, extra="forbid"):
    places: StrictInt


class NewLimit(BaseModel, extra="forbid"):
    spend_limit_cents: StrictInt = Field(ge=0, le=2**31 - 1)


class PostingOut(BaseModel):
    """A HIT or a study on the platform.

    taken: places where someone is at work or has submitted.
    compensates: whether it pays one person who could not submit; it is then not a place of the
        recruitment.
    """

    number: int
    places: int
    taken: int
    state: str
    external_id: str | None
    preview_url: str
    compensates: bool

    @classmethod
    def of(cls, posting: Posting) -> "PostingOut":
        return cls(
            number=posting.number,
            places=posting.places,
            taken=posting.taken,
            state=posting.state,
            external_id=posting.external_id,
            preview_url=str(posting.details.get("preview_url", "")),
            compensates=posting.compensates is not None,
        )


class MoneyOut(BaseModel):
    """The money of a recruitment: `committed` is spent or promised, `left` remains of the limit,
    and `held` waits for a decision."""

    limit_cents: int | None
    committed_cents: int
    paid_cents: int
    held_cents: int
    left_cents: int | None

    @classmethod
    def of(cls, commitments: Commitments) -> "MoneyOut":
        return cls(
            limit_cents=commitments.limit_cents,
            committed_cents=commitments.committed_cents,
            paid_cents=commitments.paid_cents,
            held_cents=commitments.held_cents,
            left_cents=commitments.left_cents,
        )


class RecruitmentOut(BaseModel):
    """A recruitment. `problem` is what the platform last refused or why it could not be checked, or
    empty."""

    id: UUID
    campaign_id: UUID
    channel: str
    channel_account_id: UUID | None
    account_name: str
    environment: str
    name: str
    state: str
    places: int
    reward_cents: int
    currency: str
    settings: dict[str, Any]
    money: MoneyOut
    postings: list[PostingOut]
    submissions: dict[str, int]
    n_flagged: int
    polled_at: datetime | None
    problem: str
    created_at: datetime
    opened_at: datetime | None
    stopped_at: datetime | None


class PlannedPosting(BaseModel):
    number: int
    places: int
    reward_cents: int
    fee_cents: int
    total_cents: int


class PlannedRequestOut(BaseModel):
    name: str
    body: dict[str, Any]


class EstimateIn(BaseModel, extra="forbid"):
    """A plan without a platform account. `reward_cents` is the campaign's reward by default."""

    channel: Platform
    places: StrictInt = Field(ge=1, le=MOST_PLACES)
    reward_cents: StrictInt | None = Field(default=None, ge=0, le=1_000_000)
    settings: dict[str, Any] = Field(default_factory=dict)


class EstimateOut(BaseModel):
    """What a recruitment costs.

    postings: number of HITs or studies.
    fees_cents: the platform's fees for the rewards.
    screen_outs_cents: the cost, with fees, if as many people fail practice as there are places.
    bonuses_cents, bonus_fees_cents: the cost if everyone earns every bonus that the settings
        promise.
    """

    postings: int
    rewards_cents: int
    fees_cents: int
    screen_outs_cents: int
    bonuses_cents: int
    bonus_fees_cents: int
    total_cents: int
    currency: str

    @classmethod
    def of(cls, estimate: Estimate, postings: int, currency: str) -> "EstimateOut":
        return cls(
            postings=postings,
            rewards_cents=estimate.rewards_cents,
            fees_cents=estimate.fees_cents,
            screen_outs_cents=estimate.screen_outs_cents,
            bonuses_cents=estimate.bonuses_cents,
            bonus_fees_cents=estimate.bonus_fees_cents,
            total_cents=estimate.total_cents,
            currency=currency,
        )


class RecruitmentDryRunOut(BaseModel):
    """What opening a recruitment would do; nothing of it is done.

    requests: what the platform would be sent for the first posting. Others differ only in their
        places.
    problems: these prevent opening.
    warnings: these do not prevent opening.
    """

    title: str
    description: str
    page: str
    account_name: str
    environment: str
    postings: list[PlannedPosting]
    estimate: EstimateOut
    total_cents: int
    limit_cents: int | None
    currency: str
    settings: dict[str, Any]
    requests: list[PlannedRequestOut]
    problems: list[str]
    warnings: list[str]


class ChannelOptionsOut(BaseModel):
    """What you can choose on a channel.

    settings: a JSON schema from which a form can be made.
    rejection_categories: the platform's rejection categories with descriptions; empty if it has
        none.
    least_reason: the minimum length of a rejection's reason, in characters.
    posting, one_posting, many_postings: what the platform calls what people find there; `{n}` is
        their number. posting_note: explains the word, if it needs that.
    compensates: whether somebody without a submission there can be paid.
    """

    channel: Platform
    title: str
    currency: str
    settings: dict[str, Any]
    rejection_categories: dict[str, str]
    least_reason: int
    posting: str
    posting_note: str
    one_posting: str
    many_postings: str
    compensates: bool


class RecruitingOptionsOut(BaseModel):
    """What you can choose, and what the campaign's plan suggests.

    places: assignments that give the remaining answers, without places that are already open.
    minutes: how long an assignment takes.
    """

    channels: list[ChannelOptionsOut]
    answers_wanted: int
    places: int
    minutes: int
    reward_cents: int
    grids_per_assignment: int
