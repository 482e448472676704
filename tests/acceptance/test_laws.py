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


def first_status(market: Market) -> str:
    """What the first person's page was told of their first answer."""
    reply = market.people[0].sent[0].reply
    assert reply is not None
    return str(reply["status"])


def late_after_all(market: Market) -> None:
    """Away for so long that the others have answered all, then it comes."""
    market.claims(0)
    market.is_away_for_long(0)
    for other in range(1, PLACES - 1):
        market.does_more_and_hands_in(other)
    market.submits(0)
    assert first_status(market) == "surplus"


def late_while_held(market: Market) -> None:
    """Away; the grid's places are held by others, who have not yet answered."""
    market.claims(0)
    market.is_away_for_long(0)
    for other in range(1, PLACES - 1):
        market.claims(other)
    market.submits(0)
    assert first_status(market) == "surplus"
    for other in range(1, PLACES - 1):
        market.submits(other)


def lost_and_sent_again_late(market: Market) -> None:
    """The lease runs out, the server dies before its commit, and the page tries again, twice."""
    market.claims(0)
    market.is_away_for_long(0)
    market.submits_to_a_server_that_dies_before_its_commit(0)
    for other in range(1, PLACES - 1):
        market.works(other)
    market.sends_again(0, 0)
    assert first_status(market) == "surplus"
    market.sends_again(0, 0)
    market.sends_something_else_with_the_same_key(0)


def paid_while_everything_fails(market: Market) -> None:
    """Handed in while the platform fails, and dispatchers die with payments in hand."""
    market.the_platform_fails(7)
    for _ in range(PLACES - 2):
        market.does_more_and_hands_in(0)
        market.a_dispatcher_dies_with_a_payment_in_hand()
        market.the_platform_is_looked_at_twice()
        market.pays()


def given_back_and_taken_by_another(market: Market) -> None:
    """A place and its assignment go to the next; what the first has done stays and is not paid."""
    market.works(0)
    market.claims(0)
    market.gives_the_task_back(0)
    market.comes()
    market.does_more_and_hands_in(PLACES - 2)
    market.sends_again(0, 0)
    market.the_platform_is_looked_at_twice()


ORDERS = [late_after_all, late_while_held, lost_and_sent_again_late,
          paid_while_everything_fails, given_back_and_taken_by_another]  # fmt: skip


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.__name__)
def test_the_laws_hold_in_orders_that_are_rare(laws: None, order: Callable[[Market], None]) -> None:
    """What chance would take long to find, always."""
    market = Market()
    market.begin()
    order(market)
    for law in LAWS:
        law(market)
    market.teardown()


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
