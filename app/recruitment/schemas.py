"""Bodies of the API of accounts and recruitments. Money is in hundredths of the currency."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from app.core.fields import Whole
from app.recruitment.estimate import Estimate
from app.recruitment.ledger import Commitments
from app.recruitment.models import ChannelAccount, Posting
from app.recruitment.service import MOST_PLACES

Platform = Literal["mturk", "prolific"]


class NewChannelAccount(BaseModel, extra="forbid"):
    """secret: of mturk access_key_id and secret_access_key, of prolific token. Left out: what the
    server's own environment or AWS profile says, for admins."""

    channel: Platform
    name: str = Field(default="", max_length=100)
    environment: Literal["production", "sandbox", "custom"]
    secret: dict[str, str] | None = None
    profile: str = Field(default="", max_length=100)


class NewSecret(BaseModel, extra="forbid"):
    secret: dict[str, str]


class CheckedOut(BaseModel):
    """What the platform said of the account."""

    balance_cents: int | None
    currency: str
    who: str
    problems: list[str]
    warnings: list[str]


class ChannelAccountOut(BaseModel):
    """Credentials are never shown again."""

    id: UUID
    channel: str
    name: str
    environment: str
    source: str
    checked: CheckedOut | None
    checked_at: datetime | None
    created_at: datetime

    @classmethod
    def of(cls, found: ChannelAccount) -> "ChannelAccountOut":
        return cls(
            id=found.id,
            channel=found.channel,
            name=found.name,
            environment=found.environment,
            source=found.source,
            checked=CheckedOut.model_validate(found.checked) if found.checked else None,
            checked_at=found.checked_at,
            created_at=found.created_at,
        )


class NewRecruitment(BaseModel, extra="forbid"):
    """places: assignments to be done. Reward left out: the campaign's; limit left out: what the
    places cost with fees, and all bonuses that the settings promise."""

    channel: Platform
    channel_account_id: UUID
    places: Whole
    name: str = Field(default="", max_length=100)
    reward_cents: Whole | None = None
    spend_limit_cents: Whole | None = Field(default=None, ge=0, le=2**31 - 1)
    settings: dict[str, Any] = Field(default_factory=dict)


class MorePlaces(BaseModel, extra="forbid"):
    places: Whole


class NewLimit(BaseModel, extra="forbid"):
    spend_limit_cents: Whole = Field(ge=0, le=2**31 - 1)


class PostingOut(BaseModel):
    """A HIT or a study; `taken`: places at work or handed in. `compensates`: it pays one person who
    could not hand in, and is no place of the recruitment."""

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
    """committed: spent or promised; left: of the limit; held: awaits somebody's word."""

    limit_cents: int | None
    committed_cents: int
    paid_cents: int
    held_cents: int
    left_cents: int | None

    @classmethod
    def of(cls, found: Commitments) -> "MoneyOut":
        return cls(
            limit_cents=found.limit_cents,
            committed_cents=found.committed_cents,
            paid_cents=found.paid_cents,
            held_cents=found.held_cents,
            left_cents=found.left_cents,
        )


class RecruitmentOut(BaseModel):
    """problem: what the platform refused or could not be asked last, or empty."""

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
    """A plan without an account. Reward left out: the campaign's."""

    channel: Platform
    places: Whole = Field(ge=1, le=MOST_PLACES)
    reward_cents: Whole | None = Field(default=None, ge=0, le=1_000_000)
    settings: dict[str, Any] = Field(default_factory=dict)


class EstimateOut(BaseModel):
    """fees: the platform's, for the rewards; screen_outs: with their fees, if as many people as
    there are places fail practice and are paid for that; bonuses, and the fees for them: at most,
    if everybody earns all that the settings promise. postings: how many HITs or studies."""

    postings: int
    rewards_cents: int
    fees_cents: int
    screen_outs_cents: int
    bonuses_cents: int
    bonus_fees_cents: int
    total_cents: int
    currency: str

    @classmethod
    def of(cls, found: Estimate, postings: int, currency: str) -> "EstimateOut":
        return cls(
            postings=postings,
            rewards_cents=found.rewards_cents,
            fees_cents=found.fees_cents,
            screen_outs_cents=found.screen_outs_cents,
            bonuses_cents=found.bonuses_cents,
            bonus_fees_cents=found.bonus_fees_cents,
            total_cents=found.total_cents,
            currency=currency,
        )


class RecruitmentDryRunOut(BaseModel):
    """What opening would do: nothing of it is done. requests: what the platform would be sent for
    the first posting; the others differ in their number of places. problems prevent it, warnings
    do not."""

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
    """settings: JSON schema, from which a form can be made. rejection_categories: the platform's
    kinds of reason in plain words, none where it asks for none; least_reason: characters."""

    channel: Platform
    title: str
    currency: str
    settings: dict[str, Any]
    rejection_categories: dict[str, str]
    least_reason: int


class RecruitingOptionsOut(BaseModel):
    """What can be chosen, and what the campaign's plan suggests: places that give the answers still
    wanted, without those that are being recruited; minutes: of an assignment."""

    channels: list[ChannelOptionsOut]
    answers_wanted: int
    places: int
    minutes: int
    reward_cents: int
    grids_per_assignment: int
