"""Pages that follow the same campaign share one reading of its progress."""

import asyncio
import threading
from contextlib import aclosing
from uuid import UUID, uuid4

import pytest

from app.results import live

pytestmark = pytest.mark.usefixtures("environment")


class Readings:
    """Readings of progress that end when they may; each returns its number, or fails."""

    def __init__(self) -> None:
        self.begun = 0
        self.may_end = threading.Semaphore(0)
        self.fails = False

    def read(self, campaign_id: UUID, account_id: UUID) -> str:
        self.begun += 1
        number = self.begun
        assert self.may_end.acquire(timeout=20)
        if self.fails:
            raise ConnectionError("no database")
        return str(number)


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> Readings:
    recorder = Readings()
    monkeypatch.setattr(live, "progress_json", recorder.read)
    monkeypatch.setattr(live, "POLL_SECONDS", 0.1)
    monkeypatch.setattr(live, "PAUSE_SECONDS", 0.05)
    return recorder


def a_page(campaign: UUID, account: UUID, n: int = 1) -> asyncio.Task[list[str]]:
    """A page that leaves after n events of progress, and returns them."""

    async def follow() -> list[str]:
        progress: list[str] = []
        async with aclosing(live.progress_events(campaign, account)) as events:
            async for event in events:
                progress += [event["data"]] if event["event"] == "progress" else []
                if len(progress) == n:
                    break
        return progress

    return asyncio.create_task(follow())


async def begun(readings: Readings, n: int) -> None:
    async with asyncio.timeout(20):
        while readings.begun < n:
            await asyncio.sleep(0.005)


def test_pages_that_follow_a_campaign_share_its_readings(readings: Readings) -> None:
    campaign, account = uuid4(), uuid4()

    async def run() -> None:
        pages = [a_page(campaign, account, n=2) for _ in range(40)]
        await begun(readings, 1)
        readings.may_end.release()
        await begun(readings, 2)
        # Who comes later gets at once what was read last.
        assert await a_page(campaign, account) == ["1"]
        readings.may_end.release(100)
        assert [await page for page in pages] == [["1", "2"]] * 40
        # Nobody follows it any more.
        assert live._watches == {}

    asyncio.run(run())


def test_other_campaigns_and_accounts_are_read_for_themselves(readings: Readings) -> None:
    campaign, account = uuid4(), uuid4()

    async def run() -> None:
        asked = [(campaign, account), (campaign, uuid4()), (uuid4(), account)]
        pages = [a_page(*pair) for pair in asked]
        await begun(readings, 3)
        readings.may_end.release(100)
        assert {(await page)[0] for page in pages} == {"1", "2", "3"}

    asyncio.run(run())


def test_who_leaves_takes_the_reading_from_nobody(readings: Readings) -> None:
    campaign, account = uuid4(), uuid4()

    async def run() -> None:
        leaving, staying = (a_page(campaign, account) for _ in range(2))
        await begun(readings, 1)
        leaving.cancel()
        await asyncio.wait({leaving})
        readings.may_end.release(100)
        assert await staying == ["1"]
        assert leaving.cancelled()

    asyncio.run(run())


def test_a_reading_that_fails_ends_the_pages_and_the_next_one_reads_again(
    readings: Readings,
) -> None:
    campaign, account = uuid4(), uuid4()

    async def run() -> None:
        readings.fails = True
        pages = [a_page(campaign, account) for _ in range(3)]
        await begun(readings, 1)
        readings.may_end.release(100)
        for page in pages:
            with pytest.raises(ConnectionError):
                await page
        readings.fails = False
        assert await a_page(campaign, account) == ["2"]

    asyncio.run(run())
