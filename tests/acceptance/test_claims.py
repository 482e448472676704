"""Very many people ask for work at the same moment (test 1 of docs/acceptance.md)."""

from collections import Counter
from functools import partial

import httpx
from sqlalchemy import select

from app.annotation.models import Answer
from app.campaigns.models import Campaign, Grid
from app.core.database import transaction
from testbed.builders import a_campaign, a_collection, an_account
from testbed.system import System
from tests.support.acceptance_results import keep
from tests.support.people import Person, a_person, at_once
from tests.support.scale import FULL

CLIENTS, SLOTS, RUNS = (200, 1_000, 20) if FULL else (50, 150, 2)
PER_GRID = 5
# More people than places: these are told to wait.
TOO_MANY = 20


def test_as_many_leases_as_places_however_many_ask_at_once(web: System) -> None:
    owner = an_account()
    collection = a_collection(owner)
    limits = httpx.Limits(max_connections=CLIENTS, max_keepalive_connections=CLIENTS)
    with httpx.Client(base_url=web.base_url, timeout=120, limits=limits) as http:
        for run in range(RUNS):
            campaign = a_campaign(
                owner, collection, budget=SLOTS, answers_per_grid=PER_GRID, seed=run
            )
            keys = [f"claiming-{run:02d}-{k:05d}" for k in range(SLOTS + TOO_MANY)]
            claim_all(at_once(10, partial(a_person, http, campaign), keys))
            check(campaign)
    figures = {"clients": CLIENTS, "places": SLOTS, "runs": RUNS, "leases_too_many": 0}
    keep("claims", figures)


def claim_all(people: list[Person]) -> None:
    """Everybody in two windows that ask at the same moment."""
    windows = [window for person in people for window in (person, person)]
    handouts = at_once(CLIENTS, lambda window: (window.token, window.claim()), windows)
    leased: dict[str, set[str]] = {}
    for token, handout in handouts:
        if handout["status"] == "leased":
            leased.setdefault(token, set()).add(handout["lease"]["id"])
        else:
            assert handout["status"] == "wait"
    assert all(len(ids) == 1 for ids in leased.values()), "two windows have different grids"
    assert len(leased) == len(set.union(*leased.values())) == SLOTS


def check(campaign: Campaign) -> None:
    with transaction() as session:
        grids = session.scalars(select(Grid).where(Grid.campaign_id == campaign.id)).all()
        leases = session.scalars(select(Answer).where(Answer.campaign_id == campaign.id)).all()
    assert len(leases) == SLOTS
    assert max(Counter((lease.grid_id, lease.annotator_id) for lease in leases).values()) == 1
    assert Counter(lease.grid_id for lease in leases) == {grid.id: PER_GRID for grid in grids}
