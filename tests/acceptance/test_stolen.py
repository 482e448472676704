"""What the load test counts as time in which the machine's processors were somebody else's."""

import time
from pathlib import Path

import pytest

from testbed.system import wait_until
from tests.support import stolen
from tests.support.stolen import AFTER_SECONDS, Stolen, processor_times, stolen_share


def test_linux_tells_what_was_stolen(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    stat.write_text("cpu  100 20 30 400 5 0 7 38 9 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n")
    # Guests' time is in the users' already.
    assert processor_times(stat) == (38, 600)
    assert processor_times(tmp_path / "no such file") == (0, 0)
    assert stolen_share((38, 600), (88, 800)) == 0.25
    assert stolen_share((38, 600), (38, 600)) == 0.0


def test_what_began_shortly_after_is_touched_too() -> None:
    record = Stolen(spells=[(10.0, 11.0), (20.0, 21.0)], looks=8)
    assert record.share_of_time() == 0.25
    assert record.touches(9.0, 10.5)
    assert record.touches(11.0 + AFTER_SECONDS - 0.1, 18.0)
    assert not record.touches(9.0, 9.9)
    assert not record.touches(21.0 + AFTER_SECONDS, 40.0)
    assert not Stolen().touches(0.0, 1.0)
    assert Stolen().share_of_time() == 0.0


def test_seconds_are_watched_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([(0, 0), (0, 100), (50, 200), (50, 300)])
    monkeypatch.setattr(stolen, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(stolen, "processor_times", lambda: next(ticks, (50, 300)))
    record, began = Stolen(), time.monotonic()
    with record.watched():
        wait_until("three looks", lambda: record.looks >= 3)
    [(first, last)] = record.spells
    assert began < first < last
