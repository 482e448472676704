"""Request and response bodies of the recruitments API, and how they are made. Amounts of money are
in cents."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.core.fields import StrictInt
from app.recruitment import calls, ledger
from app.recruitment.account_routes import CheckedOut, Platform
from app.recruitment.accounts import channel_client
from app.recruitment.channel import ChannelError
from app.recruitment.costs import Estimate, estimate_of, posting_cost, sizes_of
from app.recruitment.ledger import Commitments
from app.recruitment.models import ChannelAccount, Posting, Recruitment, Submission
from app.recruitment.report import Difference, Reconciliation
from app.recruitment.service import problems_before_opening
from app.recruitment.settings import paid_settings


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


class DifferenceOut(BaseModel):
    """A difference between the ledger and the platform. `earned_cents` is set for `ours_only`: the
    part of the reward that the completed work is worth."""

    what: str
    sentence: str
    submission_id: UUID | None
    assignment_id: UUID | None
    payment_id: UUID | None
    annotator: int | None
    earned_cents: int | None

    @classmethod
    def of(cls, difference: Difference) -> "DifferenceOut":
        return cls(**vars(difference))


class ReconciliationOut(BaseModel):
    """The ledger compared with the platform as it was last checked. They agree if `differences` is
    empty."""

    recruitment_id: UUID
    polled_at: datetime | None
    submissions: dict[str, int]
    payments: dict[str, int]
    money: MoneyOut
    differences: list[DifferenceOut]

    @classmethod
    def of(cls, reconciliation: Reconciliation, recruitment: Recruitment) -> "ReconciliationOut":
        return cls(
            recruitment_id=reconciliation.recruitment_id,
            polled_at=recruitment.polled_at,
            submissions=reconciliation.submissions,
            payments=reconciliation.payments,
            money=MoneyOut.of(reconciliation.commitments),
            differences=[DifferenceOut.of(difference) for difference in reconciliation.differences],
        )


def recruitment_out(session: Session, recruitment: Recruitment) -> RecruitmentOut:
    """Return a recruitment with its postings and its money."""
    postings = session.scalars(
        select(Posting).where(Posting.recruitment_id == recruitment.id).order_by(Posting.number)
    )
    counts = (
        select(Submission.state, func.count())
        .where(Submission.recruitment_id == recruitment.id)
        .group_by(Submission.state)
    )
    flagged = (
        select(func.count())
        .select_from(Submission)
        .where(Submission.recruitment_id == recruitment.id, Submission.flag != "")
    )
    refused = calls.newest_failure(session, recruitment.id)
    account = session.get(ChannelAccount, recruitment.channel_account_id)
    return RecruitmentOut(
        id=recruitment.id,
        campaign_id=recruitment.campaign_id,
        channel=recruitment.channel,
        channel_account_id=recruitment.channel_account_id,
        account_name=account.name if account else "",
        environment=account.environment if account else "",
        name=recruitment.name,
        state=recruitment.state,
        places=recruitment.places,
        reward_cents=recruitment.reward_cents,
        currency=recruitment.currency,
        settings=recruitment.settings,
        money=MoneyOut.of(ledger.commitments(session, recruitment)),
        postings=[PostingOut.of(posting) for posting in postings],
        submissions=dict(session.execute(counts).all()),
        n_flagged=session.scalar(flagged) or 0,
        polled_at=recruitment.polled_at,
        problem=recruitment.poll_error or (refused.why if refused else ""),
        created_at=recruitment.created_at,
        opened_at=recruitment.opened_at,
        stopped_at=recruitment.stopped_at,
    )


def dry_run_out(session: Session, recruitment: Recruitment) -> RecruitmentDryRunOut:
    """Return what opening a draft would send to the platform, and what it would cost."""
    settings = paid_settings(recruitment)
    campaign = session.get_one(Campaign, recruitment.campaign_id)
    account = session.get_one(ChannelAccount, recruitment.channel_account_id)
    postings = _planned(recruitment)
    estimate = estimate_of(recruitment)
    total = estimate.places_cents
    problems = problems_before_opening(session, recruitment)
    if recruitment.spend_limit_cents is not None and total > recruitment.spend_limit_cents:
        problems.append("The places cost more than the spending limit. Raise it.")
    of_account, warnings = _about_account(account, recruitment, total)
    requests: list[PlannedRequestOut] = []
    try:
        requests = _requests(session, recruitment)
    except ChannelError as error:
        problems.append(str(error))
    return RecruitmentDryRunOut(
        title=settings.title or campaign.question[:128],
        description=settings.description or campaign.question[:2000],
        page=calls.page_address(recruitment),
        account_name=account.name,
        environment=account.environment,
        postings=postings,
        estimate=EstimateOut.of(estimate, len(postings), recruitment.currency),
        total_cents=total,
        limit_cents=recruitment.spend_limit_cents,
        currency=recruitment.currency,
        settings=recruitment.settings,
        requests=requests,
        problems=[*problems, *of_account],
        warnings=warnings,
    )


def _requests(session: Session, recruitment: Recruitment) -> list[PlannedRequestOut]:
    """Return the requests for the first posting. Raises ChannelError if the platform would
    refuse."""
    order = calls.order_of(session, recruitment, sizes_of(recruitment)[0], "0" * 32, 1)
    planned = channel_client(session, recruitment).open().planned(order)
    return [PlannedRequestOut(name=request.name, body=request.body) for request in planned]


def _planned(recruitment: Recruitment) -> list[PlannedPosting]:
    planned = []
    for number, places in enumerate(sizes_of(recruitment), 1):
        cost = posting_cost(recruitment.channel, recruitment.reward_cents, places)
        planned.append(
            PlannedPosting(
                number=number,
                places=places,
                reward_cents=cost.reward_cents,
                fee_cents=cost.fee_cents,
                total_cents=cost.total_cents,
            )
        )
    return planned


def _about_account(
    account: ChannelAccount, recruitment: Recruitment, total_cents: int
) -> tuple[list[str], list[str]]:
    """Return problems and warnings from the last check of the account."""
    if not account.checked:
        return [], ["This account was never checked. Check it under Account → Platforms first."]
    checked = CheckedOut.model_validate(account.checked)
    problems, warnings = list(checked.problems), list(checked.warnings)
    if checked.currency and checked.currency != recruitment.currency:
        problems.append(
            f"The account pays in {checked.currency}, but the reward is in "
            f"{recruitment.currency}. Set the campaign's currency to {checked.currency}."
        )
    elif checked.balance_cents is not None and checked.balance_cents < total_cents:
        has = ledger.in_money(checked.balance_cents, checked.currency)
        costs = ledger.in_money(total_cents, recruitment.currency)
        warnings.append(f"The account had {has} when last checked, but the places cost {costs}.")
    return problems, warnings
