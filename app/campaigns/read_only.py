"""Read-only links: they show a campaign's results to people without an account
(docs/decisions/0046).
"""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from limits import RateLimitItemPerMinute
from sqlalchemy import ColumnElement, Select, func, or_, select, update
from sqlalchemy.orm import Session

from app.accounts import hooks
from app.accounts.models import VISITOR, Account
from app.accounts.service import record_audit
from app.campaigns.models import Campaign, ReadOnlyLink
from app.campaigns.sharing import require_owner
from app.core import throttle
from app.core.database import transaction
from app.core.errors import Conflict, InvalidInput, LikewiseError, NotFound
from app.core.security import hash_token, new_token, sign, unsign
from app.core.visits import Visit

DAYS = (7, 30, 90)
MOST_LINKS = 100
# After that, a visitor opens the link again.
VISIT_HOURS = 12
USE_NOTED_EVERY = timedelta(minutes=1)
WRONG_PER_ADDRESS = RateLimitItemPerMinute(30)
_PURPOSE = "read-only view"


class LinkNotValid(LikewiseError):
    """The read-only link is unknown, withdrawn or expired, or this browser has not opened it."""

    code = "read_only_link_not_valid"
    status = 403


class TooManyLinks(LikewiseError):
    """Too many unknown links were opened from one address."""

    code = "too_many_attempts"
    status = 429


def create_link(
    session: Session, owner: Account, campaign: Campaign, note: str, days: int | None
) -> tuple[ReadOnlyLink, str]:
    """Create a read-only link, and return it with its token, which is shown only once.

    days: how long it is valid, None for ever
    Raises InvalidInput, Conflict, and MayNotChange if `owner` does not own the campaign.
    """
    require_owner(owner, campaign)
    note = note.strip()
    if not 1 <= len(note) <= 200:
        raise InvalidInput("Enter whom the link is for, in 1 to 200 characters.", code="bad_note")
    if days is not None and days not in DAYS:
        raise InvalidInput(f"A link is valid for 7, 30 or 90 days, not {days}.", code="bad_days")
    now = datetime.now(UTC)
    open_links = [
        link
        for link in list_links(session, campaign)
        if link.expires_at is None or link.expires_at > now
    ]
    if len(open_links) >= MOST_LINKS:
        raise Conflict(
            f"A campaign has at most {MOST_LINKS} read-only links. Withdraw those that are no "
            "longer needed.",
            code="too_many_links",
        )
    token = new_token()
    link = ReadOnlyLink(
        campaign_id=campaign.id,
        note=note,
        token_hash=hash_token(token),
        expires_at=now + timedelta(days=days) if days else None,
    )
    session.add(link)
    session.flush()
    record_audit(session, owner.id, "campaign.link_created", "campaign", campaign.id,
                 link=str(link.id))  # fmt: skip
    return link, token


def list_links(session: Session, campaign: Campaign) -> list[ReadOnlyLink]:
    """List the links that were not withdrawn, the newest first."""
    return list(session.scalars(links_of(campaign).order_by(ReadOnlyLink.id.desc())))


def links_of(campaign: Campaign) -> Select[ReadOnlyLink]:
    return select(ReadOnlyLink).where(
        ReadOnlyLink.campaign_id == campaign.id, ReadOnlyLink.withdrawn_at.is_(None)
    )


def withdraw_link(session: Session, owner: Account, campaign: Campaign, link_id: UUID) -> None:
    """End a link at once, also for those who have opened it, and delete its note, which may name a
    person. Raises NotFound and MayNotChange."""
    require_owner(owner, campaign)
    link = session.get(ReadOnlyLink, link_id)
    if link is None or link.campaign_id != campaign.id:
        raise NotFound("This read-only link does not exist.")
    if link.withdrawn_at is None:
        link.withdrawn_at, link.note = datetime.now(UTC), ""
        record_audit(session, owner.id, "campaign.link_withdrawn", "campaign", campaign.id,
                     link=str(link.id))  # fmt: skip


def _is_valid(now: datetime) -> ColumnElement[bool]:
    """Return SQL for a link that may be used; also needs its `Campaign` and the owner's `Account`
    in the statement."""
    return (
        ReadOnlyLink.withdrawn_at.is_(None)
        & or_(ReadOnlyLink.expires_at.is_(None), ReadOnlyLink.expires_at > now)
        & Account.disabled_at.is_(None)
    )


def _valid_link(session: Session, condition: ColumnElement[bool]) -> ReadOnlyLink | None:
    query = (
        select(ReadOnlyLink)
        .join(Campaign, Campaign.id == ReadOnlyLink.campaign_id)
        .join(Account, Account.id == Campaign.owner_id)
        .where(condition, _is_valid(datetime.now(UTC)))
    )
    return session.scalar(query)


def open_link(session: Session, token: str, address: str) -> ReadOnlyLink:
    """Return the valid link of a token.

    address: of the client, whose wrong attempts are counted
    Raises LinkNotValid, or TooManyLinks after too many wrong attempts.
    """
    if not throttle.may_try(WRONG_PER_ADDRESS, "read-only-link", address):
        raise TooManyLinks("Too many unknown links were opened. Try again in a minute.")
    link = _valid_link(session, ReadOnlyLink.token_hash == hash_token(token))
    if link is None:
        throttle.hit(WRONG_PER_ADDRESS, "read-only-link", address)
        raise _not_valid()
    return link


def cookie_of_visit(link: ReadOnlyLink) -> str:
    """Return the value of the cookie of somebody who has opened a link."""
    ends = datetime.now(UTC) + timedelta(hours=VISIT_HOURS)
    return sign(_PURPOSE, [str(link.id), link.token_hash, int(ends.timestamp())])


@hooks.visitor.answered_by
def visitor(session: Session, visit: Visit) -> Account:
    """Return an account that stands for the visitor: its id is the link's, it is never stored, and
    row-level security shows it the link's campaign only. Raises LinkNotValid."""
    now = datetime.now(UTC)
    claims = unsign(_PURPOSE, visit.cookie) if visit.cookie else None
    link = _valid_link(session, ReadOnlyLink.id == visit.link_id) if claims else None
    if link is None or claims is None or claims[:2] != [str(link.id), link.token_hash]:
        raise _not_valid()
    if claims[2] < now.timestamp():
        raise _not_valid()
    if link.last_used_at is None or now - link.last_used_at > USE_NOTED_EVERY:
        _note_use(link.id)
    return account_of_link(link.id)


def account_of_link(link_id: UUID) -> Account:
    return Account(id=link_id, email="", role=VISITOR)


def live_visitor(session: Session, link_id: UUID) -> Account | None:
    """Return the account that stands for visitors of a link, or None if it is not valid."""
    link = _valid_link(session, ReadOnlyLink.id == link_id)
    return None if link is None else account_of_link(link_id)


def _not_valid() -> LinkNotValid:
    return LinkNotValid(
        "This read-only link does not work: it has ended, or this browser has not opened it "
        "lately. Open the link again as you got it, or ask the person who sent it."
    )


def _note_use(link_id: UUID) -> None:
    """Note the time of use, unless another request is doing so. In a transaction of its own: a map
    can take long, and the owner must not wait for it to withdraw the link."""
    free = select(ReadOnlyLink.id).where(ReadOnlyLink.id == link_id)
    with transaction() as session:
        session.execute(
            update(ReadOnlyLink)
            .where(ReadOnlyLink.id.in_(free.with_for_update(skip_locked=True)))
            .values(last_used_at=func.now())
            .execution_options(synchronize_session=False)
        )
