"""MTurk's notifications through a queue, against the strict emulator."""

from collections.abc import Iterator

import pytest

from app.recruitment.channel import ChannelUnavailable
from app.recruitment.channels.mturk.queue import MTurkQueue, TurkEvent
from emulators.mturk.faults import Faults, FaultSettings
from emulators.mturk.queue import put
from tests.conftest import forget_settings
from tests.support.turk import SECRET, Turk, emptied, served_turk


@pytest.fixture(scope="module")
def served() -> Iterator[Turk]:
    with served_turk() as served:
        yield served


@pytest.fixture
def turk(served: Turk) -> Iterator[Turk]:
    with emptied(served) as turk:
        yield turk


@pytest.fixture
def queue(turk: Turk, monkeypatch: pytest.MonkeyPatch) -> Iterator[MTurkQueue]:
    turk.state.queues["turk"] = []
    url = f"{turk.emulator.endpoint_url}/000000000000/turk"
    monkeypatch.setenv("LIKEWISE_MTURK_QUEUE_URL", url)
    forget_settings()
    yield MTurkQueue(url, ("emulator", SECRET))
    monkeypatch.undo()
    forget_settings()


def test_events_come_by_the_queue_and_leave_it_once_they_are_handled(
    turk: Turk, queue: MTurkQueue
) -> None:
    posting = turk.publish()
    turk.state.faults = Faults(FaultSettings(duplicate_notifications=1))
    ref = turk.work(posting)
    put(turk.state, "turk", "rubbish")
    put(turk.state, "turk", '{"EventDocId": "../x", "Events": [{"EventType": "HITExpired"}]}')
    seen: list[TurkEvent] = []

    def fails(events: list[TurkEvent]) -> None:
        raise RuntimeError("the database is away")

    with pytest.raises(RuntimeError):
        queue.take(fails)
    turk.hurry(hours=1)
    assert queue.take(seen.extend) == 6
    assert queue.take(seen.extend) == 0
    assert turk.state.queues["turk"] == []
    assert len(seen) == 4
    assert len({event.event_id for event in seen}) == 2
    assert [event.event_type for event in seen[::2]] == [
        "AssignmentAccepted",
        "AssignmentSubmitted",
    ]
    for event in seen:
        assert (event.hit_id, event.assignment_id) == (posting.external_id, ref.external_id)
        assert event.at is not None
        assert event.at.tzinfo is not None


def test_a_queue_that_is_not_there_keeps_no_task_off_the_market(
    turk: Turk, queue: MTurkQueue
) -> None:
    del turk.state.queues["turk"]
    posting = turk.publish()
    assert "InvalidTransportEndpoint" in posting.details["notifications"]
    assert turk.channel.status(posting).state == "open"
    with pytest.raises(ChannelUnavailable, match="Notification queue"):
        queue.take(lambda events: None)
