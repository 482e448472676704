"""Links: making and changing them, the one that every campaign gets when it starts, and what takes
their places."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.passwords import hash_shared
from app.accounts.service import record_audit
from app.annotation.models import Answer, Assignment
from app.campaigns import hooks
from app.campaigns.models import Campaign
from app.campaigns.service import get_campaign
from app.core.clock import latest_now
from app.core.database import locked
from app.core.errors import Conflict, InvalidInput, NotFound
from app.core.events import campaign_changed
from app.core.security import new_token
from app.core.settings import get_settings
from app.recruitment.ledger import COMMITTED
from app.recruitment.models import Invitation, Payment, Recruitment
from app.recruitment.settings import PERSONAL, LinkSettings, checked_settings, link_settings

MOST_PLACES = 1_000_000
MOST_REWARD_CENTS = 10_000_000
Action = Literal["pause", "resume", "stop"]
FROM: dict[Action, tuple[str, ...]] = {
    "pause": ("open",),
    "resume": ("paused", "stopped"),
    "stop": ("open", "paused"),
}


@dataclass(frozen=True)
class LinkPlan:
    """What a requester decides about a link. `places` 0 means no limit, and `reward_cents` None
    means the campaign's reward."""

    name: str = ""
    settings: dict[str, Any] | None = None
    password: str | None = None
    places: int = 0
    reward_cents: int | None = None


@dataclass(frozen=True)
class LinkWork:
    """A link's progress. `left` counts people who started and then left. Amounts of money are in
    cents."""

    finished: int = 0
    at_work: int = 0
    left: int = 0
    payable_cents: int = 0
    paid_cents: int = 0
    invited: int = 0
    used: int = 0


def make_link(session: Session, account: Account, campaign_id: UUID, plan: LinkPlan) -> Recruitment:
    """Create another link of a started campaign. It is open immediately. Raises InvalidInput,
    Conflict."""
    campaign = get_campaign(session, account, campaign_id, edit=True)
    if campaign.state == "draft":
        raise Conflict("Start the campaign first. You can make more links then.", code="not_ready")
    settings = checked_settings("link", plan.settings or {})
    asks = settings["access"] == "password"
    if asks and plan.password is None:
        raise InvalidInput("Choose a password for the link.", code="bad_password")
    if not asks and plan.password is not None:
        raise InvalidInput(
            "This link doesn't use a password. Leave the password out.", code="bad_password"
        )
    link = Recruitment(
        campaign_id=campaign.id,
        channel="link",
        name=_name(plan.name) or "Link",
        link_token=new_token(),
        state="open",
        settings=settings,
        password_hash=hash_shared(plan.password) if plan.password is not None else None,
        places=_places(plan.places),
        reward_cents=_reward(
            campaign.reward_cents if plan.reward_cents is None else plan.reward_cents
        ),
        currency=campaign.currency,
        opened_at=datetime.now(UTC),
    )
    session.add(link)
    session.flush()
    return _record_change(session, account, link, "made", access=settings["access"])


def change_link(
    session: Session, account: Account, campaign_id: UUID, link_id: UUID, values: dict[str, Any]
) -> Recruitment:
    """Change the fields in `values`: name, places, reward_cents, password, and the link's settings
    (app.recruitment.settings.LinkSettings).

    Recorded earnings stay as they are. Raises InvalidInput, NotFound.
    """
    link = get_link(session, account, campaign_id, link_id, edit=True)
    if "name" in values:
        link.name = _name(values["name"]) or link.name
    if "places" in values:
        link.places = _places(values["places"])
    if "reward_cents" in values:
        link.reward_cents = _reward(values["reward_cents"])
    before = link_settings(link.settings).access
    chosen = dict(link.settings)
    chosen.update({name: values[name] for name in LinkSettings.model_fields if name in values})
    settings = checked_settings("link", chosen)
    access = settings["access"]
    if access != before and {access, before} & set(PERSONAL):
        raise InvalidInput(
            "You can't change a link from or to personal addresses. Make another link.",
            code="access_stays",
        )
    _require_same_people(session, link, settings)
    link.settings = settings
    password = values.get("password")
    if access == "password" and password is not None:
        link.password_hash = hash_shared(password)
    elif access == "password" and link.password_hash is None:
        raise InvalidInput("Choose a password for the link.", code="bad_password")
    elif access != "password":
        link.password_hash = None
    return _record_change(session, account, link, "changed", fields=sorted(values))


def _require_same_people(session: Session, link: Recruitment, settings: dict[str, Any]) -> None:
    """Raise InvalidInput if people who have come through the link would no longer be known."""
    before = link_settings(link.settings)
    becomes_required = settings["person_required"] and not before.person_required
    if settings["person"] == before.person and not (settings["person"] and becomes_required):
        return
    came = select(Assignment.id).where(Assignment.recruitment_id == link.id).limit(1)
    if session.scalar(came) is not None:
        raise InvalidInput(
            "People have already come through this link, and another ID would no longer recognise "
            "them. Make another link.",
            code="person_stays",
        )


def act_on_link(
    session: Session, account: Account, campaign_id: UUID, link_id: UUID, action: Action
) -> Recruitment:
    """Pause, stop or reopen a link. While it is closed, no new people can start, and people at work
    continue. Raises Conflict."""
    link = get_link(session, account, campaign_id, link_id, edit=True)
    if link.state not in FROM[action]:
        raise Conflict(f"You can't {action} this link because it is {link.state}.")
    link.state = {"pause": "paused", "resume": "open", "stop": "stopped"}[action]
    link.stopped_at = datetime.now(UTC) if action == "stop" else None
    return _record_change(session, account, link, action)


def get_link(
    session: Session, account: Account, campaign_id: UUID, link_id: UUID, *, edit: bool = False
) -> Recruitment:
    """Return a link of a campaign that the account can see, with its row locked if `edit` is set.
    Raises NotFound."""
    campaign = get_campaign(session, account, campaign_id, edit=edit)
    link = session.get(Recruitment, link_id)
    if link is None or link.channel != "link" or link.campaign_id != campaign.id:
        raise NotFound("This campaign has no such link.")
    return locked(session, Recruitment, link.id) if edit else link


def panel_address(address: str, settings: LinkSettings) -> str:
    """Return a link's address with the placeholders that a panel replaces. Parameters that the
    panel adds by itself are left out."""
    pairs = [
        f"{parameter.name}={parameter.placeholder}"
        for parameter in settings.parameters
        if parameter.placeholder
    ]
    return f"{address}?{'&'.join(pairs)}" if pairs else address


def work_of(session: Session, links: Sequence[Recruitment]) -> dict[UUID, LinkWork]:
    """Return the progress of each of these links."""
    ids = [link.id for link in links]
    begun = (Assignment.state == "open") & (Assignment.n_answered > 0)
    people = session.execute(
        select(
            Assignment.recruitment_id,
            func.count().filter(is_finished()),
            func.count().filter(is_at_work()),
            func.count().filter(begun & ~is_at_work()),
        )
        .where(Assignment.recruitment_id.in_(ids))
        .group_by(Assignment.recruitment_id)
    )
    money = session.execute(
        select(
            Payment.recruitment_id,
            func.sum(Payment.amount_cents).filter(Payment.state.in_(COMMITTED)),
            func.sum(Payment.amount_cents).filter(Payment.state == "paid"),
        )
        .where(Payment.recruitment_id.in_(ids))
        .group_by(Payment.recruitment_id)
    )
    invitations = session.execute(
        select(
            Invitation.recruitment_id,
            func.count().filter(Invitation.revoked_at.is_(None) | Invitation.used_at.is_not(None)),
            func.count(Invitation.used_at),
        )
        .where(Invitation.recruitment_id.in_(ids))
        .group_by(Invitation.recruitment_id)
    )
    did = {link_id: counts for link_id, *counts in people}
    cents = {link_id: sums for link_id, *sums in money}
    asked = {link_id: counts for link_id, *counts in invitations}
    work = {}
    for link_id in ids:
        finished, at_work, left = did.get(link_id, (0, 0, 0))
        committed, paid = cents.get(link_id, (0, 0))
        invited, used = asked.get(link_id, (0, 0))
        payable = (committed or 0) - (paid or 0)
        work[link_id] = LinkWork(finished, at_work, left, payable, paid or 0, invited, used)
    return work


def _name(text: str) -> str:
    return text.replace("\0", "").strip()


def _places(places: int) -> int:
    if not 0 <= places <= MOST_PLACES:
        raise InvalidInput(f"Enter 1 to {MOST_PLACES} places, or 0 for no limit.")
    return places


def _reward(cents: int) -> int:
    if not 0 <= cents <= MOST_REWARD_CENTS:
        raise InvalidInput(
            f"The reward must be between 0 and {MOST_REWARD_CENTS} cents; it is {cents}."
        )
    return cents


def _record_change(
    session: Session, account: Account, link: Recruitment, event: str, **details: Any
) -> Recruitment:
    record_audit(
        session, account.id, f"link.{event}", "recruitment", link.id,
        campaign=str(link.campaign_id), **details,
    )  # fmt: skip
    campaign_changed(session, link.campaign_id)
    return link


@hooks.started.answered_by
def make_first_link(session: Session, campaign: Campaign) -> None:
    """Create a link that is open to everyone who has it, for any number of people. The caller must
    hold the campaign's row lock."""
    link = Recruitment(
        campaign_id=campaign.id,
        channel="link",
        name="Link",
        link_token=campaign.link_token,
        state="open",
        settings=LinkSettings().model_dump(),
        places=0,
        reward_cents=campaign.reward_cents,
        currency=campaign.currency,
        opened_at=datetime.now(UTC),
    )
    session.add(link)
    session.flush()


@hooks.reward_changed.answered_by
def follow_reward(session: Session, campaign: Campaign, before: int) -> None:
    """Update the first link's reward after the campaign's reward has changed, unless the link has
    its own."""
    link = session.scalar(
        select(Recruitment)
        .where(Recruitment.link_token == campaign.link_token)
        .with_for_update(key_share=True)
    )
    if link is not None and link.reward_cents == before:
        link.reward_cents = campaign.reward_cents


def is_finished() -> ColumnElement[bool]:
    """SQL: an assignment that is done, with at least one answer."""
    return and_(Assignment.state == "completed", Assignment.n_answered > 0)


def is_at_the_end() -> ColumnElement[bool]:
    """SQL: an assignment whose grids are done, and whose person has yet to answer the questions
    that come then. They may do so later, and are paid in any case."""
    done = Assignment.n_answered >= Assignment.target + Assignment.extra
    over = or_(done, Assignment.grids_over_at.is_not(None))
    return and_(Assignment.state == "open", Assignment.n_answered > 0, over)


def is_at_work() -> ColumnElement[bool]:
    """SQL: an open assignment with a live lease, or whose page was opened no longer ago than a
    lease lasts, because people read instructions before they have a lease."""
    lately = datetime.now(UTC) - timedelta(seconds=get_settings().lease_seconds)
    leased = (
        select(Answer.id)
        .where(
            Answer.assignment_id == Assignment.id,
            Answer.state == "leased",
            Answer.lease_expires_at > func.now(),
        )
        .exists()
    )
    came = Assignment.created_at.between(lately, latest_now())
    here = or_(came, Assignment.seen_at > lately, leased)
    return and_(Assignment.state == "open", Assignment.screened_out_at.is_(None), here)


def free_place(session: Session, assignment: Assignment) -> None:
    """Give the place of somebody who was screened out to the next person, although their page may
    still be open. They earn nothing."""
    assignment.seen_at = None


def has_place(session: Session, link: Recruitment) -> bool:
    """Return whether one more person can start. This is certain only while the link's row is
    locked."""
    if link.places == 0:
        return True
    taken = select(func.count()).where(
        Assignment.recruitment_id == link.id, or_(is_finished(), is_at_the_end(), is_at_work())
    )
    return (session.scalar(taken) or 0) < link.places
