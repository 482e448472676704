"""One served emulator for a module's tests, forgotten anew before each."""

from collections.abc import Iterator
from typing import Any

import pytest

from emulators.mturk.server import Emulator, running
from tests.emulators.support import Crowd, client


@pytest.fixture(scope="module")
def served() -> Iterator[Emulator]:
    accounts = {"emulator": "emulator-secret", "other": "other-secret"}
    with running(accounts=accounts, allow_http=False) as emulator:
        yield emulator


@pytest.fixture(scope="module")
def one_client(served: Emulator) -> Any:
    return client(served)


@pytest.fixture
def emulator(served: Emulator) -> Iterator[Emulator]:
    """Whatever a test does, the emulator's own answers must fit the service model."""
    served.state.reset()
    yield served
    assert [one for one in served.state.violations if one["side"] == "response"] == []


@pytest.fixture
def mturk(emulator: Emulator, one_client: Any) -> Any:
    return one_client


@pytest.fixture
def crowd(emulator: Emulator) -> Iterator[Crowd]:
    crowd = Crowd(emulator)
    with crowd.http:
        yield crowd
