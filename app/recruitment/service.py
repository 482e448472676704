"""Recruiting for a campaign: planning it, opening it, adding places, pausing and stopping."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.service import record_audit
from app.campaigns import hooks
from app.campaigns.asking import is_chosen
from app.campaigns.models import Campaign
from app.campaigns.service import get_campaign
from app.core.database import locked
from app.core.errors import Conflict, InvalidInput, NotFound
from app.core.events import campaign_changed
from app.core.security import new_token
from app.core.settings import get_settings
from app.recruitment import calls, ledger
from app.recruitment.accounts import get_account, require_payer
from app.recruitment.channels.registry import LINK, get_channel
from app.recruitment.costs import estimate_of, sizes_of
from app.recruitment.ledger import in_money
from app.recruitment.models import ChannelAccount, ChannelCall, Posting, Recruitment
from app.recruitment.settings import checked_settings

MOST_PLACES = 10_000
Action = Literal["pause", "resume", "stop"]


class NotReady(Conflict):
    """Something is missing before people can be recruited."""

    code = "not_ready"


@dataclass(frozen=True)
class RecruitmentPlan:
    """What a requester decides about a recruitment. None means the campaign's reward, or a limit of
    what places and bonuses cost at most, with fees."""

    channel: str
    places: int
    channel_account_id: UUID | None = None
    name: str = ""
    reward_cents: int | None = None
    spend_limit_cents: int | None = None
    settings: dict[str, Any] | None = None


def plan_recruitment(
    session: Session, account: Account, campaign_id: UUID, plan: RecruitmentPlan
) -> Recruitment:
    """Create a draft. The platform is not contacted yet. Raises NotFound or InvalidInput."""
    campaign = get_campaign(session, account, campaign_id, edit=True)
    recruitment = Recruitment(
        campaign_id=campaign.id,
        channel=plan.channel,
        link_token=new_token(),
        state="draft",
        currency=currency_of(campaign, plan.channel),
    )
    _apply(session, account, campaign, recruitment, plan)
    session.add(recruitment)
    session.flush()
    record_audit(
        session, account.id, "recruitment.planned", "recruitment", recruitment.id,
        campaign=str(campaign.id), channel=plan.channel,
    )  # fmt: skip
    return recruitment


def change_draft(
    session: Session, account: Account, recruitment_id: UUID, plan: RecruitmentPlan
) -> Recruitment:
    """Replace a draft's plan. Raises Conflict if it was already opened."""
    recruitment = _under_lock(session, account, recruitment_id)
    if recruitment.state != "draft":
        raise Conflict(
            "This recruitment is already published. You can only change its spending limit or "
            "add places."
        )
    if plan.channel != recruitment.channel:
        raise InvalidInput("You can't change a recruitment's channel. Plan another recruitment.")
    campaign = session.get_one(Campaign, recruitment.campaign_id)
    _apply(session, account, campaign, recruitment, plan)
    return recruitment


def _apply(
    session: Session,
    account: Account,
    campaign: Campaign,
    recruitment: Recruitment,
    plan: RecruitmentPlan,
) -> None:
    if plan.channel == LINK:
        raise InvalidInput("Links need no recruitment. Choose a platform.")
    get_channel(plan.channel)
    if plan.channel_account_id is None:
        raise InvalidInput("Choose the platform account that pays.", code="no_account")
    channel_account = get_account(session, account, plan.channel_account_id)
    if channel_account.channel != plan.channel:
        raise InvalidInput(
            f"That account is for {channel_account.channel}, not for {plan.channel}. Choose "
            "another account."
        )
    if not 1 <= plan.places <= MOST_PLACES:
        raise InvalidInput(f"Enter 1 to {MOST_PLACES} places, not {plan.places}.")
    reward = campaign.reward_cents if plan.reward_cents is None else plan.reward_cents
    if not 1 <= reward <= 1_000_000:
        raise InvalidInput(
            "Enter a reward above zero. Platforms require one for each assignment.",
            code="no_reward",
        )
    recruitment.settings = checked_settings(plan.channel, plan.settings or {})
    recruitment.channel_account_id = channel_account.id
    recruitment.name = plan.name.strip() or channel_account.name
    recruitment.places, recruitment.reward_cents = plan.places, reward
    recruitment.spend_limit_cents = (
        estimate_of(recruitment).total_cents
        if plan.spend_limit_cents is None
        else plan.spend_limit_cents
    )


def currency_of(campaign: Campaign, channel: str) -> str:
    """Return the currency of payments. Some platforms pay in one only."""
    return get_channel(channel).currency or campaign.currency


def open_recruitment(session: Session, account: Account, recruitment_id: UUID) -> Recruitment:
    """Publish the postings on the platform and reserve the money for them.

    Raises Conflict, NotReady or OverLimit; then the platform is not contacted.
    """
    recruitment = _under_lock(session, account, recruitment_id)
    if recruitment.state != "draft":
        raise Conflict(f"This recruitment is already {recruitment.state}.")
    require_payer(session, account, recruitment)
    _require_ready(session, recruitment)
    recruitment.state, recruitment.opened_at = "open", datetime.now(UTC)
    _put_up(session, recruitment, recruitment.places)
    if get_channel(recruitment.channel).notifies:
        base = get_settings().base_url.rstrip("/")
        url = f"{base}/hooks/{recruitment.channel}/{recruitment.channel_account_id}"
        calls.ask(session, recruitment, "notify", url=url)
    return _record_change(session, account, recruitment, "opened", places=recruitment.places)


def problems_before_opening(session: Session, recruitment: Recruitment) -> list[str]:
    """Return what must be fixed before people can be recruited, in plain sentences."""
    problems = []
    campaign = session.get_one(Campaign, recruitment.campaign_id)
    if campaign.state != "running":
        problems.append(f"The campaign is {campaign.state}. It must be running to recruit people.")
    elif not is_chosen(session, campaign):
        problems.append(
            "The images to ask about are still being chosen, so people would wait. Recruit people "
            "when this is done."
        )
    environment = _environment(session, recruitment)
    if not get_settings().base_url.startswith("https://") and environment != "custom":
        problems.append(
            "Platforms send people only to HTTPS pages. Set LIKEWISE_BASE_URL to this server's "
            "https:// address (docs/operations.md)."
        )
    problems += get_channel(recruitment.channel).problems(environment)
    return problems


def _require_ready(session: Session, recruitment: Recruitment) -> None:
    for problem in problems_before_opening(session, recruitment):
        raise NotReady(problem)


def _environment(session: Session, recruitment: Recruitment) -> str:
    return session.get_one(ChannelAccount, recruitment.channel_account_id).environment


def _put_up(session: Session, recruitment: Recruitment, places: int) -> None:
    """Create postings for so many places, reserve the money and have the postings published."""
    last = select(func.max(Posting.number)).where(Posting.recruitment_id == recruitment.id)
    number = session.scalar(last) or 0
    sizes = sizes_of(recruitment, places)
    ledger.require_room(session, recruitment, sizes)
    for size in sizes:
        number += 1
        posting = Posting(recruitment_id=recruitment.id, number=number, places=size)
        session.add(posting)
        session.flush()
        calls.ask(session, recruitment, "publish", posting=posting)


def ask_for_more(
    session: Session, account: Account, recruitment_id: UUID, places: int
) -> Recruitment:
    """Add places: in the same posting, or in new ones if more places in one would cost a higher
    fee. Raises Conflict, InvalidInput or OverLimit."""
    recruitment = _under_lock(session, account, recruitment_id)
    if recruitment.state != "open":
        raise Conflict(
            f"This recruitment is {recruitment.state}. You can add places only while it is open."
        )
    require_payer(session, account, recruitment)
    _require_ready(session, recruitment)
    if not 1 <= places <= MOST_PLACES:
        raise InvalidInput(f"Enter 1 to {MOST_PLACES} places, not {places}.")
    if get_channel(recruitment.channel).grows:
        _extend(session, recruitment, places)
    else:
        _put_up(session, recruitment, places)
    recruitment.places += places
    return _record_change(session, account, recruitment, "extended", places=places)


def _extend(session: Session, recruitment: Recruitment, places: int) -> None:
    posting = session.scalar(
        select(Posting)
        .where(Posting.recruitment_id == recruitment.id, Posting.state != "failed")
        .order_by(Posting.number.desc())
        .limit(1)
        .with_for_update()
    )
    if posting is None or posting.state == "closed":
        _put_up(session, recruitment, places)
        return
    ledger.require_room(session, recruitment, [places])
    posting.places += places
    calls.ask(session, recruitment, "extend", posting=posting, places=places, total=posting.places)


def set_limit(
    session: Session, account: Account, recruitment_id: UUID, limit_cents: int
) -> Recruitment:
    """Change the spending limit. Payments that the old limit held continue if there is room now.

    Raises InvalidInput below what is already committed.
    """
    recruitment = _under_lock(session, account, recruitment_id)
    require_payer(session, account, recruitment)
    committed = ledger.commitments(session, recruitment).committed_cents
    if limit_cents < committed:
        raise InvalidInput(
            f"The limit can't be below {in_money(committed, recruitment.currency)}, which is "
            "already spent or promised.",
            code="below_commitments",
        )
    recruitment.spend_limit_cents = limit_cents
    session.flush()
    ledger.release_within_limit(session, recruitment)
    return _record_change(session, account, recruitment, "limit", limit_cents=limit_cents)


def act(session: Session, account: Account, recruitment_id: UUID, action: Action) -> Recruitment:
    """Pause, resume or stop. While recruiting is paused or stopped, no new people can take part,
    and people at work can submit and are paid."""
    recruitment = _under_lock(session, account, recruitment_id)
    if action == "resume":
        require_payer(session, account, recruitment)
        _require_ready(session, recruitment)
    # It can be stopped again in case the platform refused the first time.
    allowed = {"pause": ("open",), "resume": ("paused",), "stop": ("open", "paused", "stopped")}
    if recruitment.state in allowed[action]:
        move(session, recruitment, action)
        return _record_change(session, account, recruitment, action)
    raise Conflict(f"You can't {action} this recruitment because it is {recruitment.state}.")


def poll_now(session: Session, account: Account, recruitment_id: UUID) -> None:
    """Have the platform checked now. Raises Conflict for a draft."""
    recruitment = _under_lock(session, account, recruitment_id)
    if recruitment.state == "draft":
        raise Conflict("This recruitment is a draft, so there is nothing to check on the platform.")
    recruitment.poll_at = datetime.now(UTC)


def delete_draft(session: Session, account: Account, recruitment_id: UUID) -> None:
    """Delete a draft. Raises Conflict once it was opened, because the ledger refers to it."""
    recruitment = _under_lock(session, account, recruitment_id)
    if recruitment.state != "draft":
        raise Conflict("You can delete only drafts. Stop this recruitment instead.")
    session.delete(recruitment)


def get_recruitment(
    session: Session, account: Account, recruitment_id: UUID, *, edit: bool = False
) -> Recruitment:
    """Return a recruitment on a platform of a campaign that the account can see, or change if
    `edit` is set. Raises NotFound."""
    recruitment = session.get(Recruitment, recruitment_id)
    if recruitment is None or recruitment.channel == "link":
        raise NotFound("There is no such recruitment.")
    get_campaign(session, account, recruitment.campaign_id, edit=edit)
    return recruitment


def list_recruitments(session: Session, campaign: Campaign) -> list[Recruitment]:
    query = select(Recruitment).where(
        Recruitment.campaign_id == campaign.id, Recruitment.channel != "link"
    )
    return list(session.scalars(query.order_by(Recruitment.id)))


def _under_lock(session: Session, account: Account, recruitment_id: UUID) -> Recruitment:
    recruitment = get_recruitment(session, account, recruitment_id, edit=True)
    return locked(session, Recruitment, recruitment.id)


def _record_change(
    session: Session, account: Account, recruitment: Recruitment, event: str, **details: Any
) -> Recruitment:
    record_audit(
        session, account.id, f"recruitment.{event}", "recruitment", recruitment.id,
        campaign=str(recruitment.campaign_id), **details,
    )  # fmt: skip
    campaign_changed(session, recruitment.campaign_id)
    return recruitment


def move(session: Session, recruitment: Recruitment, action: Action) -> None:
    """Have all postings paused, resumed or stopped. The caller must hold the recruitment's row
    lock."""
    recruitment.state = {"pause": "paused", "resume": "open", "stop": "stopped"}[action]
    if action == "stop":
        recruitment.stopped_at = datetime.now(UTC)
    for posting in session.scalars(
        select(Posting).where(
            Posting.recruitment_id == recruitment.id,
            Posting.state.in_(("planned", "open", "paused")),
            # Promised pay for lost work is paid, whatever happens to the other postings.
            Posting.compensates.is_(None),
        )
    ):
        if action == "stop" and _withdrawn(session, posting):
            continue
        calls.ask(session, recruitment, action, posting=posting)


def _withdrawn(session: Session, posting: Posting) -> bool:
    """Withdraw a posting that was not sent to a platform. Return whether that was possible."""
    call = session.scalar(
        select(ChannelCall)
        .where(ChannelCall.posting_id == posting.id, ChannelCall.action == "publish")
        .with_for_update()
    )
    if posting.state != "planned" or call is None or call.attempts or call.state != "due":
        return False
    call.state, call.ended_at, call.why = "cancelled", datetime.now(UTC), "Stopped earlier."
    posting.state, posting.closed_at = "failed", datetime.now(UTC)
    return True


@hooks.paused.answered_by
def pause_all(session: Session, campaign_id: UUID) -> None:
    """Pause recruiting because the campaign is paused. Platforms send no new people until
    recruiting is resumed. Links tell people themselves."""
    query = select(Recruitment.id).where(
        Recruitment.campaign_id == campaign_id,
        Recruitment.channel != "link",
        Recruitment.state == "open",
    )
    for recruitment_id in session.scalars(query).all():
        recruitment = locked(session, Recruitment, recruitment_id)
        if recruitment.state == "open":
            move(session, recruitment, "pause")


@hooks.ended.answered_by
def stop_all(session: Session, campaign_id: UUID) -> None:
    """Stop recruiting because the campaign has ended. Links keep their state for when the campaign
    is reopened."""
    _stop(session, select(Recruitment.id).where(Recruitment.campaign_id == campaign_id))


@hooks.edit_ended.answered_by
def stop_paid_by(session: Session, campaign_id: UUID, account_id: UUID) -> None:
    """Stop recruiting that is paid by an account which can no longer edit the campaign."""
    theirs = select(ChannelAccount.id).where(ChannelAccount.account_id == account_id)
    paid = select(Recruitment.id).where(
        Recruitment.campaign_id == campaign_id, Recruitment.channel_account_id.in_(theirs)
    )
    _stop(session, paid)


def _stop(session: Session, chosen: Select[UUID]) -> None:
    live = chosen.where(Recruitment.channel != "link", Recruitment.state.in_(("open", "paused")))
    for recruitment_id in session.scalars(live).all():
        recruitment = locked(session, Recruitment, recruitment_id)
        if recruitment.state in ("open", "paused"):
            move(session, recruitment, "stop")
