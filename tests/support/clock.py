"""The machine's clock is set: to what is stored that is the same as being of another time."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from redis import Redis
from sqlalchemy import DateTime, literal, text, update

from app.annotation.sessions import TOKEN
from app.core.database import transaction
from app.core.security import _fernet
from app.core.settings import get_settings
from app.tables import metadata

HOUR = timedelta(hours=1)


def clock_was_set(by: timedelta) -> None:
    """Set back (negative) by an hour, every time that is stored lies an hour further ahead."""
    with transaction() as session:
        # What never changes but by the clock is guarded by triggers.
        session.execute(text("SET LOCAL session_replication_role = replica"))
        for table in metadata.tables.values():
            times = [column for column in table.columns if isinstance(column.type, DateTime)]
            if times:
                session.execute(
                    update(table).values({column: column - literal(by) for column in times})
                )
    with Redis.from_url(get_settings().redis_url) as client:
        for key in client.scan_iter():
            left = client.pttl(key)
            if left > 0:
                # None is left: the key is gone.
                client.pexpire(key, int(left - by.total_seconds() * 1000))


def as_if_sealed_before(token: str, by: timedelta) -> str:
    """An annotator's token that was sealed just now, once the clock was set by so much."""
    keys = _fernet(TOKEN)
    return keys.encrypt_at_time(keys.decrypt(token), int(time.time() - by.total_seconds())).decode()


@contextmanager
def clock_off_by(off: timedelta) -> Iterator[None]:
    """Within the block, `time.time` of this process is off by so much."""
    right = time.time
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", lambda: right() + off.total_seconds())
        yield
