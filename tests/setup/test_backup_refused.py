"""Backups that are damaged, and places that hold data: refused, and nothing is changed."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, select

from app.collections.garbage import all_objects_kept, discard_below, remove_discarded
from app.collections.models import Image
from app.core.database import transaction
from app.core.revisions import newest_revision
from app.core.row_security import row_security_problems
from app.core.storage import all_keys, put_object
from app.tables import metadata
from likewise.backups.contents import DATABASE, KEY, MANIFEST, PARTS, BadBackup
from likewise.backups.restoring import check_backup
from likewise.backups.writing import write_backup
from testbed.builders import a_collection, an_account
from testbed.servers import Servers
from testbed.system import wait_until
from tests.conftest import settings_over, used_here
from tests.setup.test_up import a_data_folder, command
from tests.support.backups import Members, changed, members_of, rewritten, with_sums
from tests.support.migrations import alembic, query


@pytest.fixture(scope="module")
def whole(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A backup of one collection."""
    url, folder = servers.new_database(), tmp_path_factory.mktemp("whole")
    values = settings_over(servers, url, folder)
    with used_here(values):
        a_collection(an_account(), n=3)
    completed = command(folder, "backup", str(folder / "whole.zip"), **values)
    assert completed.returncode == 0, completed.stderr
    yield folder / "whole.zip"
    servers.drop_database(url)


def another_key(members: Members) -> None:
    members[KEY] = b"x" * len(members[KEY])


def without_an_object(members: Members) -> None:
    del members[next(name for name in members if name.startswith("storage/"))]


def without(name: str) -> Callable[[Members], None]:
    def change(members: Members) -> None:
        del members[name]

    return change


def one_more(members: Members) -> None:
    members["storage/images/more"] = b"more"


def another_list(members: Members) -> None:
    members[PARTS] = b"\n".join(members[PARTS].splitlines()[1:]) + b"\n"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (another_key, "secret_key has changed"),
        (without_an_object, "is missing"),
        (without(PARTS), "its list of parts is missing"),
        (without(MANIFEST), "it has no manifest"),
        (without(KEY), "secret_key is missing"),
        (one_more, "does not match its list of parts"),
        (another_list, "its list of parts has changed"),
        (changed(revision="9999"), "revision 9999, which this Likewise does not know"),
        (changed(format_version=99), "newer Likewise"),
        (changed(format="something"), "not a Likewise backup"),
    ],
)
def test_what_is_not_as_it_was_written_is_refused(
    whole: Path, tmp_path: Path, change: Callable[[Members], None], message: str
) -> None:
    file = rewritten(whole, tmp_path / "other.zip", change)
    with pytest.raises(BadBackup, match=message):
        check_backup(file)


def test_a_truncated_file_is_refused_and_nothing_made(whole: Path, tmp_path: Path) -> None:
    file = tmp_path / "half.zip"
    file.write_bytes(whole.read_bytes()[:-200])
    refuses(file, tmp_path, "damaged, incomplete or not a Likewise backup")


def test_a_file_with_a_turned_bit_is_refused_and_nothing_made(whole: Path, tmp_path: Path) -> None:
    data = bytearray(whole.read_bytes())
    data[len(data) // 2] ^= 1
    file = tmp_path / "turned.zip"
    file.write_bytes(data)
    refuses(file, tmp_path, "damaged")


def test_a_backup_of_a_newer_likewise_is_refused_and_nothing_made(
    whole: Path, tmp_path: Path
) -> None:
    file = rewritten(whole, tmp_path / "newer.zip", changed(revision="9999"))
    refuses(file, tmp_path, "Update Likewise to the version that made the backup")


def refuses(file: Path, tmp_path: Path, message: str) -> None:
    target = tmp_path / "new" / "data"
    refused = command(tmp_path, "restore", str(file), "--into", str(target))
    assert refused.returncode == 1
    assert message in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not target.parent.exists()


def without_its_end(members: Members) -> None:
    """As it would be written, had pg_dump lost the end."""
    members[DATABASE] = members[DATABASE][:-500]
    with_sums(members)


def test_a_restore_that_fails_on_the_way_leaves_nothing(whole: Path) -> None:
    with a_data_folder() as data:
        file = rewritten(whole, data.parent / "other.zip", without_its_end)
        refused = command(data.parent, "restore", str(file), "--into", str(data))
        assert refused.returncode == 1
        assert "pg_restore failed" in refused.stderr
        assert not data.exists()


def test_a_folder_that_holds_something_is_left_as_it_is(whole: Path, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    refused = command(tmp_path, "restore", str(whole))
    assert refused.returncode == 1
    assert f"{tmp_path} is not empty: note.txt" in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]


def test_another_key_in_the_environment_is_refused(whole: Path, tmp_path: Path) -> None:
    target = tmp_path / "data"
    key = {"LIKEWISE_SECRET_KEY": "another"}
    refused = command(tmp_path, "restore", str(whole), "--into", str(target), **key)
    assert refused.returncode == 1
    assert "differs from the backup's key" in refused.stderr
    assert not target.exists()


def test_into_services_of_one_s_own_once(servers: Servers, whole: Path, tmp_path: Path) -> None:
    url = servers.new_database("template1")
    values = {**settings_over(servers, url, tmp_path), "STORAGE_URL": (tmp_path / "own").as_uri()}
    bad = rewritten(whole, tmp_path / "other.zip", without_its_end)
    failed = command(tmp_path, "restore", str(bad), "--into", values["LIKEWISE_DATA"], **values)
    assert "pg_restore failed" in failed.stderr
    arguments = ("restore", str(whole), "--into", values["LIKEWISE_DATA"])
    restored = command(tmp_path, *arguments, **values)
    assert restored.returncode == 0, restored.stderr
    # Both are in the environment.
    assert list(Path(values["LIKEWISE_DATA"]).iterdir()) == []
    stored = {name for name in members_of(whole) if name.startswith("storage/")}
    with used_here(values):
        assert {f"storage/{key}" for key in all_keys()} == stored
        with transaction() as session:
            assert session.scalar(select(func.count()).select_from(Image)) == 3
            # Dumps hold no rights, and so neither those of requesters.
            assert row_security_problems(session, metadata) == []
    for name, other in (("STORAGE_URL", "empty"), ("DATABASE_URL", "")):
        again = dict(values)
        if other:
            again[name] = (tmp_path / other).as_uri()
        refused = command(tmp_path, *arguments, **again)
        assert refused.returncode == 1
        assert "is not empty. Choose an empty one." in refused.stderr
    servers.drop_database(url)


def test_an_older_database_is_migrated(servers: Servers, tmp_path: Path) -> None:
    url, file = servers.new_database(), tmp_path / "old.zip"
    with used_here(settings_over(servers, url, tmp_path)):
        alembic(url, "downgrade", "0010")
        assert write_backup(file).revision == "0010"
    servers.drop_database(url)
    target = servers.new_database("template1")
    values = {"DATABASE_URL": target, "REDIS_URL": servers.valkey.url}
    restored = command(tmp_path / "data", "restore", str(file), **values)
    assert restored.returncode == 0, restored.stderr
    assert query(target, "SELECT version_num FROM alembic_version") == [(newest_revision(),)]
    assert (
        tmp_path / "data" / "secret_key"
    ).read_text() == "test-secret-of-many-letters-0123456789"
    servers.drop_database(target)


def test_a_database_that_cannot_be_reached_is_an_error_in_a_line(
    whole: Path, tmp_path: Path
) -> None:
    values = {"DATABASE_URL": "postgresql+psycopg://likewise@127.0.0.1:1/likewise"}
    refused = command(tmp_path / "data", "restore", str(whole), **values)
    assert refused.returncode == 1
    assert "Nothing was restored: " in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (tmp_path / "data").exists()


def test_up_refuses_a_folder_that_a_restore_has_not_finished(tmp_path: Path) -> None:
    (tmp_path / "restoring").touch()
    refused = command(tmp_path, "up", "--no-demo")
    assert refused.returncode == 1
    assert "was interrupted" in refused.stderr


def test_a_backup_that_cannot_be_made_leaves_no_file(servers: Servers, tmp_path: Path) -> None:
    url = servers.new_database("template1")
    values = settings_over(servers, url, tmp_path)
    target = tmp_path / "backups" / "one.zip"
    for message, files in (
        ("Create it first", None),
        ("The database reported", []),
        ("already", ["one.zip"]),
    ):
        if files is not None:
            target.parent.mkdir(exist_ok=True)
        if files:
            target.write_text("mine")
        failed = command(tmp_path, "backup", str(target), **values)
        assert failed.returncode == 1
        assert message in failed.stderr, failed.stderr
        assert "Traceback" not in failed.stderr
        if files is not None:
            assert [path.name for path in target.parent.iterdir()] == files
    servers.drop_database(url)


def test_nothing_is_removed_from_storage_meanwhile(environment: dict[str, str]) -> None:
    put_object("old/object", b"old")
    with transaction() as session:
        discard_below(session, "old")
    with all_objects_kept(), transaction() as session:
        assert remove_discarded(session) == 0
    assert list(all_keys()) == ["old/object"]
    # PostgreSQL ends a session, and its locks, a moment after the connection is closed.
    wait_until("the object to be removed", lambda: removed_now() == 1, seconds=10)
    assert list(all_keys()) == []


def removed_now() -> int:
    with transaction() as session:
        return remove_discarded(session)
