"""What everybody needs is short or wrong for a while: PostgreSQL's connections, the clock. People
see a sentence, nothing that was acknowledged is lost, and all goes on by itself."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta

import httpx
import psycopg
import pytest
from sqlalchemy import func, select

from app.accounts.models import Account
from app.annotation.models import Answer
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.jobs.models import Job
from app.recruitment.models import Payment
from testbed.builders import a_campaign, an_account, sign_in
from testbed.invariants import broken_invariants
from testbed.servers import Servers
from testbed.system import System, wait_until
from tests.support.clock import HOUR, as_if_sealed_before, clock_was_set
from tests.support.people import Person, a_person

BUDGET = 4


@pytest.fixture
def http(system: System) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=system.base_url, timeout=30) as client:
        yield client


def a_paid_campaign(owner: Account) -> Campaign:
    """One training, once the last of four answers has come; everybody does two."""
    return a_campaign(
        owner,
        kind="bins",
        strategy="crowdster",
        budget=BUDGET,
        learn_every=BUDGET,
        grids_per_assignment=2,
        reward_cents=100,
    )


def answer(*people: Person) -> None:
    for person in people:
        assert person.submit(person.lease()).status_code == 200


def jobs() -> list[tuple[str, int]]:
    with transaction() as session:
        return [(job.state, job.attempts) for job in session.scalars(select(Job))]


def check_all_is_there(people: int = 2) -> None:
    """Every answer, everybody paid once, and a worker has the one training, at its first attempt;
    how long that takes says how busy the machine is."""
    wait_until("a worker to take the training", lambda: "queued" not in dict(jobs()))
    with transaction() as session:
        assert session.scalar(select(func.count()).where(Answer.state == "submitted")) == BUDGET
        amounts = session.scalars(select(Payment.amount_cents)).all()
    assert amounts == [100] * people
    assert jobs() in ([("running", 1)], [("done", 1)])
    assert broken_invariants() == {}


def readiness(http: httpx.Client) -> dict[str, str]:
    checks: dict[str, str] = http.get("/readyz").json()["checks"]
    return checks


# --- PostgreSQL without connections -------------------------------------------------------------


@contextmanager
def no_connections(servers: Servers, system: System) -> Iterator[None]:
    """Others have all of them, also those kept for superusers, and the system has none."""
    url = system.environment["DATABASE_URL"].replace("postgresql+psycopg://", "postgresql://")
    name = url.partition("?")[0].rpartition("/")[2]
    with ExitStack() as held, psycopg.connect(servers.postgres.uri, autocommit=True) as watcher:

        def all_taken() -> bool:
            watcher.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
            )
            try:
                while True:
                    held.enter_context(psycopg.connect(servers.postgres.uri))
            except psycopg.OperationalError as error:
                assert "too many clients" in str(error)  # noqa: PT017  # the loop's only end
            # A backend that was asked to end holds its place until it has ended, maybe only now:
            # that the system has none does not yet say that all places are taken.
            query = """
                SELECT count(*) = current_setting('max_connections')::int FROM pg_stat_activity
                WHERE backend_type = 'client backend' AND datname <> %s"""
            return watcher.execute(query, (name,)).fetchone() == (True,)

        wait_until("all connections to be held by others", all_taken)
        yield


def test_while_postgresql_has_no_connections_everybody_is_told_and_all_goes_on_afterwards(
    servers: Servers, system: System, http: httpx.Client
) -> None:
    owner = an_account()
    campaign = a_paid_campaign(owner)
    ada, bob = (a_person(http, campaign, f"annotator-{k:06d}") for k in range(2))
    sign_in(http, owner)
    answer(ada, bob, bob)
    lease = ada.lease()
    pids = {name: process.pid for name, process in system.processes.items()}
    with no_connections(servers, system):
        refused = ada.submit(lease)
        assert (refused.status_code, refused.json()["code"]) == (503, "database_unavailable")
        assert refused.headers["retry-after"]
        page = http.get(f"/campaigns/{campaign.id}", headers={"Accept": "text/html"})
        assert (page.status_code, page.headers["retry-after"]) == (503, "2")
        assert "Nothing is lost. Try again in a few seconds." in page.text
        assert readiness(http)["database"].startswith("not reachable")
        assert http.get("/healthz").is_success
        wait_until(
            "the dispatcher to wait",
            lambda: "database not reachable, trying again" in system.log("dispatcher"),
        )
    # The same request, as the page sends it.
    assert wait_until("service", lambda: ada.submit(lease).status_code == 200)
    check_all_is_there()
    assert http.get(f"/campaigns/{campaign.id}").status_code == 200
    assert {name: process.pid for name, process in system.processes.items()} == pids
    assert all(process.poll() is None for process in system.processes.values())


# --- A clock that jumps -------------------------------------------------------------------------


@pytest.mark.parametrize("first", [HOUR, -HOUR])
def test_a_clock_that_jumps_by_an_hour_and_back_loses_nothing(
    system: System, http: httpx.Client, first: timedelta
) -> None:
    owner = an_account()
    campaign = a_paid_campaign(owner)
    sign_in(http, owner)
    ada, bob = (a_person(http, campaign, f"annotator-{k:06d}") for k in range(2))
    answer(ada, bob)
    # Both sit over a grid, for longer than a lease when the clock goes on.
    leases = [(person, person.lease()) for person in (ada, bob)]
    for by in (first, -first):
        clock_was_set(by)
        person, lease = leases.pop()
        later = Person(http, as_if_sealed_before(person.token, by))
        sent = later.submit(lease)
        assert (sent.status_code, sent.json()["status"]) == (200, "stored")
        # Once more: the answer is known, and paid once.
        assert later.submit(lease).json() == sent.json()
        assert http.get(f"/campaigns/{campaign.id}").status_code == 200
    check_all_is_there()
