"""One served emulator for a module's tests, forgotten anew before each."""

from collections.abc import Iterator
from typing import Any

import pytest

from emulators.mturk.server import Emulator, running
from tests.emulators.researcher import Desk, a_desk
from tests.emulators.support import Crowd, client


@pytest.fixture(scope="module")
def served() -> Iterator[Emulator]:
    accounts = {"emulator": "emulator-secret", "other": "other-secret"}
    with running(accounts=accounts, allow_http=False) as emulator:
        yield emulator


@pytest.fixture(scope="module")
def shared_client(served: Emulator) -> Any:
    return client(served)


@pytest.fixture
def emulator(served: Emulator) -> Iterator[Emulator]:
    """Whatever a test does, the emulator's own answers must fit the service model."""
    served.state.reset()
    yield served
    assert [
        violation for violation in served.state.violations if violation["side"] == "response"
    ] == []


@pytest.fixture
def mturk(emulator: Emulator, shared_client: Any) -> Any:
    return shared_client


@pytest.fixture
def crowd(emulator: Emulator) -> Iterator[Crowd]:
    crowd = Crowd(emulator)
    with crowd.http:
        yield crowd


@pytest.fixture(scope="module")
def shared_desk() -> Iterator[Desk]:
    with a_desk() as opened:
        yield opened


@pytest.fixture
def desk(shared_desk: Desk) -> Iterator[Desk]:
    """A researcher in a marketplace where nothing has happened yet."""
    with shared_desk.checked():
        yield shared_desk
