"""Working on what is due on platforms, one request at a time, and on platforms' notifications.

A notification only tells that it is worth checking the platform now. Whatever it says, the
platform's own record is read before anything follows from it. So one that is lost, late, repeated
or out of order makes no difference in the end.
"""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

from sqlalchemy import CompoundSelect, delete, select, union, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.annotation.models import Assignment
from app.core.database import transaction
from app.core.errors import NotFound
from app.core.security import decrypt
from app.core.sweeps import each_apart
from app.core.work import WorkQueue
from app.recruitment.bonus_work import BONUSES
from app.recruitment.calls import HOOK_PURPOSE
from app.recruitment.channels.registry import all_channels
from app.recruitment.channels.spec import PlatformEvent
from app.recruitment.models import ChannelAccount, Posting, Recruitment, SeenEvent, Submission
from app.recruitment.reconcile import POLLS
from app.recruitment.work import CALLS, REWARDS

# Limits how many of the threads in workers/pool.py one account can use, because its platform may be
# slow and its payments many.
AT_ONCE = 2
POLLS_AT_ONCE = 1
_requests = WorkQueue(CALLS, REWARDS, BONUSES, most=AT_ONCE)
_polls = WorkQueue(POLLS, most=POLLS_AT_ONCE)
KEPT = timedelta(days=14)


def work_once(claimed: Callable[[], None] = lambda: None) -> bool:
    """Make one request that is due. Returns False if there is none.

    claimed: called when the request was claimed, before it is made
    """
    return _requests.do_next(claimed)


def poll_once(claimed: Callable[[], None] = lambda: None) -> bool:
    """Check the platform of one recruitment that is due. Returns False if there is none.

    claimed: called when the recruitment was claimed, before the check
    """
    return _polls.do_next(claimed)


def listen_once() -> bool:
    """Process what is in the operator's queues of platforms' events. Returns False if there is
    nothing."""
    return any([channel.listen(_take_in) for channel in all_channels()])


def _take_in(events: list[PlatformEvent]) -> None:
    with transaction() as session:
        take_events(session, events)


def hook_secret(session: Session, channel: str, channel_account_id: UUID) -> str:
    """Return the secret that signs an account's notifications. Raises NotFound if there is none."""
    account = session.get(ChannelAccount, channel_account_id)
    is_theirs = account is not None and account.channel == channel
    encrypted = account.hook_secret if account is not None and is_theirs else None
    secret = decrypt(HOOK_PURPOSE, encrypted) if encrypted is not None else None
    if secret is None:
        raise NotFound("No notifications are expected at this address.")
    return secret.decode()


def take_hook(session: Session, channel_account_id: UUID, event: PlatformEvent) -> bool:
    """Have the platform checked. Return False if the notification was already processed."""
    for key in event.seen_keys:
        row = {"channel_account_id": channel_account_id, "event_id": key[:200]}
        fresh = session.scalar(
            insert(SeenEvent).values(row).on_conflict_do_nothing().returning(SeenEvent.event_id)
        )
        if fresh is None:
            return False
    session.execute(delete(SeenEvent).where(SeenEvent.created_at < datetime.now(UTC) - KEPT))
    named: CompoundSelect[UUID | None] = union(
        select(Posting.recruitment_id).where(Posting.external_id == (event.posting or None)),
        select(Submission.recruitment_id).where(
            Submission.external_id == (event.submission or None)
        ),
        select(Assignment.recruitment_id).where(
            Assignment.external_id == (event.submission or None)
        ),
    )
    session.execute(
        update(Recruitment)
        .where(
            Recruitment.channel_account_id == channel_account_id,
            Recruitment.state != "draft",
            Recruitment.id.in_(named),
        )
        .values(poll_at=datetime.now(UTC))
    )
    return True


def take_events(session: Session, events: Iterable[PlatformEvent]) -> None:
    """Have postings checked, and release assignments that were given back.

    An event that cannot be processed is dropped; the platform's own record is read anyway.
    """
    each_apart(session, events, partial(_take_event, session), lambda event, reason: None)


def _take_event(session: Session, event: PlatformEvent) -> None:
    posting = session.scalar(select(Posting).where(Posting.external_id == event.posting))
    if posting is None:
        return
    session.execute(
        update(Recruitment)
        .where(Recruitment.id == posting.recruitment_id)
        .values(poll_at=datetime.now(UTC))
    )
    if event.given_back_at is not None:
        # An assignment that someone has accepted again since is not released.
        session.execute(
            update(Assignment)
            .where(
                Assignment.posting_id == posting.id,
                Assignment.external_id == event.submission,
                Assignment.created_at < event.given_back_at,
            )
            .values(seen_at=None)
        )
