"""A left-out spammer's 60 answers are asked again, no more, no less, although the campaign had just
finished, and through kills of every process (docs/acceptance.md)."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from app.accounts.models import Account
from app.annotation.models import Annotator, Answer
from app.campaigns.models import Campaign, Grid
from app.campaigns.sharing import share_campaign
from app.core.database import transaction
from app.results.models import Model
from testbed.builders import a_campaign, a_collection, an_account, an_api_token, reloaded
from testbed.invariants import broken_invariants, nothing_is_running
from testbed.system import System, wait_until
from tests.acceptance.test_killed_while_submitting import CrashingWeb, crashing_web
from tests.app.test_rounds import learned
from tests.support.acceptance_results import keep
from tests.support.people import Person, a_person, at_once

SPAM, HONEST, PEOPLE = 60, 60, 4
ACTION = "/actions/leave_out"
# Before, between and after the writes of the decision.
MOMENTS = ("after UPDATE answer", "after UPDATE grid", "after INSERT INTO audit_event",
           "before the commit", "after the commit")  # fmt: skip


@pytest.fixture
def quick_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lost workers, messages and annotators are noticed after seconds."""
    monkeypatch.setenv("LIKEWISE_JOB_LEASE_SECONDS", "4")
    monkeypatch.setenv("LIKEWISE_REDISPATCH_SECONDS", "3")
    monkeypatch.setenv("LIKEWISE_LEASE_SECONDS", "5")


@pytest.fixture
def crashing(own_system: System, tmp_path: Path) -> Iterator[CrashingWeb]:
    with crashing_web(tmp_path, ACTION) as web:
        yield web


@dataclass
class Persistent:
    """Somebody who repeats each request until a server answers it, as the page does."""

    person: Person
    n_stored: int = 0
    # Answers after the end of their lease, when somebody else had filled the place.
    n_late: int = 0

    def work(self) -> None:
        while True:
            handout = self._until_answered(self.person.claim)
            if handout["status"] == "leased":
                lease = handout["lease"]
                reply = self._until_answered(partial(self._submit, lease))
                self.n_stored += reply["status"] == "stored"
                self.n_late += reply["status"] == "surplus"
            elif handout["status"] in ("done", "stopped"):
                return
            else:
                time.sleep(0.2)

    def _submit(self, lease: dict[str, Any]) -> dict[str, Any]:
        stored: dict[str, Any] = self.person.submit(lease).raise_for_status().json()
        return stored

    def _until_answered(self, call: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        while True:
            with suppress(httpx.TransportError, httpx.HTTPStatusError):
                return call()
            time.sleep(0.1)


def lost(campaign: Campaign) -> int:
    with transaction() as session:
        query = select(Answer.id).where(
            Answer.campaign_id == campaign.id, Answer.reopened_at.is_not(None)
        )
        return len(session.scalars(query).all())


def leave_out(base_url: str, token: str, campaign: Campaign) -> int:
    """Leave the first annotator out; 0 if the server died."""
    address = f"{base_url}/api/v1/campaigns/{campaign.id}/annotators/0{ACTION}"
    headers = {"Authorization": f"Bearer {token}"}
    try:
        body = {"reason": "Random."}
        return httpx.post(address, json=body, headers=headers, timeout=20).status_code
    except httpx.TransportError:
        return 0


def finished_campaign(system: System, owner: Account) -> Campaign:
    """Half of its answers are the spammer's. It has ended with its last model, which is not learned
    here, to save the time."""
    system.kill("worker")
    campaign = a_campaign(
        owner, a_collection(owner), budget=SPAM + HONEST, grids_per_assignment=SPAM,
        strategy="crowdster", rounds=1,
    )  # fmt: skip
    with httpx.Client(base_url=system.base_url, timeout=60) as http:
        for key in ("the-spammer-0001", "the-honest-00001"):
            person = a_person(http, campaign, key)
            for _ in range(SPAM):
                assert person.submit(person.lease()).json()["status"] == "stored"
    learned(campaign, 1)
    system.start("worker")
    assert reloaded(campaign.id).state == "finished"
    return campaign


def test_exactly_the_spammers_answers_are_asked_again_through_kills(
    quick_leases: None, own_system: System, crashing: CrashingWeb
) -> None:
    owner, editor = an_account(), an_account("editor@example.org")
    campaign = finished_campaign(own_system, owner)
    with transaction() as session:
        share_campaign(session, owner, campaign, editor.email, "edit")
    tokens = [an_api_token(owner), an_api_token(editor)]
    died = leave_out_and_die(crashing, tokens[0], campaign)
    # Two requesters at the same moment change nothing any more.
    replies = at_once(2, lambda token: leave_out(own_system.base_url, token, campaign), tokens)
    assert replies == [204, 204]
    assert lost(campaign) == SPAM
    assert reloaded(campaign.id).state == "running"
    crowd = answer_through_kills(own_system, campaign)
    wait_until("the campaign to finish again", lambda: reloaded(campaign.id).state == "finished")
    wait_until("the last training to end", nothing_is_running)
    assert sum(one.n_stored for one in crowd) == SPAM
    check(campaign, n_late=sum(one.n_late for one in crowd))
    keep("asking_again", {"places_of_death": len(died), "asked_again": SPAM})


def leave_out_and_die(web: CrashingWeb, token: str, campaign: Campaign) -> list[str]:
    """Leave the spammer out again and again, while the server dies at one moment after another.
    Either nothing has happened, or everything."""
    died = []
    for moment in MOMENTS:
        # Requests also end transactions of their own before.
        web.start(f"{moment}|after UPDATE answer")
        reply = leave_out(f"http://127.0.0.1:{web.port}", token, campaign)
        assert reply == 0, (moment, web.moments())
        web.wait_for_death()
        died.append(web.moments()[-1])
        is_done = moment == "after the commit"
        assert lost(campaign) == (SPAM if is_done else 0), died
        assert reloaded(campaign.id).state == ("running" if is_done else "finished"), died
    assert all(where.startswith(moment) for where, moment in zip(died, MOMENTS, strict=True))
    return died


def answer_through_kills(system: System, campaign: Campaign) -> list[Persistent]:
    """Other people answer, while every process is killed and started again."""
    with httpx.Client(base_url=system.base_url, timeout=20) as http:
        keys = [f"somebody-else-{k:04d}" for k in range(PEOPLE)]
        crowd = [Persistent(a_person(http, campaign, key)) for key in keys]
        threads = [Thread(target=one.work) for one in crowd]
        for thread in threads:
            thread.start()
        for name, share in (("web", 15), ("worker", 30), ("dispatcher", 45)):
            wait_until("more answers", partial(has_refilled, campaign, share))
            system.kill(name)
            system.start(name)
        for thread in threads:
            # Three processes start again during that, on a machine that may be busy.
            thread.join(240)
            assert not thread.is_alive()
    return crowd


def has_refilled(campaign: Campaign, share: int) -> bool:
    return SPAM - reloaded(campaign.id).n_reopened >= share


def check(campaign: Campaign, n_late: int) -> None:
    now = reloaded(campaign.id)
    assert (now.n_answers, now.n_surplus, now.n_reopened) == (SPAM + HONEST, SPAM + n_late, 0)
    with transaction() as session:
        spammer = session.scalars(
            select(Annotator).where(
                Annotator.campaign_id == campaign.id, Annotator.left_out_at.is_not(None)
            )
        ).one()
        query = select(Answer).where(Answer.campaign_id == campaign.id)
        answers = session.scalars(query).all()
        grids = set(session.scalars(select(Grid.id).where(Grid.campaign_id == campaign.id)))
        newest = session.scalars(
            select(Model).where(Model.campaign_id == campaign.id).order_by(Model.version.desc())
        ).first()
    opened = {each.id for each in answers if each.reopened_at}
    filling = [each for each in answers if each.replaces]
    assert {each.annotator_id for each in answers if each.id in opened} == {spammer.id}
    assert Counter(each.replaces for each in filling) == dict.fromkeys(opened, 1)
    assert len(opened) == SPAM
    assert spammer.id not in {each.annotator_id for each in filling}
    counted = Counter(each.grid_id for each in answers if each.state == "submitted")
    assert counted == dict.fromkeys(grids, 1)
    # The last model learned from everybody else.
    assert newest is not None
    assert newest.n_answers == SPAM + HONEST
    assert not broken_invariants()
