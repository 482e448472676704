"""One answer is sent many times, or its reply is lost (tests 2 and 3 of docs/acceptance.md)."""

from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest
from sqlalchemy import func, select

from app.annotation.models import Answer
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.core.outbox import OutboxMessage
from testbed.builders import a_campaign, reloaded
from testbed.servers import Servers
from testbed.system import System, running_system
from tests.conftest import settings_over, used_here
from tests.support.fault_proxy import FaultProxy, over_tcp, proxied, socket_of
from tests.support.people import a_person, at_once

POSTS, CHANGED = 50, 10


@dataclass
class Behind:
    """A web server with a failing network on either side."""

    system: System
    # Between browsers and the server, and between it and PostgreSQL.
    front: FaultProxy
    back: FaultProxy
    http: httpx.Client


@pytest.fixture(scope="module")
def behind_of_module(
    servers: Servers, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[dict[str, str], System, FaultProxy, FaultProxy]]:
    url, folder = servers.new_database(), tmp_path_factory.mktemp("web")
    values = settings_over(servers, url, folder)
    with proxied(socket_of(url)) as back:
        far = {**values, "DATABASE_URL": over_tcp(url, back)}
        with running_system(far, folder, "web") as system, proxied(system.port) as front:
            yield values, system, front, back
    servers.drop_database(url)


@pytest.fixture
def web(
    servers: Servers, behind_of_module: tuple[dict[str, str], System, FaultProxy, FaultProxy]
) -> Iterator[Behind]:
    values, system, front, back = behind_of_module
    servers.empty_database(values["DATABASE_URL"])
    limits = httpx.Limits(max_connections=POSTS + CHANGED)
    base_url = f"http://127.0.0.1:{front.port}"
    # What a test looks at, it reads from PostgreSQL directly.
    with used_here(values), httpx.Client(base_url=base_url, limits=limits, timeout=60) as http:
        yield Behind(system, front, back, http)
    for proxy in (front, back):
        proxy.heal()
        proxy.cut()


def a_learning_campaign() -> Campaign:
    """Every answer asks for learning, in the same transaction."""
    return a_campaign(learn_every=1)


def check_one_answer(campaign: Campaign, groups: list[int]) -> None:
    with transaction() as session:
        answer = session.scalars(select(Answer).where(Answer.submitted_at.is_not(None))).one()
        messages = session.scalar(select(func.count()).select_from(OutboxMessage))
    assert (answer.state, answer.groups, messages) == ("submitted", groups, 1)
    assert reloaded(campaign.id).n_answers == 1


def test_fifty_posts_at_once_with_one_key_are_one_answer(web: Behind) -> None:
    campaign = a_learning_campaign()
    person = a_person(web.http, campaign, "posting-fifty-times")
    lease = person.lease()
    groups = [k % 3 for k in range(len(lease["images"]))]

    def post(changed: bool) -> httpx.Response:
        return person.submit(lease, groups=groups, descriptions=["other"] if changed else ["same"])

    # The first one decides which of the bodies is the answer.
    first = post(False)
    posts = [False] * (POSTS - 1) + [True] * CHANGED
    replies = list(zip(posts, at_once(len(posts), post, posts), strict=True))
    same = [first, *(reply for changed, reply in replies if not changed)]
    assert {(reply.status_code, reply.content) for reply in same} == {(200, first.content)}
    others = [reply for changed, reply in replies if changed]
    assert {(reply.status_code, reply.json()["code"]) for reply in others} == {
        (422, "idempotency_mismatch")
    }
    check_one_answer(campaign, groups)


def test_fifty_first_posts_at_once_are_one_answer(web: Behind) -> None:
    campaign = a_learning_campaign()
    person = a_person(web.http, campaign, "posting-all-at-once")
    lease = person.lease()
    groups = [k % 2 for k in range(len(lease["images"]))]
    replies = at_once(POSTS, lambda _: person.submit(lease, groups=groups), range(POSTS))
    assert {(reply.status_code, reply.content) for reply in replies} == {(200, replies[0].content)}
    check_one_answer(campaign, groups)


def test_a_reply_lost_on_its_way_to_the_browser_is_had_again(web: Behind) -> None:
    campaign = a_learning_campaign()
    person = a_person(web.http, campaign, "losing-the-reply")
    lease = person.lease()
    groups = [k % 2 for k in range(len(lease["images"]))]
    web.front.cut()
    for n_bytes in (0, 20, 200):
        web.front.cut_after(n_bytes, "client")
        with pytest.raises(httpx.TransportError):
            person.submit(lease, groups=groups)
        check_one_answer(campaign, groups)
    web.front.heal()
    assert person.submit(lease, groups=groups).json()["status"] == "stored"
    check_one_answer(campaign, groups)


def test_a_submission_cut_off_on_its_way_in_leaves_nothing(web: Behind) -> None:
    campaign = a_learning_campaign()
    person = a_person(web.http, campaign, "cut-off-on-the-way")
    lease = person.lease()
    groups = [k % 2 for k in range(len(lease["images"]))]
    web.front.cut()
    for n_bytes in (0, 100, 400):
        web.front.cut_after(n_bytes, "server")
        with pytest.raises(httpx.TransportError):
            person.submit(lease, groups=groups)
    assert reloaded(campaign.id).n_answers == 0
    web.front.heal()
    assert person.submit(lease, groups=groups).json()["status"] == "stored"
    check_one_answer(campaign, groups)


def test_a_commit_that_happened_although_postgresql_was_not_heard_is_known_again(
    web: Behind,
) -> None:
    campaign = a_learning_campaign()
    person = a_person(web.http, campaign, "commit-not-heard-of")
    lease = person.lease()
    groups = [k % 2 for k in range(len(lease["images"]))]
    n_lost = web.back.n_lost
    web.back.lose_reply_to(b"COMMIT")
    reply = person.submit(lease, groups=groups)
    assert web.back.n_lost == n_lost + 1
    check_one_answer(campaign, groups)
    # Nobody says that nothing was stored.
    assert (reply.status_code, reply.json()["code"]) == (503, "database_unavailable")
    assert "Nothing was saved" not in reply.text
    assert person.submit(lease, groups=groups).json()["status"] == "stored"
    check_one_answer(campaign, groups)


@pytest.mark.parametrize("fault", ["cut", "reset"])
def test_connections_that_postgresql_lost_meanwhile_are_noticed_before_use(
    web: Behind, fault: str
) -> None:
    campaign = a_learning_campaign()
    person = a_person(web.http, campaign, "after-an-idle-night")
    lease = person.lease()
    getattr(web.back, fault)()
    assert person.submit(lease).json()["status"] == "stored"
