"""What tests of recruiting on the MTurk emulator share."""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal

import pytest

from app.accounts.models import Account
from app.campaigns.models import Campaign
from emulators.mturk.server import Emulator
from testbed.builders import a_campaign
from testbed.settings import forget_settings

GRIDS = 2


@contextmanager
def recruiting_on(served: Emulator, monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulator]:
    """The emulator, empty, and the settings that lead to it."""
    monkeypatch.setenv("LIKEWISE_MTURK_ENDPOINT", served.endpoint_url)
    monkeypatch.setenv("LIKEWISE_MTURK_WORKER_SITE", served.endpoint_url)
    forget_settings()
    served.state.reset()
    yield served
    assert served.state.violations == []


def a_paying_campaign(owner: Account) -> Campaign:
    return a_campaign(owner, budget=40, grids_per_assignment=GRIDS, reward_cents=100)


def paid_there(turk: Emulator, *kinds: str) -> Decimal:
    return sum((entry.amount for entry in turk.state.journal if entry.kind in kinds), Decimal(0))
