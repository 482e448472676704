"""People on a link and on a marketplace, learning, and every process killed each minute: nothing
acknowledged is lost, nobody is paid twice, and what is back serves without an error."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import func, select

from app.accounts.models import Account
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.jobs.models import Job
from app.planning.crowd import CrowdTraits, make_crowd, read_images
from app.recruitment.models import Posting
from app.results.models import Model
from emulators.mturk.faults import Faults, FaultSettings
from emulators.mturk.server import Emulator, running
from likewise.marketplace import MarketPlay, WorkerBehaviour
from testbed.builders import a_campaign, a_collection, an_account, an_api_token
from testbed.invariants import broken_invariants, nothing_is_running
from testbed.recruits import SECRET, an_account_on
from testbed.servers import Servers
from testbed.system import System, running_system, wait_until
from tests.conftest import settings_over, used_here
from tests.support.acceptance_results import keep
from tests.support.books import Requester, owed_to_workers, paid_by_ledger, paid_by_mturk
from tests.support.chaos import Chaos, has_failed
from tests.support.scale import FULL
from tests.support.traffic import Call, Recorder, Traffic, percentiles
from tests.system.test_loop import check_log_against_database
from tests.system.test_recruiting_faults import CALLS, a_play, agrees, new_people

PERIODS, PERIOD = (20, 60.0) if FULL else (1, 30.0)
ON_LINK, ON_MARKET, PLACES = (160, 40, 630) if FULL else (20, 9, 18)
THINK_SECONDS = 20.0 if FULL else 3.0
# In the short form no more than the few who fit into half a minute answer on a slow machine too.
LEARN_ON_LINK, LEARN_ON_MARKET = (250, 250) if FULL else (40, 10)
REWARD, FEE, EXTRA = 50, 10, 7
SETTLED_SECONDS = 600.0
# What workers are told for reasons of the marketplace: nobody's session may get lost.
REFUSALS = {"took_part_before"}


@dataclass
class Market:
    """New workers of an emulated MTurk who come in groups as long as there is time.

    calls: every request of theirs, and of their requester
    """

    turk: Emulator
    play: MarketPlay
    calls: list[Call]
    failed: list[BaseException] = field(default_factory=list)

    @contextmanager
    def going(self) -> Iterator[None]:
        over = threading.Event()

        def come() -> None:
            try:
                while not over.is_set():
                    self.play.play(new_people(self.turk, ON_MARKET))
            except BaseException as error:
                self.failed.append(error)

        thread = threading.Thread(target=come)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
        assert self.failed == []


@pytest.fixture
def turk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulator]:
    """A marketplace that fails in a fifth of the calls."""
    with running() as emulator:
        emulator.state.faults = Faults(FaultSettings(seed=7, calls=CALLS, hold_seconds=0.1))
        yield emulator
        assert emulator.state.violations == []


def quick(turk: Emulator) -> dict[str, str]:
    """What is noticed, looked at and tried again within seconds, not minutes."""
    return {
        "LIKEWISE_MTURK_ENDPOINT": turk.endpoint_url,
        "LIKEWISE_MTURK_WORKER_SITE": turk.endpoint_url,
        "LIKEWISE_POLL_SECONDS": "5",
        "LIKEWISE_CLAIM_SECONDS": "5",
        "LIKEWISE_PRESENCE_SECONDS": "2",
        "LIKEWISE_JOB_LEASE_SECONDS": "6",
        "LIKEWISE_REDISPATCH_SECONDS": "5",
        # Most are lost to the killer, each of them once a minute or twice.
        "LIKEWISE_JOB_MAX_ATTEMPTS": "20",
    }


def test_everything_is_killed_again_and_again_and_nothing_is_lost(
    own_servers: Servers, turk: Emulator, tmp_path: Any
) -> None:
    url = own_servers.new_database()
    values = {**settings_over(own_servers, url, tmp_path), **quick(turk)}
    with running_system(values, tmp_path) as system, used_here(system.environment):
        owner = an_account()
        on_link, traffic = on_a_link(system, owner)
        campaign, requester, market = on_a_marketplace(system, turk, owner)
        recruitment = opened(requester, owner)
        # A call that fails again and again is made again after minutes; people who come before a
        # HIT is known here are told to wait.
        wait_until("the HITs", lambda: all_are_open(recruitment), SETTLED_SECONDS)
        chaos = Chaos(system, own_servers, PERIOD)
        with market.going(), traffic.going():
            chaos.reign(PERIODS)
            enough = partial(has_enough_to_learn, on_link, campaign)
            wait_until("answers to learn from", enough, SETTLED_SECONDS)
        left = people_leave(turk, requester, recruitment)
        owed = owed_to_workers(market.play.log)
        wait_until("the books", lambda: agrees(requester, recruitment, owed.total()), 300)
        wait_until("quiet", nothing_is_running, SETTLED_SECONDS)
        figures = summary(chaos, traffic, market, left)
        keep("soak", figures)
        check_log_against_database(traffic, on_link)
        check(chaos, [*traffic.recorder.calls, *market.calls], turk, campaign, owed)
        check_learning(on_link, campaign)
        assert figures["refused"].keys() <= REFUSALS


def on_a_link(system: System, owner: Account) -> tuple[Campaign, Traffic]:
    # Learned within seconds: what takes longer than the killer pauses would never end.
    campaign = a_campaign(
        owner,
        a_collection(owner, n=60),
        kind="bins",
        strategy="crowdster",
        budget=20_000,
        rounds=20,
        grid_size=12,
        grids_per_assignment=10,
        learn_every=LEARN_ON_LINK,
    )
    with transaction() as session:
        table = read_images(session, campaign)
    return campaign, Traffic(
        system.base_url,
        annotator_link(campaign, "").removeprefix("/a/"),
        campaign.kind,
        campaign.max_groups,
        make_crowd(table, ["colour"], CrowdTraits(ON_LINK, 0.1)),
        THINK_SECONDS,
        arrival=THINK_SECONDS,
    )


def on_a_marketplace(
    system: System, turk: Emulator, owner: Account
) -> tuple[Campaign, Requester, Market]:
    campaign = a_campaign(
        owner,
        a_collection(owner, n=30),
        budget=10_000,
        rounds=10,
        grids_per_assignment=2,
        learn_every=LEARN_ON_MARKET,
        reward_cents=REWARD,
        settings={"n_dimensions": 2},
    )
    recorder = Recorder()
    http = httpx.Client(base_url=system.base_url, timeout=60, transport=recorder)
    requester = Requester(http, an_api_token(owner), campaign.id)
    play = a_play(system, turk, campaign, recorder)
    play.behaviour = WorkerBehaviour(returns=0.1, abandons=0.05, twice=0.2, extras=0.5, greedy=0.1)
    play.at_once, play.pace = ON_MARKET, THINK_SECONDS
    return campaign, requester, Market(turk, play, recorder.calls)


def opened(requester: Requester, owner: Account) -> str:
    plan = {
        "channel": "mturk",
        "channel_account_id": str(an_account_on(owner, "mturk", SECRET).id),
        "places": PLACES,
        "reward_cents": REWARD,
        "spend_limit_cents": PLACES * (REWARD + FEE + 2 * (EXTRA + 2)),
        "settings": {"extra_grids": 2, "extra_cents": EXTRA, "minutes_allowed": 30},
    }
    recruitment = requester.post("/recruitments", plan)
    requester.post(f"/recruitments/{recruitment['id']}/open")
    return str(recruitment["id"])


def all_are_open(recruitment: str) -> bool:
    with transaction() as session:
        query = select(Posting.state).where(Posting.recruitment_id == UUID(recruitment))
        states = session.scalars(query).all()
    return len(states) == PLACES // 9 and set(states) == {"open"}


def has_enough_to_learn(*campaigns: Campaign) -> bool:
    with transaction() as session:
        ids = [campaign.id for campaign in campaigns]
        now = session.scalars(select(Campaign).where(Campaign.id.in_(ids)))
        return all(campaign.n_answers >= campaign.learn_every for campaign in now)


def people_leave(turk: Emulator, requester: Requester, recruitment: str) -> int:
    """The end: nobody new is let in, and who walked away loses the place. How many did."""
    requester.post(f"/recruitments/{recruitment}/stop")
    with turk.state.lock:
        held = sum(assignment.state == "Accepted" for assignment in turk.state.assignments.values())
        turk.state.clock.advance(31 * 60)
    return held


def summary(chaos: Chaos, traffic: Traffic, market: Market, left: int) -> dict[str, Any]:
    calls = [*traffic.recorder.calls, *market.calls]
    bad = [call for call in calls if has_failed(call)]
    with transaction() as session:
        jobs = Counter(session.scalars(select(Job.state)))
        models = session.scalar(select(func.count()).select_from(Model))
    ends = Counter(work_session.end for work_session in market.play.log)
    return {
        "full": FULL,
        "minutes": PERIODS * PERIOD / 60,
        "people": ON_LINK + ON_MARKET,
        "think_seconds": THINK_SECONDS,
        "kills": chaos.kills,
        "requests": len(calls),
        "answers_acknowledged": len(traffic.log),
        "stints": dict(ends),
        "refused": dict(
            Counter(
                work_session.code
                for work_session in market.play.log
                if work_session.end == "refused"
            )
        ),
        "walked_away": left,
        "jobs": dict(jobs),
        "models": models,
        "failed_requests": dict(Counter(str(call.status) for call in bad)),
        "seconds_in_which_failures_are_excused": round(chaos.excusing_seconds()),
        "unexplained": [str(call) for call in chaos.unexplained(calls)[:10]],
        "trouble_after_postgresql_s": round(chaos.longest_trouble(calls, "postgresql"), 2),
        "trouble_after_web_s": round(chaos.longest_trouble(calls, "web"), 2),
        "longest_request_s": round(max(call.seconds for call in calls), 2),
        "claim": percentiles([call for call in calls if call.kind == "claim"]),
        "submit": percentiles([call for call in calls if call.kind == "submit"]),
        "broken_invariants": broken_invariants(),
    }


def check(
    chaos: Chaos, calls: list[Call], turk: Emulator, campaign: Campaign, owed: Counter[Any]
) -> None:
    assert set(chaos.kills) == set(chaos._victims())
    assert min(chaos.kills.values()) > 0
    assert chaos.unexplained(calls) == []
    assert paid_by_ledger(campaign.id) == owed
    assert paid_by_mturk(turk.state) == owed
    assert max(owed.values()) == 1
    assert broken_invariants() == {}


def check_learning(*campaigns: Campaign) -> None:
    """However often it was killed, what was due was learned."""
    with transaction() as session:
        assert set(session.scalars(select(Job.state))) == {"done"}
        for campaign in campaigns:
            now = session.get_one(Campaign, campaign.id)
            newest = func.coalesce(func.max(Model.n_answers), 0)
            learned = session.scalar(select(newest).where(Model.campaign_id == campaign.id)) or 0
            assert now.n_answers - learned < now.learn_every
            assert learned > 0
