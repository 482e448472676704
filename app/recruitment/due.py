"""One thing at a time of what is due on platforms."""

import random
from collections.abc import Callable
from typing import Any

from sqlalchemy.orm import Session

from app.core.database import transaction
from app.core.settings import get_settings
from app.recruitment import bonus_work, reconcile, work
from app.recruitment.channels.mturk_queue import MTurkQueue, TurkEvent
from app.recruitment.notices import take_turk_events


def work_once() -> bool:
    """Make one request that is due; False when there is none.

    Kinds in an order by chance: many of one, somebody's, are not all made before any other.
    """
    kinds: list[tuple[Callable[[Session], Any], Callable[[Any], None]]] = [
        (work.claim_call, work.do_call),
        (work.claim_reward, work.do_reward),
        (bonus_work.claim_bonuses, bonus_work.do_bonuses),
    ]
    for claim, do in random.sample(kinds, len(kinds)):
        with transaction() as session:
            attempt = claim(session)
        if attempt is not None:
            do(attempt)
            return True
    return False


def listen_once() -> bool:
    """Take in what waits in the operator's queue of MTurk's events; False: nothing does."""
    address = get_settings().mturk_queue_url
    return bool(address) and bool(MTurkQueue(address).take(_take_in))


def _take_in(events: list[TurkEvent]) -> None:
    with transaction() as session:
        take_turk_events(session, events)


def poll_once() -> bool:
    """Ask the platform of one recruitment that is due; False when there is none."""
    with transaction() as session:
        attempt = reconcile.claim_poll(session)
    if attempt is None:
        return False
    reconcile.do_poll(attempt, get_settings().poll_seconds)
    return True
