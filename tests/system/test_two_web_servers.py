"""Two web servers, two workers, a dispatcher, a pooler and S3 storage: one web server is killed
under load, and all that people do goes on on the other one."""

import json
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis import Redis
from sqlalchemy import func, select, text

from app.accounts.models import Account
from app.annotation.models import Answer
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.core.events import channel_of
from app.jobs.models import Job
from app.planning.crowd import CrowdTraits, make_crowd, read_images
from app.results.models import Model
from testbed.builders import a_campaign, a_collection, an_account, reloaded, sign_in
from testbed.invariants import broken_invariants, nothing_is_running
from testbed.object_store import running_object_store
from testbed.pooler import SESSIONS, Pooler, needs_pooler, running_pooler
from testbed.servers import Servers
from testbed.system import System, running_system, wait_until
from tests.conftest import settings_over, used_here
from tests.support.traffic import Traffic

pytestmark = needs_pooler
PROCESSES = ("web", "web-2", "worker", "worker-2", "dispatcher")
PEOPLE, BUDGET, PER_GRID = 24, 210, 3
# A third of the answers is in when one server dies.
KILLED_AT = 70
EACH_ONCE = """
    SELECT grid_id, annotator_id, count(*) FROM answer
    WHERE state IN ('submitted', 'surplus') GROUP BY 1, 2 HAVING count(*) > 1"""
# Of PostgreSQL, through the pooler and past it; of these, the dispatcher's.
SESSIONS_NOW = """
    SELECT count(*), count(*) FILTER (WHERE query LIKE 'LISTEN %') FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend'"""
NOT_FULL = "SELECT id, n_answers, wanted FROM grid WHERE role = 'ask' AND n_answers <> wanted"


@dataclass
class LivePage:
    """The events of a campaign as a page gets them from one server: (time, event, data)."""

    address: str
    cookies: httpx.Cookies
    events: list[tuple[float, str, dict[str, Any]]] = field(default_factory=list)
    # What ended it.
    end: str = ""

    def open(self) -> None:
        """Follow the events until the server ends them, in a thread of its own."""
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            with (
                httpx.Client(cookies=self.cookies, timeout=60) as http,
                http.stream("GET", self.address) as reply,
            ):
                assert reply.status_code == 200, reply.read()
                self._follow(reply)
        except httpx.TransportError as error:
            self.end = type(error).__name__

    def _follow(self, reply: httpx.Response) -> None:
        event = ""
        for line in reply.iter_lines():
            name, _, value = line.partition(": ")
            if name == "event":
                event = value
            elif name == "data":
                self.events.append((time.monotonic(), event, json.loads(value or "{}")))
            elif line == "data:":
                self.events.append((time.monotonic(), event, {}))

    def heard(self, event: str, since: float = 0.0) -> list[dict[str, Any]]:
        return [data for at, name, data in self.events if name == event and at >= since]


@pytest.fixture
def pooler(servers: Servers, tmp_path: Path) -> Iterator[tuple[Pooler, str]]:
    """With the address of a database without it."""
    url = servers.new_database()
    with running_pooler(url, tmp_path / "pooler") as running:
        yield running, url
    servers.drop_database(url)


@pytest.fixture
def many(servers: Servers, pooler: tuple[Pooler, str], tmp_path: Path) -> Iterator[System]:
    """All processes as on several machines: what they share is PostgreSQL, Valkey and S3."""
    through, direct = pooler
    with running_object_store(tmp_path / "s3") as store:
        values = {
            **settings_over(servers, direct, tmp_path),
            **through.settings_over(direct),
            **store.settings,
        }
        with (
            running_system(values, tmp_path, *PROCESSES) as system,
            used_here(system.environment),
        ):
            yield system


@dataclass
class Drafter:
    """Somebody who has begun a grid at the server that dies, and saved a draft there."""

    link: str
    http: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=60))
    who: dict[str, str] = field(default_factory=dict)
    groups: list[int] = field(default_factory=list)
    lease: dict[str, Any] = field(default_factory=dict)

    def begins(self, server: str) -> None:
        body = {"link": self.link, "annotator_key": "somebody-with-a-draft"}
        opened = self.http.post(f"{server}/api/v1/annotate/sessions", json=body).json()
        self.who = {"Authorization": f"Bearer {opened['token']}"}
        self.lease = self.claims(server)
        self.groups = [index % 3 for index in range(len(self.lease["images"]))]
        path = f"{server}/api/v1/annotate/leases/{self.lease['id']}/draft"
        draft = {"version": 1, "groups": self.groups, "descriptions": ["mine", "", ""]}
        saved = self.http.put(path, json=draft, headers=self.who)
        assert saved.status_code == 200, saved.text

    def claims(self, server: str) -> dict[str, Any]:
        handout = self.http.post(f"{server}/api/v1/annotate/leases", headers=self.who).json()
        assert handout["status"] == "leased", handout
        lease: dict[str, Any] = handout["lease"]
        return lease

    def sees(self, server: str) -> int:
        """How many pictures of the grid come."""
        path = f"{server}/api/v1/annotate/leases/{self.lease['id']}/images/small"
        return self.http.get(path, headers=self.who).content.count(b"WEBPVP8")

    def submits(self, server: str, key: str) -> httpx.Response:
        path = f"{server}/api/v1/annotate/leases/{self.lease['id']}/answer"
        images = [shown["image"] for shown in self.lease["images"]]
        body = {"images": images, "groups": self.groups, "descriptions": ["mine", "", ""]}
        headers = {**self.who, "Idempotency-Key": key}
        return self.http.post(path, json=body, headers=headers)


def a_crowded_campaign(system: System, owner: Account) -> tuple[Campaign, Traffic]:
    """People who are spread over both servers, and learning while they work."""
    campaign = a_campaign(
        owner,
        a_collection(owner, n=60),
        kind="bins",
        strategy="crowdster",
        budget=BUDGET,
        rounds=3,
        grid_size=8,
        answers_per_grid=PER_GRID,
        grids_per_assignment=5,
        learn_every=50,
    )
    with transaction() as session:
        table = read_images(session, campaign)
    return campaign, Traffic(
        system.base_url,
        annotator_link(campaign, "").removeprefix("/a/"),
        campaign.kind,
        campaign.max_groups,
        make_crowd(table, ["colour"], CrowdTraits(PEOPLE, 0.1)),
        think=0.5,
        arrival=2.0,
        servers=[system.url_of("web"), system.url_of("web-2")],
    )


def test_one_of_two_web_servers_is_killed_under_load(many: System) -> None:
    first, other = many.url_of("web"), many.url_of("web-2")
    owner = an_account()
    campaign, traffic = a_crowded_campaign(many, owner)
    requester = httpx.Client(base_url=first, timeout=60)
    sign_in(requester, owner)
    events = f"/api/v1/campaigns/{campaign.id}/events"
    dying = LivePage(first + events, requester.cookies)
    page = LivePage(other + events, requester.cookies)
    dying.open()
    page.open()
    wait_until("the first progress", lambda: page.heard("progress") and dying.heard("progress"), 30)
    # From then on, nothing is missed.
    wait_until("both servers to listen", lambda: n_listeners(many, campaign) == 2, 30)

    # What happens at one server is shown by the other.
    drafter = Drafter(traffic.link)
    drafter.begins(first)
    assert drafter.submits(first, str(uuid.uuid4())).json()["status"] == "stored"
    wait_until("news from the other server", lambda: page.heard("changed"), 30)
    wait_until("the answer", lambda: page.heard("progress")[-1]["answers"] == 1, 30)
    drafter.begins(first)

    with traffic.going():
        wait_until("work", lambda: len(traffic.log) >= KILLED_AT)
        many.kill("web")
        killed, before = time.monotonic(), len(traffic.log)
        # Who has got no answer before, gets it from the other.
        lease = drafter.claims(other)
        assert lease["id"] == drafter.lease["id"]
        assert lease["draft"]["groups"] == drafter.groups
        assert lease["draft"]["descriptions"][0] == "mine"
        assert drafter.sees(other) == len(lease["images"])
        key = str(uuid.uuid4())
        replies = [drafter.submits(other, key).json() for _ in range(2)]
        assert replies[0]["status"] == "stored"
        assert replies[1] == replies[0]
        # The requester's session is known there, and the page that was open here opens there.
        requester.base_url = other
        assert requester.get(f"/api/v1/campaigns/{campaign.id}").status_code == 200
        wait_until("the end of the page", lambda: dying.end, 30)
        again = LivePage(other + events, requester.cookies)
        again.open()
        wait_until("its progress", lambda: again.heard("progress"), 30)
        wait_until("all answers", lambda: reloaded(campaign.id).n_answers == BUDGET)
    wait_until("the end", lambda: reloaded(campaign.id).state == "finished")
    wait_until("quiet", nothing_is_running)

    assert len(traffic.log) > before
    failed = [call for call in traffic.recorder.calls if call.status in (0, *range(500, 600))]
    # Half the people were at the server that is gone.
    assert {call.status for call in failed} == {0}
    assert len(failed) >= PEOPLE // 2
    check_facts(campaign, traffic, drafter)
    assert len(page.heard("changed", since=killed)) > 0
    assert page.heard("progress")[-1]["answers"] == BUDGET
    assert again.heard("progress")[-1]["answers"] == BUDGET
    check_results(requester, campaign, many)


def n_listeners(system: System, campaign: Campaign) -> int:
    with Redis.from_url(system.valkey.url) as client:
        [(_, n)] = client.pubsub_numsub(channel_of(campaign.id))
    return int(n)


def check_facts(campaign: Campaign, traffic: Traffic, drafter: Drafter) -> None:
    """Every acknowledged answer is stored once, and no other; by SQL, all counts are right."""
    with transaction() as session:
        own = select(Answer.id).where(Answer.groups == drafter.groups)
        mine = session.scalars(own.where(Answer.descriptions[1] == "mine")).all()
        assert len(mine) == 2
        for query in (EACH_ONCE, NOT_FULL):
            assert session.execute(text(query)).all() == []
        n_sessions, n_listening = session.execute(text(SESSIONS_NOW)).one()
        stored = select(func.count()).where(Answer.state == "submitted")
        n_stored = session.scalar(stored)
        late = session.scalar(select(func.count()).where(Answer.state == "surplus"))
        assert set(session.scalars(select(Job.state))) == {"done"}
    assert n_stored == BUDGET == reloaded(campaign.id).n_answers
    assert len(traffic.log) + len(mine) == n_stored + (late or 0)
    assert broken_invariants() == {}
    # Of a hundred connections of five processes.
    assert n_sessions <= SESSIONS + 1
    assert n_listening == 1


def check_results(requester: httpx.Client, campaign: Campaign, system: System) -> None:
    """What the workers have learned and stored is there for the server that is left."""
    with transaction() as session:
        models = session.scalars(select(Model).where(Model.campaign_id == campaign.id)).all()
    assert models[-1].n_answers > 0
    base = f"/api/v1/campaigns/{campaign.id}"
    files = requester.get(f"{base}/exports").json()["files"]
    for name in [entry["file"] for entry in files if entry["needs"] == "model"]:
        assert requester.get(f"{base}/export/{name}").status_code == 200, name
    # Nothing is kept on one machine alone.
    assert not Path(system.environment["LIKEWISE_DATA"]).exists()
