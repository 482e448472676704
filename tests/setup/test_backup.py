"""A running system is backed up, and goes on from the backup at another place."""

import re
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select

from app.accounts.models import Account
from app.annotation.models import Answer
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign
from app.core.database import locked, transaction
from app.core.row_security import row_security_problems
from app.jobs.models import Job
from app.jobs.service import active_job, claim_job, request_job
from app.recruitment.accounts import credentials_of
from app.recruitment.models import ChannelAccount
from app.results.models import Model
from app.tables import metadata
from likewise.backups.reading import opened
from likewise.simulation import SimulatedAnnotator
from testbed.builders import (
    a_campaign,
    a_collection,
    a_recruitment,
    an_account,
    an_api_token,
)
from testbed.system import System, wait_until
from tests.conftest import used_here
from tests.setup.test_up import a_data_folder, command, up_over
from tests.system.test_loop import a_crowd

BINS: dict[str, Any] = {"kind": "bins", "strategy": "crowdster", "grid_size": 6}
# A lost worker is noticed after seconds, not after a minute.
QUICK = {"LIKEWISE_JOB_LEASE_SECONDS": "4", "LIKEWISE_REDISPATCH_SECONDS": "3"}
# Three trainings, one after the other, by one worker that lets everybody go first.
PATIENCE = 300.0


@pytest.fixture
def quick_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in QUICK.items():
        monkeypatch.setenv(name, value)


def n_models(campaign: Campaign) -> int:
    query = select(func.count()).select_from(Model).where(Model.campaign_id == campaign.id)
    with transaction() as session:
        return session.scalar(query) or 0


def is_idle(campaign: Campaign) -> bool:
    with transaction() as session:
        return active_job(session, campaign.id) is None


def ask_for_a_job(campaign: Campaign, *, claimed: bool) -> None:
    """Queued, or taken by a worker that is not there any more by the time it is looked for."""
    with transaction() as session:
        locked(session, Campaign, campaign.id)
        job = request_job(session, campaign.id, watermark=0)
    if claimed:
        with transaction() as session:
            assert claim_job(session, job.id, "somebody") is not None


def job_states(campaign: Campaign) -> list[str]:
    with transaction() as session:
        return list(session.scalars(select(Job.state).where(Job.campaign_id == campaign.id)))


def is_done(campaign: Campaign) -> bool:
    return job_states(campaign) == ["done"]


def annotator(base_url: str, campaign: Campaign, key: str) -> SimulatedAnnotator:
    link = annotator_link(campaign, "").removeprefix("/a/")
    return SimulatedAnnotator(httpx.Client(base_url=base_url, timeout=60), link, key, [])


def results(base_url: str, campaign: Campaign, token: str) -> dict[str, bytes]:
    """What the page of results is made of, as the server sends it."""
    pages = ["progress", "models", "models/1/map", "insight", "models/1/neighbours?image=3"]
    headers = {"Authorization": f"Bearer {token}"}
    contents = {}
    with httpx.Client(base_url=base_url, headers=headers, timeout=60) as http:
        for page in pages:
            reply = http.get(f"/api/v1/campaigns/{campaign.id}/{page}")
            assert reply.is_success or page == "insight", reply.text
            # When it will end is reckoned from the hour that is just over.
            contents[page] = re.sub(rb'"ends_at":[^,]*,', b"", reply.content)
    return contents


def begun_campaign(system: System, owner: Account) -> Campaign:
    """In the middle: some answers, a model, nothing to learn at the moment."""
    collection = a_collection(owner)
    campaign = a_campaign(owner, collection, budget=60, rounds=2, learn_every=3, **BINS)
    run = a_crowd(system, campaign, annotators=3, by="features")
    run.limit = 6
    run.play()
    wait_until("a model", lambda: n_models(campaign) and is_idle(campaign))
    return campaign


@contextmanager
def answers_all_the_time(system: System, campaign: Campaign) -> Iterator[None]:
    run = a_crowd(system, campaign, annotators=2, by="features")
    run.pace = 0.05
    playing = threading.Thread(target=run.play)
    playing.start()
    wait_until("some answers", lambda: len(run.log) > 3)
    yield
    run.limit = 0
    playing.join()


def running_environment(data: Path) -> dict[str, str]:
    lines = (data / "runtime.env").read_text().splitlines()
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


def stored_answers() -> int:
    with transaction() as session:
        return session.scalar(select(func.count()).select_from(Answer)) or 0


def image_addresses(pages: dict[str, bytes]) -> list[str]:
    return [
        address
        for address in pages["models/1/map"].decode().split('"')
        if address.startswith("/media/")
    ]


def test_a_system_goes_on_from_a_backup_made_while_it_ran(
    quick_leases: None, own_system: System, tmp_path: Path
) -> None:
    owner = an_account()
    token = an_api_token(owner)
    campaign = begun_campaign(own_system, owner)
    busy, queued, running = (a_campaign(owner, budget=300, **BINS) for _ in range(3))
    a_recruitment(owner, queued)
    known = annotator(own_system.base_url, campaign, "annotator-000001")
    held = known.next_lease(lambda: False)
    assert held is not None
    for pending in (queued, running):
        answer_once(own_system.base_url, pending)
    own_system.kill("worker")
    ask_for_a_job(queued, claimed=False)
    ask_for_a_job(running, claimed=True)

    file = tmp_path / "backup.zip"
    with answers_all_the_time(own_system, busy):
        before = results(own_system.base_url, campaign, token)
        completed = command(tmp_path, "backup", str(file), **own_system.environment)
    assert completed.returncode == 0, completed.stderr
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with opened(file) as backup:
        manifest = backup.manifest
    assert manifest.rows["campaign"] == 4
    image = image_addresses(before)[0]
    picture = httpx.get(own_system.base_url + image, timeout=60).content
    own_system.stop()

    with a_data_folder() as data:
        restored = command(tmp_path, "restore", str(file), "--into", str(data))
        assert restored.returncode == 0, restored.stderr
        assert "bonuses" in restored.stdout
        again = command(tmp_path, "restore", str(file), "--into", str(data))
        assert again.returncode == 1
        assert f"{data} is not empty" in again.stderr
        with up_over(data, **QUICK) as up, used_here(running_environment(data)):
            assert results(up.url, campaign, token) == before
            assert httpx.get(up.url + image, timeout=60).content == picture
            # As of one moment, though answers came all the time.
            assert stored_answers() == manifest.rows["answer"]
            with transaction() as session:
                assert row_security_problems(session, metadata) == []
                account = session.scalars(select(ChannelAccount)).one()
                assert (credentials_of(account).secret or {})["access_key_id"] == "emulator"

            go_on(up.url, known, held, campaign)
            for pending in (queued, running):
                wait_until("the job to be done", partial(is_done, pending), PATIENCE)


def answer_once(base_url: str, campaign: Campaign) -> None:
    somebody = annotator(base_url, campaign, "annotator-000009")
    lease = somebody.next_lease(lambda: False)
    assert lease is not None
    answer(somebody, lease)


def answer(who: SimulatedAnnotator, lease: dict[str, Any]) -> None:
    images = [shown["image"] for shown in lease["images"]]
    groups = [index % 2 for index in range(len(images))]
    assert who.submit(lease, images, groups, ["a", "b"]) == "stored"


def go_on(url: str, known: SimulatedAnnotator, held: dict[str, Any], campaign: Campaign) -> None:
    """Session and lease from before the backup are good, the link is, and answers are learned."""
    models = n_models(campaign)
    known.http = httpx.Client(base_url=url, timeout=60)
    answer(known, held)
    for number in range(3):
        somebody = annotator(url, campaign, f"annotator-00002{number}")
        lease = somebody.next_lease(lambda: False)
        assert lease is not None
        answer(somebody, lease)
    wait_until("a further model", lambda: n_models(campaign) > models, PATIENCE)
