"""The web server dies at every moment of a submission; the page sends it again (test 3 of
docs/acceptance.md). One answer is kept, and learning is asked for once."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select, update

from app.annotation.models import Answer
from app.campaigns.models import Campaign, Grid, Round
from app.core.database import transaction
from app.core.outbox import OutboxMessage
from app.jobs.models import Job
from likewise.embedded import free_port
from testbed.builders import a_campaign, reloaded
from testbed.servers import ROOT
from testbed.system import wait_until
from tests.support.acceptance_results import keep
from tests.support.people import Person, a_person
from tests.support.scale import FULL

TRIALS = 100 if FULL else 0
NEVER = 0
FIRST, LAST = "before everything", "after sending http.response.body"


@dataclass
class CrashingWeb:
    """A loaded process that forks a web server for each trial."""

    process: subprocess.Popen[str]
    log: Path
    port: int
    running: int = 0
    http: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=20)

    def start(self, fatal: int | str) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.log.write_text("")
        self.process.stdin.write(f"{fatal}\n")
        self.process.stdin.flush()
        self.running = int(self.process.stdout.readline())
        wait_until("the web server", self._answers)

    def _answers(self) -> bool:
        try:
            return self.http.get("/healthz").is_success
        except httpx.TransportError:
            return False

    def kill(self) -> None:
        os.kill(self.running, signal.SIGKILL)
        self.wait_for_death()

    def wait_for_death(self) -> None:
        # Its parent takes it off the list; then the port is free.
        wait_until("the web server to die", lambda: not Path(f"/proc/{self.running}").exists())

    def moments(self) -> list[str]:
        """Of the last submission."""
        lines = self.log.read_text().splitlines()
        begun = [number for number, moment in enumerate(lines) if moment == FIRST]
        return lines[begun[-1] :] if begun else []


@contextmanager
def crashing_web(folder: Path, *path: str) -> Iterator[CrashingWeb]:
    """path: the end of the path of requests that it dies in, if these are not submissions."""
    port, log = free_port(), folder / "moments"
    command = [sys.executable, "-m", "tests.support.crashing_web", str(port), str(log), *path]
    with (folder / "web.log").open("ab") as errors:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
            text=True, start_new_session=True,
        )  # fmt: skip
    try:
        yield CrashingWeb(process, log, port)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def web(environment: dict[str, str], tmp_path: Path) -> Iterator[CrashingWeb]:
    with crashing_web(tmp_path) as running:
        yield running


@dataclass
class Sent:
    """A submission, so that it can be sent again."""

    lease: dict[str, Any]
    groups: list[int]
    reply: httpx.Response | None
    where: str


@dataclass
class Trials:
    """One annotator's submissions, each cut short and then repeated."""

    web: CrashingWeb
    campaign: Campaign
    person: Person
    n_done: int = 0

    def submit(self) -> Sent:
        """No two answers are alike, so that one in another's place would show."""
        lease = self.person.lease()
        groups = [(self.n_done >> k) % 2 for k in range(len(lease["images"]))]
        try:
            reply = self.person.submit(lease, groups=groups)
        except httpx.TransportError:
            reply = None
        return Sent(lease, groups, reply, "")

    def cut_short(self, fatal: int, before: Sent) -> Sent:
        """What the page does after a server's end, and a submission that meets another's."""
        self.web.start(fatal)
        self.repeat(before)
        sent = self.submit()
        self.web.wait_for_death()
        sent.where = self.web.moments()[-1]
        return sent

    def repeat(self, sent: Sent) -> None:
        again = self.person.submit(sent.lease, groups=sent.groups)
        assert again.status_code == 200, (sent.where, again.text)
        assert again.json()["status"] == "stored", sent.where
        assert sent.reply is None or sent.reply.json() == again.json(), sent.where
        self.n_done += 1
        self.check(sent)

    def check(self, sent: Sent) -> None:
        with transaction() as session:
            answers = {
                str(answer.id): answer
                for answer in session.scalars(
                    select(Answer).where(Answer.submitted_at.is_not(None))
                )
            }
            answer = answers[sent.lease["id"]]
            grid = session.get_one(Grid, answer.grid_id)
            n_messages = session.scalar(select(func.count()).select_from(OutboxMessage))
            n_counted = session.scalars(select(Round.n_answers)).one()
            # Done, as far as the next answer is concerned: it asks for learning itself.
            session.execute(update(Job).values(state="done"))
        assert (answer.state, answer.groups) == ("submitted", sent.groups), sent.where
        assert grid.n_answers == 1, sent.where
        assert len(answers) == n_messages == self.n_done, sent.where
        assert n_counted == reloaded(self.campaign.id).n_answers == self.n_done, sent.where


def test_one_answer_and_one_message_wherever_the_server_dies(web: CrashingWeb) -> None:
    campaign = a_campaign(budget=TRIALS + 60, learn_every=1, grids_per_assignment=1_000)
    web.start(NEVER)
    person = a_person(web.http, campaign, "killed-while-submitting")
    trials = Trials(web, campaign, person)
    # The first of all changes more: the number of annotators.
    trials.repeat(trials.submit())
    sent = trials.submit()
    wait_until("the last moment", lambda: web.moments()[-1:] == [LAST])
    moments = web.moments()
    web.kill()
    check_moments(moments)
    # What only reads, changes nothing; `make acceptance` dies there, too.
    chosen = [
        k for k, moment in enumerate(moments, 1) if FULL or not moment.startswith("after SELECT")
    ]
    assert len(chosen) >= 10
    n_trials = max(len(chosen), TRIALS)
    died: set[str] = set()
    for number in range(n_trials):
        sent = trials.cut_short(chosen[number % len(chosen)], sent)
        died.add(sent.where)
    web.start(NEVER)
    trials.repeat(sent)
    assert {"before the commit", "after the commit"} <= died
    assert len(died) >= (10 if FULL else 5)
    figures = {"trials": n_trials, "moments": len(chosen), "places_of_death": len(died)}
    keep("killed_while_submitting", figures)


def check_moments(moments: list[str]) -> None:
    """They are where they should be."""
    message = next(k for k, moment in enumerate(moments) if "INSERT INTO outbox" in moment)
    before, after = moments.index("before the commit"), moments.index("after the commit")
    replied = moments.index("before sending http.response.body")
    assert message < before < after < replied < len(moments) - 1
