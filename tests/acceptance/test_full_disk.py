"""A disk without room: of images, of temporary files, of the database. People are told, nothing is
half done, and all goes on without a restart once there is room."""

import os
import random
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psycopg
import pytest
from sqlalchemy import func, select

from app.annotation.models import Answer
from app.campaigns.models import Campaign
from app.collections.models import Collection, Image
from app.core.database import transaction
from app.core.spool import LEAST_ROOM
from app.core.storage import all_keys, get_object
from app.results.learn import run_learning_job
from likewise.embedded import ServerDidNotStart
from testbed.builders import a_campaign, a_collection, a_png, an_account, an_api_token
from testbed.invariants import broken_invariants
from testbed.servers import Servers, running_servers
from testbed.system import System, running_system, wait_until
from tests.acceptance.test_outages import a_claimed_job, check_jobs_done_once
from tests.conftest import settings_over, used_here
from tests.support.full import SmallDisk, small_disk
from tests.support.people import Person, a_person

# Larger than what is kept in memory of an upload.
LARGE = (800, 800)
MB = 2**20


@dataclass
class Requester:
    """Somebody with a campaign over a collection, by the API."""

    http: httpx.Client
    collection: Collection
    campaign: Campaign

    def upload(self, seed: int, size: tuple[int, int] = (300, 300)) -> httpx.Response:
        """Two images that nobody has sent before."""
        files = [("files", (f"{k}.png", a_png(k, size))) for k in (2 * seed, 2 * seed + 1)]
        return self.http.post(f"/api/v1/collections/{self.collection.id}/files", files=files)

    def export(self) -> httpx.Response:
        return self.http.get(f"/api/v1/campaigns/{self.campaign.id}/export/archive.zip")


@contextmanager
def a_requester(system: System) -> Iterator[Requester]:
    owner = an_account()
    collection = a_collection(owner)
    headers = {"Authorization": f"Bearer {an_api_token(owner)}"}
    with httpx.Client(base_url=system.base_url, timeout=60, headers=headers) as http:
        yield Requester(http, collection, a_campaign(owner, collection, budget=500))


def check_refused(reply: httpx.Response) -> None:
    """A sentence about the server, which has a disk to make room on, and when to ask again."""
    assert reply.status_code in (503, 507), reply.text
    assert reply.json()["code"] == "no_room", reply.text
    assert "Ask the administrator to free some space" in reply.json()["detail"]
    assert int(reply.headers["retry-after"]) > 0


def check_pictures(collection: Collection) -> int:
    """Every row has its whole image, and rows are as many as the collection says; their number."""
    with transaction() as session:
        hashes = set(session.scalars(select(Image.sha256)).all())
        n_images = session.get_one(Collection, collection.id).n_images
    images = [key for key in all_keys() if key.startswith("images/")]
    for key in images:
        assert get_object(key)[:4] == b"RIFF", f"{key} is no whole image"
    for sha256 in hashes:
        assert any(sha256 in key for key in images)
    assert n_images == len(hashes)
    return n_images


# --- Images and temporary files -----------------------------------------------------------------


@dataclass
class Disks:
    """Those of a web server's images and temporary files."""

    images: SmallDisk
    temporary: SmallDisk


@pytest.fixture
def disks_of_web(
    environment: dict[str, str], tmp_path: Path
) -> Iterator[tuple[System, Requester, Disks]]:
    room = f"{(LEAST_ROOM + 8 * MB) // MB}m"
    with (
        small_disk(tmp_path / "data" / "storage", "32m") as images,
        small_disk(tmp_path / "temporary", room) as temporary,
        running_system(environment, tmp_path, "web", TMPDIR=str(temporary.folder)) as system,
        used_here(system.environment),
        a_requester(system) as requester,
    ):
        # From now on the server knows where its temporary files lie.
        assert requester.upload(1000, LARGE).status_code == 200
        assert requester.export().status_code == 200
        yield system, requester, Disks(images, temporary)


def test_a_full_disk_is_told_to_requesters_stops_no_annotator_and_leaves_nothing_half_done(
    disks_of_web: tuple[System, Requester, Disks],
) -> None:
    system, requester, disks = disks_of_web
    person = a_person(requester.http, requester.campaign, "answering-meanwhile")
    before = check_pictures(requester.collection)
    disks.images.fill()
    check_refused(requester.upload(2000))
    assert (
        httpx.get(f"{system.base_url}/readyz", timeout=60).json()["checks"]["storage"]
        == "its disk is full"
    )
    check_annotator_goes_on(person)
    assert check_pictures(requester.collection) == before
    disks.images.make_room()
    assert requester.upload(2000).json()["n_images"] == before + 2
    disks.temporary.fill()
    check_refused(requester.upload(3000, LARGE))
    check_refused(requester.export())
    check_annotator_goes_on(person)
    assert check_pictures(requester.collection) == before + 2
    disks.temporary.make_room()
    assert requester.upload(3000, LARGE).json()["n_images"] == before + 4
    assert requester.export().status_code == 200
    assert check_pictures(requester.collection) == before + 4


def check_annotator_goes_on(person: Person) -> None:
    lease = person.lease()
    picture = person.http.get(lease["images"][0]["url"])
    assert picture.status_code == 200
    assert person.submit(lease).status_code == 200


# --- Models -------------------------------------------------------------------------------------


def test_a_training_waits_for_room_and_is_done_once(
    environment: dict[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with small_disk(tmp_path / "data" / "storage", "32m") as disk:
        job = a_claimed_job()
        disk.fill()
        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(run_learning_job, job.campaign_id, job.id, job.epoch)
            wait_until("it to wait", lambda: "storing is waiting for free" in caplog.text)
            disk.make_room()
            done.result()
        check_jobs_done_once()


# --- The database -------------------------------------------------------------------------------


@pytest.fixture
def on_one_disk() -> Iterator[tuple[Servers, SmallDisk]]:
    """A PostgreSQL and a Valkey whose data lie on one small disk."""
    with tempfile.TemporaryDirectory(prefix="likewise-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        with (
            small_disk(Path(folder) / "disk", "260m") as disk,
            running_servers(disk.folder) as servers,
        ):
            yield servers, disk


def test_a_full_disk_of_the_database_loses_no_answer_and_work_goes_on_when_there_is_room(
    on_one_disk: tuple[Servers, SmallDisk], tmp_path: Path
) -> None:
    servers, disk = on_one_disk
    values = settings_over(servers, servers.new_database(), tmp_path)
    with (
        running_system(values, tmp_path, "web") as system,
        used_here(system.environment),
        a_requester(system) as requester,
    ):
        person = a_person(requester.http, requester.campaign, "answering-meanwhile")
        assert person.submit(person.lease()).status_code == 200
        disk.fill()
        stored, lease, refused = answer_until_refused(person)
        check_refused(refused)
        stop_for_want_of_room(servers)
        reply = person.submit(lease, trace=a_trace())
        assert (reply.status_code, reply.json()["code"]) == (503, "database_unavailable")
        wait_until("it to be refused a start", lambda: cannot_start(servers))
        disk.make_room()
        assert servers.postgres.ensure_running()
        wait_until("service", lambda: person.submit(lease).status_code == 200)
        assert person.submit(person.lease()).status_code == 200
        with transaction() as session:
            kept = session.scalar(select(func.count()).where(Answer.submitted_at.is_not(None)))
        assert kept == 1 + stored + 2
        assert broken_invariants() == {}


def a_trace() -> list[list[object]]:
    """What takes room however it is packed."""
    rng = random.Random(os.urandom(8))
    return [[k, "put", [rng.randrange(10**6)], rng.randrange(10**6)] for k in range(2000)]


def answer_until_refused(person: Person) -> tuple[int, dict[str, object], httpx.Response]:
    """How many were stored, and the one that was not."""
    for stored in range(200):
        lease = person.lease()
        reply = person.submit(lease, trace=a_trace())
        if reply.status_code != 200:
            return stored, lease, reply
    raise AssertionError("the disk is not full")


def stop_for_want_of_room(servers: Servers) -> None:
    """PostgreSQL ends itself when there is no room for what it is to write down first."""
    with psycopg.connect(servers.postgres.uri, autocommit=True) as connection:
        with pytest.raises(psycopg.OperationalError):
            fill_the_log(connection)
        # What it had open has ended without a word.
        connection.close()


def cannot_start(servers: Servers) -> bool:
    """Once it has ended for good, which it does after it has tried to recover."""
    try:
        servers.postgres.ensure_running()
    except ServerDidNotStart as error:
        assert "No space left" in str(error)  # noqa: PT017  # the message is what is tested
        return True
    return False


def fill_the_log(connection: psycopg.Connection) -> None:
    for _ in range(100):
        connection.execute("SELECT pg_logical_emit_message(true, 'x', repeat('y', 8000))")
        connection.execute("SELECT pg_switch_wal()")
