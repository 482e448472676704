"""Working on what is due on platforms, one request at a time."""

from collections.abc import Callable

from app.core.database import transaction
from app.core.work import WorkQueue
from app.recruitment.bonus_work import BONUSES
from app.recruitment.channels.registry import all_channels
from app.recruitment.channels.spec import PlatformEvent
from app.recruitment.notices import take_events
from app.recruitment.reconcile import POLLS
from app.recruitment.work import CALLS, REWARDS

# Limits how many of the threads in workers/pool.py one account can use, because its platform may be
# slow and its payments many.
AT_ONCE = 2
POLLS_AT_ONCE = 1
_requests = WorkQueue(CALLS, REWARDS, BONUSES, most=AT_ONCE)
_polls = WorkQueue(POLLS, most=POLLS_AT_ONCE)


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
