"""Server-sent events: the progress of a campaign whenever it changes.

A Redis message says that something changed; the change itself is read from PostgreSQL. Without
Redis it is read every few seconds, so a page is at worst a little late.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from uuid import UUID

from redis.asyncio import Redis
from redis.exceptions import RedisError
from sse_starlette import EventSourceResponse
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.campaigns.read_only import live_visitor
from app.core.database import transaction
from app.core.events import channel_of
from app.core.places import streams
from app.core.row_security import scope_to_account
from app.core.settings import get_settings
from app.results.schemas import ProgressOut
from app.results.service import read_progress
from app.results.visitors import shown_progress

logger = logging.getLogger(__name__)
POLL_SECONDS = 3.0
PAUSE_SECONDS = 0.5
# Whether a browser is signed in is checked only when it connects.
LONGEST_SECONDS = 600.0
# This makes proxies keep a silent stream open.
PING_SECONDS = 15
# Pages learn of news one after another, so that they do not all write at the same moment while
# an annotator waits.
BETWEEN_PAGES_SECONDS = 0.005
# An event loop, a campaign, an account.
_Key = tuple[asyncio.AbstractEventLoop, UUID, UUID]
_watches: dict[_Key, "_Watch"] = {}


def progress_json(campaign_id: UUID, account_id: UUID) -> str | None:
    """Return the API's progress object as JSON text, read in a separate transaction; None once the
    account is deleted or disabled, or can no longer see the campaign."""
    with transaction() as session:
        account = session.get(Account, account_id) or live_visitor(session, account_id)
        if account is None or account.disabled_at is not None:
            return None
        scope_to_account(session, account_id)
        campaign = session.get(Campaign, campaign_id)
        if campaign is None:
            return None
        progress = ProgressOut.of(read_progress(session, campaign))
        return shown_progress(account, progress).model_dump_json()


async def progress_events(
    campaign_id: UUID, account_id: UUID
) -> AsyncGenerator[dict[str, str], None]:
    """Yield `progress` events: the first immediately, then one per change, at most two a second.

    A `changed` event without data means that something changed that is not part of the progress,
    such as a payment. The stream ends when the account can no longer see the campaign. It also ends
    with `again` after some minutes, and a client whose session has ended cannot reconnect. Raises
    what reading the progress raises.
    """
    last, ends = "", time.monotonic() + LONGEST_SECONDS
    with _followed(campaign_id, account_id) as (watch, news):
        changes = watch.changes
        while await _comes(news, ends):
            news.clear()
            if watch.has_ended():
                return
            if watch.changes > changes:
                changes = watch.changes
                yield {"event": "changed", "data": ""}
            if watch.progress != last:
                last = watch.progress
                yield {"event": "progress", "data": last}
    yield {"event": "again", "data": ""}


class _Watch:
    """Reads the progress of one campaign for all pages of an account that follow it.

    progress: as last read; empty before. changes: how many were announced. pages: of each, what is
    set when there is something new
    """

    def __init__(self, campaign_id: UUID, account_id: UUID) -> None:
        self.progress, self.changes = "", 0
        self.pages: list[asyncio.Event] = []
        self.task = asyncio.create_task(self._run(campaign_id, account_id))

    def has_ended(self) -> bool:
        """Whether the campaign can no longer be seen. Raises what reading the progress raised."""
        if not self.task.done():
            return False
        self.task.result()
        return True

    async def _run(self, campaign_id: UUID, account_id: UUID) -> None:
        self.task.add_done_callback(self._end)
        async with _Changes(campaign_id) as changes:
            while True:
                current = await run_in_threadpool(progress_json, campaign_id, account_id)
                if current is None:
                    return
                if current != self.progress:
                    self.progress = current
                    await self._tell()
                await asyncio.sleep(PAUSE_SECONDS)
                if await changes.wait():
                    self.changes += 1
                    await self._tell()

    async def _tell(self) -> None:
        for news in list(self.pages):
            news.set()
            await asyncio.sleep(BETWEEN_PAGES_SECONDS)

    def _end(self, _: asyncio.Task[None]) -> None:
        for news in self.pages:
            news.set()


@contextmanager
def _followed(campaign_id: UUID, account_id: UUID) -> Iterator[tuple[_Watch, asyncio.Event]]:
    key = (asyncio.get_running_loop(), campaign_id, account_id)
    watch = _watches.get(key)
    if watch is None or watch.task.done():
        watch = _watches[key] = _Watch(campaign_id, account_id)
    news = asyncio.Event()
    if watch.progress:
        news.set()
    watch.pages.append(news)
    try:
        yield watch, news
    finally:
        watch.pages.remove(news)
        if not watch.pages:
            watch.task.cancel()
            if _watches.get(key) is watch:
                del _watches[key]


async def _comes(news: asyncio.Event, ends: float) -> bool:
    """Wait for news; False at the end of the time."""
    try:
        async with asyncio.timeout(ends - time.monotonic()):
            return await news.wait()
    except TimeoutError:
        return False


class ProgressStream(EventSourceResponse):
    """The response of `progress_events`. An account can have a limited number at once; a further
    one gets 429."""

    def __init__(self, campaign_id: UUID, account_id: UUID) -> None:
        super().__init__(progress_events(campaign_id, account_id), ping=PING_SECONDS)
        self._account_id = account_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with streams.held(self._account_id):
            await super().__call__(scope, receive, send)


class _Changes:
    """Waits for the next change of a campaign, or a few seconds."""

    def __init__(self, campaign_id: UUID) -> None:
        self._channel = channel_of(campaign_id)
        self._redis = Redis.from_url(get_settings().redis_url, socket_connect_timeout=1)
        self._messages = self._redis.pubsub(ignore_subscribe_messages=True)

    async def __aenter__(self) -> "_Changes":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._messages.aclose()  # type: ignore[no-untyped-call]  # untyped in redis-py
        await self._redis.aclose()

    async def wait(self) -> bool:
        """Wait, and tell whether a change was announced or time is up."""
        try:
            if not self._messages.subscribed:
                await self._messages.subscribe(self._channel)
            return await self._messages.get_message(timeout=POLL_SECONDS) is not None
        except (RedisError, OSError) as error:
            logger.warning("live events without Redis, polling: %s", error)
            await asyncio.sleep(POLL_SECONDS)
            return False
