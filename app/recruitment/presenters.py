"""Recruitments in the form that the API and the pages show."""

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.recruitment import calls, ledger
from app.recruitment.attempts import channel_client
from app.recruitment.bonuses import paid_settings
from app.recruitment.channel import ChannelError
from app.recruitment.estimate import estimate_of, sizes_of
from app.recruitment.fees import posting_cost
from app.recruitment.models import ChannelAccount, Posting, Recruitment, Submission
from app.recruitment.schemas import (
    CheckedOut,
    EstimateOut,
    MoneyOut,
    PlannedPosting,
    PlannedRequestOut,
    PostingOut,
    RecruitmentDryRunOut,
    RecruitmentOut,
)
from app.recruitment.service import problems_before_opening


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
