"""Laws of a campaign on a marketplace, whatever happens in whatever order.

Payments alone, with dispatchers that die at each step: tests/app/test_payment_laws.py.
"""

from collections.abc import Callable, Iterator

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from emulators.mturk.server import running
from testbed.builders import a_collection, an_account
from tests.conftest import forget_settings
from tests.support.marketplace import PLACES, Market
from tests.support.scale import FULL

EXAMPLES, STEPS = (100, 50) if FULL else (2, 12)
LAWS = [
    Market.what_was_acknowledged_is_there_and_nothing_else,
    Market.no_grid_has_more_than_it_wants,
    Market.nobody_has_a_grid_twice,
    Market.nobody_is_paid_twice,
]


@pytest.fixture
def laws(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with running() as turk:
        monkeypatch.setenv("LIKEWISE_MTURK_ENDPOINT", turk.endpoint_url)
        monkeypatch.setenv("LIKEWISE_MTURK_WORKER_SITE", turk.endpoint_url)
        forget_settings()
        Market.owner, Market.client, Market.turk = an_account(), client, turk
        Market.collection = a_collection(Market.owner)
        yield
        assert turk.state.violations == []


def told_first(one: Market) -> str:
    """What the first person's page was told of their first answer."""
    reply = one.people[0].sent[0].reply
    assert reply is not None
    return str(reply["status"])


def late_after_all(one: Market) -> None:
    """Away for so long that the others have answered all, then it comes."""
    one.claims(0)
    one.is_away_for_long(0)
    for other in range(1, PLACES - 1):
        one.does_more_and_hands_in(other)
    one.submits(0)
    assert told_first(one) == "surplus"


def late_while_held(one: Market) -> None:
    """Away; the grid's places are held by others, who have not yet answered."""
    one.claims(0)
    one.is_away_for_long(0)
    for other in range(1, PLACES - 1):
        one.claims(other)
    one.submits(0)
    assert told_first(one) == "surplus"
    for other in range(1, PLACES - 1):
        one.submits(other)


def lost_and_sent_again_late(one: Market) -> None:
    """The lease runs out, the server dies before its commit, and the page tries again, twice."""
    one.claims(0)
    one.is_away_for_long(0)
    one.submits_to_a_server_that_dies_before_its_commit(0)
    for other in range(1, PLACES - 1):
        one.works(other)
    one.sends_again(0, 0)
    assert told_first(one) == "surplus"
    one.sends_again(0, 0)
    one.sends_something_else_with_the_same_key(0)


def paid_while_everything_fails(one: Market) -> None:
    """Handed in while the platform fails, and dispatchers die with payments in hand."""
    one.the_platform_fails(7)
    for _ in range(PLACES - 2):
        one.does_more_and_hands_in(0)
        one.a_dispatcher_dies_with_a_payment_in_hand()
        one.the_platform_is_looked_at_twice()
        one.pays()


def given_back_and_taken_by_another(one: Market) -> None:
    """A place and its assignment go to the next; what the first has done stays and is not paid."""
    one.works(0)
    one.claims(0)
    one.gives_the_task_back(0)
    one.comes()
    one.does_more_and_hands_in(PLACES - 2)
    one.sends_again(0, 0)
    one.the_platform_is_looked_at_twice()


ORDERS = [late_after_all, late_while_held, lost_and_sent_again_late,
          paid_while_everything_fails, given_back_and_taken_by_another]  # fmt: skip


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.__name__)
def test_the_laws_hold_in_orders_that_are_rare(laws: None, order: Callable[[Market], None]) -> None:
    """What chance would take long to find, always."""
    one = Market()
    one.begin()
    order(one)
    for law in LAWS:
        law(one)
    one.teardown()


def test_a_campaign_on_a_marketplace_keeps_its_laws(laws: None) -> None:
    run_state_machine_as_test(
        Market,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=True,
            # Shrinking takes minutes; an example has few steps as it is.
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
