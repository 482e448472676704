"""An import whose images find no room waits for it, however long that takes."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import func, select, update

from app.collections.importing import run_import
from app.collections.imports import requeue_lost_imports, start_import
from app.collections.models import Collection, CollectionImport
from app.collections.service import create_collection
from app.core.database import transaction
from app.core.outbox import OutboxMessage
from testbed.builders import a_png, an_account
from tests.conftest import forget_settings
from tests.support.full import SmallDisk, small_disk

MOST_ATTEMPTS = 3


@pytest.fixture
def disk(environment: dict[str, str], tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "data" / "storage", "16m") as mounted:
        yield mounted


@pytest.fixture
def pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where five images lie that may be imported."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    for k in range(5):
        (folder / f"{k}.png").write_bytes(a_png(k))
    monkeypatch.setenv("LIKEWISE_IMPORT_SOURCES", f"file://{folder}")
    forget_settings()
    return f"file://{folder}/"


def test_an_import_goes_on_when_there_is_room_and_loses_no_attempt(
    disk: SmallDisk, pictures: str
) -> None:
    owner = an_account()
    with transaction() as session:
        collection = create_collection(session, owner, "Pictures")
        begun = start_import(session, owner, collection, prefix=pictures)
    disk.fill()
    for _ in range(MOST_ATTEMPTS + 1):
        run_import(begun.id, lambda: False)
        row = stored_import(begun.id)
        assert (row.state, row.attempts, row.n_done) == ("queued", 0, 0)
        assert row.error is not None
        assert "disk is full" in row.error
    disk.make_room()
    assert is_begun_again_later()
    run_import(begun.id, lambda: False)
    row = stored_import(begun.id)
    assert (row.state, row.n_added, row.error) == ("done", 5, None)
    with transaction() as session:
        assert session.get_one(Collection, collection.id).n_images == 5


def stored_import(import_id: UUID) -> CollectionImport:
    with transaction() as session:
        return session.get_one(CollectionImport, import_id)


def is_begun_again_later() -> bool:
    """Not at once, as it would be told again and again of the full disk."""
    with transaction() as session:
        assert session.scalar(select(func.count()).select_from(OutboxMessage)) == 1
        session.execute(
            update(OutboxMessage).values(dispatched_at=datetime(2026, 1, 1, tzinfo=UTC))
        )
    with transaction() as session:
        return requeue_lost_imports(session) == 1
