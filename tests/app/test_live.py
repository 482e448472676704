"""Pages that follow the same campaign share one reading of its progress."""

import asyncio
import threading
from uuid import UUID, uuid4

import pytest

from app.results import live


class Readings:
    """Readings of progress that end when they may; each returns its number."""

    def __init__(self) -> None:
        self.begun = 0
        self.may_end = threading.Event()

    def read(self, campaign_id: UUID, account_id: UUID) -> str:
        self.begun += 1
        number = self.begun
        assert self.may_end.wait(20)
        return str(number)


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> Readings:
    made = Readings()
    monkeypatch.setattr(live, "progress_json", made.read)
    return made


async def begun(readings: Readings, n: int) -> None:
    async with asyncio.timeout(20):
        while readings.begun < n:
            await asyncio.sleep(0.005)


def test_who_asks_together_shares_one_reading_and_who_asks_later_gets_a_newer_one(
    readings: Readings,
) -> None:
    campaign, account = uuid4(), uuid4()

    async def run() -> None:
        first = [asyncio.create_task(live.shared_progress(campaign, account)) for _ in range(40)]
        await begun(readings, 1)
        # What has changed since the reading began may be missing in it.
        later = [asyncio.create_task(live.shared_progress(campaign, account)) for _ in range(40)]
        await asyncio.sleep(0.05)
        assert readings.begun == 1
        readings.may_end.set()
        assert set(await asyncio.gather(*first)) == {"1"}
        assert set(await asyncio.gather(*later)) == {"2"}
        assert await live.shared_progress(campaign, account) == "3"

    asyncio.run(run())


def test_other_campaigns_and_accounts_are_read_for_themselves(readings: Readings) -> None:
    campaign, account = uuid4(), uuid4()

    async def run() -> None:
        asked = [(campaign, account), (campaign, uuid4()), (uuid4(), account)]
        tasks = [asyncio.create_task(live.shared_progress(*one)) for one in asked]
        await begun(readings, 3)
        readings.may_end.set()
        assert set(await asyncio.gather(*tasks)) == {"1", "2", "3"}

    asyncio.run(run())


def test_who_leaves_takes_the_reading_from_nobody(readings: Readings) -> None:
    campaign, account = uuid4(), uuid4()

    async def run() -> None:
        leaving = asyncio.create_task(live.shared_progress(campaign, account))
        staying = asyncio.create_task(live.shared_progress(campaign, account))
        await begun(readings, 1)
        leaving.cancel()
        readings.may_end.set()
        assert await staying == "1"
        with pytest.raises(asyncio.CancelledError):
            await leaving

    asyncio.run(run())
