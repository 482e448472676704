"""Settings of this process during a test."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from app.core import database, events, settings, storage, throttle


@contextmanager
def used_here(values: Mapping[str, str]) -> Iterator[None]:
    """This process has these settings, and forgets what it made from them at the end."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            patch.setenv(name, value)
        forget_settings()
        yield
        database.get_engine().dispose()
        database._downloads().dispose()
        database.get_direct_engine().dispose()
    forget_settings()


def forget_settings() -> None:
    """Everything that was made from settings is made again at its next use."""
    settings.get_settings.cache_clear()
    database.get_engine.cache_clear()
    database._downloads.cache_clear()
    database._past_the_pooler.cache_clear()
    database.session_factory.cache_clear()
    storage._store.cache_clear()
    events._redis.cache_clear()
    throttle._storage.cache_clear()
    throttle._memory.cache_clear()
