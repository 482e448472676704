"""Forgetting who people were: nothing of them is left, and everything that was learned is."""

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, text
from typer.testing import CliRunner

from app.accounts.models import Account, AuditEvent
from app.annotation.models import AnnotatorIdentity, Assignment
from app.campaigns.models import Campaign
from app.core.database import Base, locked, transaction
from app.core.logs import TALKATIVE, RedactingFilter
from app.core.settings import get_settings
from app.recruitment import ledger
from app.recruitment.ledger import NewPayment
from app.recruitment.models import Invitation, Recruitment, Submission
from app.recruitment.people import forget_old
from emulators.mturk.server import Emulator, running
from likewise.cli import cli
from testbed.builders import a_campaign, an_account, sign_in
from testbed.recruits import Recruit, look, opened, recruit
from tests.app.test_crowdster_strategy import run_job
from tests.conftest import forget_settings

PAGES = ("/models", "/annotators", "/payments", "/submissions")
EXPORTS = ("answers.csv", "embedding.csv", "payments.csv")


@pytest.fixture
def turk(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulator]:
    with running() as emulator:
        monkeypatch.setenv("LIKEWISE_MTURK_ENDPOINT", emulator.endpoint_url)
        monkeypatch.setenv("LIKEWISE_MTURK_WORKER_SITE", emulator.endpoint_url)
        forget_settings()
        yield emulator


@pytest.fixture
def owner(turk: Emulator) -> Account:
    return an_account()


@pytest.fixture
def campaign(owner: Account) -> Campaign:
    return a_campaign(owner, budget=4, rounds=1, grids_per_assignment=2, reward_cents=100)


@pytest.fixture
def people(client: TestClient, turk: Emulator, owner: Account, campaign: Campaign) -> list[Recruit]:
    """Two who have done all there is to do, and handed it in."""
    opened(owner, campaign, places=2, spend_limit_cents=1_000)
    two = [recruit(client, turk) for _ in range(2)]
    for person in two:
        assert person.enter().status_code == 201
        person.answer(2)
        person.announce_and_submit()
    run_job()
    sign_in(client, owner)
    return two


def forget() -> int:
    with transaction() as session:
        return forget_old(session)


def settle() -> None:
    for _ in range(3):
        look()


def rows_with(worker_id: str) -> list[str]:
    """Tables in which the id stands anywhere."""
    with transaction() as session:
        return [
            table
            for table in Base.metadata.tables
            if session.scalar(
                text(f'SELECT count(*) FROM "{table}" t WHERE t::text LIKE :id'),  # noqa: S608
                {"id": f"%{worker_id}%"},
            )
        ]


def files_with(worker_id: str) -> list[Path]:
    return [
        file
        for file in get_settings().data.rglob("*")
        if file.is_file()
        and "postgres" not in file.parts
        and worker_id.encode() in file.read_bytes()
    ]


def check_that_files_are_read(worker_id: str) -> None:
    """An id in a file of the storage would be found."""
    file = get_settings().data / "objects" / "control"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"seen: {worker_id}")
    assert files_with(worker_id) == [file]
    file.unlink()


def results(client: TestClient, campaign: Campaign) -> dict[str, bytes]:
    base = f"/api/v1/campaigns/{campaign.id}"
    replies = {name: client.get(f"{base}/export/{name}") for name in EXPORTS}
    replies |= {
        path: client.get(f"{base}{path}")
        for path in ("/models", "/annotators", "/payments", "/submissions")
    }
    assert all(reply.status_code == 200 for reply in replies.values()), replies
    return {name: reply.content for name, reply in replies.items()}


@pytest.fixture
def log(client: TestClient) -> Iterator[Path]:
    """What this process would write to its log, of everything."""
    file = get_settings().data / "of-this-test.log"
    file.parent.mkdir(parents=True, exist_ok=True)
    handler, root = logging.FileHandler(file), logging.getLogger()
    handler.addFilter(RedactingFilter())
    # As `begin_log` has them.
    levels = {root.name: logging.INFO, **dict.fromkeys(TALKATIVE, logging.WARNING)}
    before = {name: logging.getLogger(name).level for name in levels}
    root.addHandler(handler)
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
    yield file
    root.removeHandler(handler)
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)
    handler.close()


def test_who_is_forgotten_is_in_no_table_file_or_export_and_nothing_else_changes(
    log: Path, client: TestClient, campaign: Campaign, people: list[Recruit]
) -> None:
    settle()
    ids = [person.held.worker_id for person in people]
    check_that_files_are_read(ids[0])
    assert log.stat().st_size > 0
    assert all(rows_with(worker_id) == ["annotator_identity"] for worker_id in ids)
    before = results(client, campaign)
    base = f"/api/v1/campaigns/{campaign.id}/people"
    known = client.get(base).json()
    assert (known["people"], known["unsettled"]) == (2, 0)
    until = datetime.fromisoformat(known["until"])
    assert timedelta(days=179) < until - datetime.now(UTC) <= timedelta(days=180)
    assert client.post(f"{base}/forget", json={}).json() == {"forgotten": 2, "kept": 0}
    assert [(rows_with(worker_id), files_with(worker_id)) for worker_id in ids] == [([], [])] * 2
    assert results(client, campaign) == before
    assert not any(
        worker_id.encode() in content for worker_id in ids for content in before.values()
    )
    assert client.get(base).json() == {"people": 0, "unsettled": 0, "until": None}
    # Who comes again is known as one who has taken part, without the id.
    assert client.post(f"{base}/forget", json={}).json() == {"forgotten": 0, "kept": 0}
    with transaction() as session:
        query = select(AuditEvent.details).where(AuditEvent.action == "campaign.people_forgotten")
        assert session.scalars(query).all() == [{"people": 2, "kept": 0}]


def test_nobody_is_forgotten_while_money_or_work_is_open(
    client: TestClient, campaign: Campaign, people: list[Recruit]
) -> None:
    base = f"/api/v1/campaigns/{campaign.id}/people"
    first, other = (person.held.worker_id for person in people)
    assert client.get(base).json()["unsettled"] == 2
    assert client.post(f"{base}/forget", json={}).json() == {"forgotten": 0, "kept": 2}
    refused = client.post(f"{base}/forget", json={"platform_id": first})
    assert refused.status_code == 409
    assert "not settled" in refused.json()["detail"]
    assert rows_with(first) == ["annotator_identity"]
    settle()
    with transaction() as session:
        mturk = select(Recruitment.id).where(Recruitment.channel == "mturk")
        recruitment = locked(session, Recruitment, session.scalars(mturk).one())
        row = session.scalars(select(Submission).order_by(Submission.id)).all()[0]
        assignment = session.get_one(Assignment, row.assignment_id)
        owed = NewPayment("bonus", "thanks", 5, "For your care.")
        ledger.owe(session, recruitment, owed, assignment=assignment, submission=row)
        waiting = session.get_one(AnnotatorIdentity, assignment.annotator_id).external_id
    assert waiting in (first, other)
    assert client.post(f"{base}/forget", json={}).json() == {"forgotten": 1, "kept": 1}
    assert rows_with(waiting or "") == ["annotator_identity"]
    unknown = client.post(f"{base}/forget", json={"platform_id": "A0NOBODY"})
    assert unknown.status_code == 404


def test_one_person_is_forgotten_by_the_command_in_all_campaigns(
    client: TestClient, campaign: Campaign, people: list[Recruit]
) -> None:
    first, other = (person.held.worker_id for person in people)
    early = CliRunner().invoke(cli, ["forget", first])
    assert early.exit_code == 1
    assert "not forgotten yet" in early.output
    settle()
    done = CliRunner().invoke(cli, ["forget"], input=f"{first}\n")
    assert done.exit_code == 0, done.output
    assert f"{campaign.name}, annotator 0: forgotten" in done.output
    assert rows_with(first) == []
    assert rows_with(other) == ["annotator_identity"]
    again = CliRunner().invoke(cli, ["forget", first])
    assert (again.exit_code, again.output) == (1, "No campaign has a person with that id.\n")


@pytest.mark.parametrize(
    ("days", "ago", "is_forgotten"), [(30, 31, True), (30, 29, False), (0, 9_999, False)]
)
def test_after_its_time_it_happens_by_itself(
    campaign: Campaign, people: list[Recruit], monkeypatch: pytest.MonkeyPatch, days: int, ago: int,
    is_forgotten: bool,
) -> None:  # fmt: skip
    settle()
    monkeypatch.setenv("LIKEWISE_RETENTION_DAYS", str(days))
    forget_settings()
    with transaction() as session:
        stored = session.get_one(Campaign, campaign.id)
        assert stored.state == "finished"
        stored.finished_at = datetime.now(UTC) - timedelta(days=ago)
    assert forget() == (2 if is_forgotten else 0)
    assert (rows_with(people[0].held.worker_id) == []) == is_forgotten
    assert forget() == 0


def test_names_on_a_list_are_forgotten_too(client: TestClient) -> None:
    owner = an_account()
    campaign = a_campaign(owner, budget=2, rounds=1, grids_per_assignment=2)
    sign_in(client, owner)
    base = f"/api/v1/campaigns/{campaign.id}"
    reply = client.post(f"{base}/links", json={"name": "Panel", "access": "listed"})
    assert reply.status_code == 201, reply.text
    link = reply.json()
    people = {"people": "person\ngrace@people.example\nHopper\n"}
    assert client.post(f"{base}/links/{link['id']}/invitations", json=people).is_success
    assert rows_with("grace@people.example") == ["invitation"]
    assert client.post(f"{base}/actions/finish").is_success
    forget_settings()
    with transaction() as session:
        session.get_one(Campaign, campaign.id).finished_at = datetime(2020, 1, 1, tzinfo=UTC)
    forget()
    assert rows_with("grace@people.example") == []
    with transaction() as session:
        assert session.scalars(select(Invitation.label)).all() == ["", ""]
