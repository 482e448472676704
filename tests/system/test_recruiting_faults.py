"""Two hundred people (`make acceptance`; eighty else) work on a marketplace that fails, for a
system that is killed: everyone who finished is paid, once, by the word of three records."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal

import httpx
import pytest

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.planning.crowd import CrowdTraits, make_crowd, read_images
from emulators.mturk import money
from emulators.mturk.control import NewWorkers, add_workers
from emulators.mturk.faults import FaultRule, Faults, FaultSettings
from emulators.mturk.server import Emulator, running
from emulators.mturk.state import State
from likewise.commands.simulate import run_market
from likewise.marketplace import MarketPlay, WorkerBehaviour, WorkSession
from likewise.markets import MTurkMarket
from testbed.builders import a_campaign, a_collection, an_account, an_api_token
from testbed.recruits import SECRET, an_account_on
from testbed.system import System, wait_until
from tests.support.books import (
    Paid,
    Requester,
    hurry,
    owed_to_workers,
    paid_by_ledger,
    paid_by_mturk,
)
from tests.support.scale import FULL

# A ninth of the first return the task and a ninth walk away; what those leave goes to others.
FIRST, LEAVE, PLACES = (180, 20, 160) if FULL else (45, 5, 40)
REWARD, FEE, EXTRA = 50, 10, 7
MINUTES_ALLOWED = 30
# A fifth of the calls, half of them after their effect.
CALLS = [
    FaultRule(kind="throttle", share=0.04),
    FaultRule(kind="error_before", share=0.03),
    FaultRule(kind="timeout_before", share=0.03),
    FaultRule(kind="error_after", share=0.05),
    FaultRule(kind="timeout_after", share=0.05),
]
FAULTS = FaultSettings(
    seed=5,
    calls=CALLS,
    hold_seconds=0.1,
    late_share=0.1,
    late_seconds=2,
    refused_submissions=0.05,
)
KILLED = (
    (0.1, "web"),
    (0.25, "dispatcher"),
    (0.4, "worker"),
    (0.5, "web"),
    (0.65, "dispatcher"),
    (0.8, "worker"),
)


@pytest.fixture
def turk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulator]:
    """A marketplace that fails, and a system that waits for nobody for long."""
    with running() as emulator:
        for name, value in {
            "LIKEWISE_MTURK_ENDPOINT": emulator.endpoint_url,
            "LIKEWISE_MTURK_WORKER_SITE": emulator.endpoint_url,
            "LIKEWISE_POLL_SECONDS": "1.5",
            "LIKEWISE_CLAIM_SECONDS": "5",
            "LIKEWISE_PRESENCE_SECONDS": "2",
            "LIKEWISE_JOB_LEASE_SECONDS": "4",
            "LIKEWISE_REDISPATCH_SECONDS": "3",
        }.items():
            monkeypatch.setenv(name, value)
        emulator.state.faults = Faults(FAULTS)
        yield emulator
        assert emulator.state.violations == []


@dataclass
class Purse:
    """Watches what has left the requester's purse, and what the platform may take from it by
    itself, while everything goes on."""

    state: State
    limit_cents: int
    most: Decimal = Decimal(0)
    looks: int = 0
    passed: list[str] = field(default_factory=list)

    def look(self) -> None:
        with self.state.lock:
            limit = self.limit_cents
            spent = sum((entry.amount for entry in self.state.journal), Decimal(0))
            promised = spent + sum(
                (money.held(self.state, key) for key in self.state.requesters), Decimal(0)
            )
        self.most, self.looks = max(self.most, promised), self.looks + 1
        if promised * 100 > limit:
            self.passed.append(f"{spent} spent and {promised - spent} promised of {limit}")

    @contextmanager
    def watched(self) -> Iterator[None]:
        over = threading.Event()

        def watch() -> None:
            while not over.wait(0.05):
                self.look()

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def a_play(
    system: System,
    turk: Emulator,
    campaign: Campaign,
    transport: httpx.BaseTransport | None = None,
) -> MarketPlay:
    """transport: of requests to the system, where somebody notes them."""
    with transaction() as session:
        table = read_images(session, campaign)
    return MarketPlay(
        MTurkMarket(httpx.Client(base_url=turk.endpoint_url, timeout=60)),
        httpx.Client(base_url=system.base_url, timeout=60, transport=transport),
        make_crowd(table, ["colour"], CrowdTraits(50, 0.1)),
        campaign.max_groups,
    )


def new_people(turk: Emulator, n: int) -> list[str]:
    with turk.state.lock:
        return [worker.worker_id for worker in add_workers(turk.state, NewWorkers(count=n))]


def by_the_command(turk: Emulator, campaign: Campaign, n: int) -> list[WorkSession]:
    """New workers of `likewise simulate --mturk`."""
    traits, habits = CrowdTraits(n, 0.1), WorkerBehaviour(extras=0.5)
    played = run_market(str(campaign.id), "colour", traits, 0, habits, turk.endpoint_url, "")
    return played.log


def fill(play: MarketPlay, places: int, others: Callable[[int], list[WorkSession]]) -> None:
    """Others come until every place is handed in."""
    for _ in range(5):
        missing = places - sum(work_session.end == "handed_in" for work_session in play.log)
        if missing:
            play.log.extend(others(missing))


def kill_on_the_way(system: System, play: MarketPlay, places: int) -> None:
    for share, name in KILLED:
        wait_until(
            f"{share:.0%} of the work",
            lambda share=share: (  # type: ignore[misc]
                sum(work_session.end == "handed_in" for work_session in play.log) >= share * places
            ),
        )
        system.kill(name)
        system.start(name)


def test_everyone_who_finished_is_paid_once_whatever_fails(
    turk: Emulator, own_system: System
) -> None:
    owner = an_account()
    campaign = a_campaign(
        owner,
        a_collection(owner, n=30),
        budget=1000,
        grids_per_assignment=2,
        learn_every=120,
        reward_cents=REWARD,
    )
    requester = a_requester(own_system, owner, campaign)
    # There is room for some of the bonuses only: no more extra grids are offered then.
    room = 2 * PLACES
    purse = Purse(turk.state, PLACES * (REWARD + FEE) + room)
    recruitment = opened(requester, owner, purse.limit_cents)
    play = a_play(own_system, turk, campaign)
    play.behaviour = WorkerBehaviour(
        returns=LEAVE / FIRST, abandons=LEAVE / FIRST, twice=0.2, extras=0.5, greedy=0.1
    )
    with purse.watched():
        wait_until("the HITs", lambda: are_up(turk))
        playing = threading.Thread(target=play.play, args=(new_people(turk, FIRST),))
        playing.start()
        kill_on_the_way(own_system, play, FIRST - 2 * LEAVE)
        playing.join()
        time_runs_out(turk)
        fill(play, PLACES, lambda n: by_the_command(turk, campaign, n))
        wait_until("the rewards", lambda: states(requester, recruitment)["paid"] >= PLACES)
        extras = [
            work_session.earned_cents[1]
            for work_session in play.log
            if work_session.earned_cents[1]
        ]
        purse.limit_cents += 2_000
        requester.put(
            f"/recruitments/{recruitment}/limit", {"spend_limit_cents": purse.limit_cents}
        )
        thanked = thank_some(requester, play)
        requester.post(f"/recruitments/{recruitment}/stop")
        owed = owed_to_workers(play.log) + thanked
        wait_until("the books to agree", lambda: agrees(requester, recruitment, owed.total()))
    check(turk, campaign, play, owed)
    assert 0 < sum(extras) < room
    assert len(extras) < sum(work_session.end == "handed_in" for work_session in play.log) / 2
    assert states(requester, recruitment)["held"] == 0
    assert purse.passed == []
    assert purse.most * 100 > PLACES * (REWARD + FEE)
    for name in ("web", "dispatcher", "worker"):
        assert "Traceback" not in own_system.log(name)


def a_requester(system: System, owner: Account, campaign: Campaign) -> Requester:
    http = httpx.Client(base_url=system.base_url, timeout=60)
    return Requester(http, an_api_token(owner), campaign.id)


def opened(requester: Requester, owner: Account, limit_cents: int) -> str:
    account = an_account_on(owner, "mturk", SECRET)
    plan = {
        "channel": "mturk",
        "channel_account_id": str(account.id),
        "places": PLACES,
        "reward_cents": REWARD,
        "spend_limit_cents": limit_cents,
        "settings": {
            "extra_grids": 2,
            "extra_cents": EXTRA,
            "minutes_allowed": MINUTES_ALLOWED,
            "exclude_former": True,
        },
    }
    recruitment = requester.post("/recruitments", plan)
    requester.post(f"/recruitments/{recruitment['id']}/open")
    return str(recruitment["id"])


def are_up(turk: Emulator) -> bool:
    hurry()
    return len(turk.state.hits) == -(-PLACES // 9)


def time_runs_out(turk: Emulator) -> None:
    """Of those who walked away: what they held goes to others."""
    with turk.state.lock:
        turk.state.clock.advance(MINUTES_ALLOWED * 60)


def states(requester: Requester, recruitment: str) -> Counter[str]:
    hurry()
    reconciliation = requester.get(f"/recruitments/{recruitment}/reconciliation")
    return Counter(reconciliation["payments"])


def agrees(requester: Requester, recruitment: str, n_paid: int) -> bool:
    """Whether nothing is left to look at, and so many payments were made."""
    hurry()
    reconciliation = requester.get(f"/recruitments/{recruitment}/reconciliation")
    # Told if the test fails.
    print(reconciliation["payments"], f"of {n_paid}:", reconciliation["differences"])
    return bool(
        reconciliation["differences"] == [] and reconciliation["payments"] == {"paid": n_paid}
    )


def thank_some(requester: Requester, play: MarketPlay) -> Paid:
    """Bonuses of the requester's own, for people who may get another by the rules."""
    by_assignment = {
        work_session.place.assignment: work_session.place.worker
        for work_session in play.log
        if work_session.end == "handed_in"
    }
    listed = wait_until("the submissions", lambda: requester.get("/submissions")["items"])
    thanked: Paid = Counter()
    for row in listed[:10]:
        body = {"amount_cents": 11, "reason": "You found a broken image."}
        requester.post(f"/submissions/{row['id']}/bonus", body)
        thanked[row["external_id"], by_assignment[row["external_id"]], "bonus", 11] += 1
    return thanked


def check(turk: Emulator, campaign: Campaign, play: MarketPlay, owed: Paid) -> None:
    ends = Counter(work_session.end for work_session in play.log)
    assert ends["handed_in"] == PLACES
    # Who comes last may find all places taken, also one who would have left.
    assert 0 < ends["returned"] <= LEAVE
    assert 0 < ends["abandoned"] <= LEAVE
    assert ends["lost"] == 0
    assert {work_session.code for work_session in play.log if work_session.end == "refused"} <= {
        "took_part_before"
    }
    assert paid_by_ledger(campaign.id) == owed
    assert paid_by_mturk(turk.state) == owed
    assert max(owed.values()) == 1
    struck = Counter(call.get("outcome") for call in turk.state.calls)
    assert all(struck[rule.kind] for rule in CALLS)
