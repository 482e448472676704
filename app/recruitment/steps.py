"""Working on what is due on platforms, one request at a time."""

import random
from collections.abc import Callable, Collection
from functools import partial
from typing import Any
from uuid import UUID

from app.core.database import transaction
from app.core.settings import get_settings
from app.core.shares import Shares
from app.recruitment import bonus_work, reconcile, work
from app.recruitment.channels.mturk_queue import MTurkQueue, TurkEvent
from app.recruitment.notices import take_turk_events

# Limits how many of the threads in workers/recruiter.py one account can use, because its platform
# may be slow and its payments many.
AT_ONCE = 2
POLLS_AT_ONCE = 1
_shares, _polls = Shares(AT_ONCE), Shares(POLLS_AT_ONCE)


def work_once() -> bool:
    """Make one request that is due. Return False if there is none.

    The kinds of work are tried in random order, so that many requests of one kind don't delay the
    others.
    """
    kinds: list[tuple[Callable[..., Any], Callable[[Any], None]]] = [
        (work.claim_call, work.do_call),
        (work.claim_reward, work.do_reward),
        (bonus_work.claim_bonuses, bonus_work.do_bonuses),
    ]
    for claim, do in random.sample(kinds, len(kinds)):
        with _shares.claimed(partial(_claim, claim)) as attempt:
            if attempt is not None:
                do(attempt)
                return True
    return False


def _claim(claim: Callable[..., Any], busy: Collection[UUID]) -> Any:
    with transaction() as session:
        return claim(session, busy)


def listen_once() -> bool:
    """Process what is in the operator's queue of MTurk events. Return False if there is nothing."""
    address = get_settings().mturk_queue_url
    return bool(address) and bool(MTurkQueue(address).take(_take_in))


def _take_in(events: list[TurkEvent]) -> None:
    with transaction() as session:
        take_turk_events(session, events)


def poll_once() -> bool:
    """Check the platform of one recruitment that is due. Return False if there is none."""
    with _polls.claimed(partial(_claim, reconcile.claim_poll)) as attempt:
        if attempt is not None:
            reconcile.do_poll(attempt, get_settings().poll_seconds)
        return attempt is not None
