"""What tests of webhooks share: a receiver that they may reach, and what was delivered."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import select

from app.core.database import transaction
from app.webhooks.models import Delivery
from testbed.settings import forget_settings
from tests.support.receiver import Receiver, a_receiver


@contextmanager
def a_local_receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """A receiver on this machine, and the setting that lets webhooks reach it."""
    monkeypatch.setenv("LIKEWISE_WEBHOOKS_TO_PRIVATE", "1")
    forget_settings()
    with a_receiver() as running:
        yield running


def deliveries() -> list[Delivery]:
    with transaction() as session:
        return list(session.scalars(select(Delivery).order_by(Delivery.id)))
