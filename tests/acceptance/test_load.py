"""Many people at work while a model is trained without a pause (test 25): no request fails, nothing
is counted wrongly, and in the full form nobody waits for long."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import select

from app.accounts.models import Account
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.jobs.models import Job
from app.planning.crowd import CrowdTraits, make_crowd, read_images
from testbed.builders import a_campaign, a_collection, an_account
from testbed.invariants import broken_invariants, nothing_is_running
from testbed.servers import Servers
from testbed.system import System, running_system, wait_until
from tests.conftest import settings_over, used_here
from tests.support.acceptance_results import keep
from tests.support.scale import FULL
from tests.support.stolen import Stolen
from tests.support.traffic import Call, Traffic, percentiles
from tests.system.test_loop import check_log_against_database

# Half of the people that are wanted on four cores: these tests are for two.
PEOPLE, MINUTES = (250, 30.0) if FULL else (40, 0.5)
# A person takes longer over 24 images: 45 seconds to a minute and a half.
THINK_SECONDS = 30.0 if FULL else 4.0
LEARN_EVERY = 100 if FULL else 20
SETTLED_SECONDS = 600.0
# Of a run in which a host gives the machine's processors to others, waits are judged by the
# requests of all other times: at least as many.
LEAST_UNDISTURBED = 0.5
P99_MS = {"claim": 250.0, "submit": 500.0}


def test_many_people_at_work_while_a_model_is_trained(own_servers: Servers, tmp_path: Path) -> None:
    values = settings_over(own_servers, own_servers.new_database(), tmp_path)
    with running_system(values, tmp_path) as system, used_here(system.environment):
        campaign, traffic = a_crowd_at_work(system, an_account())
        began, stolen = datetime.now(UTC), Stolen()
        with stolen.watched(), traffic.going():
            time.sleep(60 * MINUTES)
            ended, end = datetime.now(UTC), time.monotonic()
        # One more may have been wished for while the last was running.
        wait_until("all trainings to end", nothing_is_running, SETTLED_SECONDS)
        calls = [call for call in traffic.recorder.calls if call.at - call.seconds <= end]
        figures = summary(campaign, calls, stolen, began, ended)
        keep("load", figures)
        failed = [call for call in traffic.recorder.calls if call.status == 0 or call.status >= 400]
        assert failed == []
        check_log_against_database(traffic, campaign)
        assert broken_invariants() == {}
        assert trainings(campaign, "done")
        if FULL:
            check_nobody_waited(figures)


def check_nobody_waited(figures: dict[str, Any]) -> None:
    """Not even while a model was trained, which was most of the time."""
    assert figures["share_of_time_training"] > 0.5
    assert figures["share_of_requests_undisturbed"] >= LEAST_UNDISTURBED
    assert {kind: figures["undisturbed"][kind]["p99_ms"] for kind, most in P99_MS.items()
            if figures["undisturbed"][kind]["p99_ms"] >= most} == {}  # fmt: skip


def a_crowd_at_work(system: System, owner: Account) -> tuple[Campaign, Traffic]:
    campaign = a_campaign(
        owner,
        a_collection(owner, n=90),
        budget=30_000,
        rounds=10,
        grid_size=24,
        grids_per_assignment=10,
        learn_every=LEARN_EVERY,
    )
    with transaction() as session:
        table = read_images(session, campaign)
    return campaign, Traffic(
        system.base_url,
        annotator_link(campaign, "").removeprefix("/a/"),
        campaign.kind,
        campaign.max_groups,
        make_crowd(table, ["colour"], CrowdTraits(PEOPLE, 0.1)),
        THINK_SECONDS,
        arrival=2 * THINK_SECONDS,
        in_peace=FULL,
    )


def trainings(campaign: Campaign, state: str) -> list[Job]:
    with transaction() as session:
        query = select(Job).where(Job.campaign_id == campaign.id, Job.state == state)
        return list(session.scalars(query))


def summary(
    campaign: Campaign, calls: list[Call], stolen: Stolen, began: datetime, ended: datetime
) -> dict[str, Any]:
    """calls: those begun between `began` and `ended`."""
    jobs = trainings(campaign, "done")
    trained = sum(
        (min(job.finished_at, ended) - job.started_at).total_seconds()
        for job in jobs
        if job.started_at and job.finished_at and job.started_at < ended
    )
    seconds = (ended - began).total_seconds()
    undisturbed = [call for call in calls if not stolen.touches(call.at - call.seconds, call.at)]
    return {
        "full": FULL,
        "people": PEOPLE,
        "minutes": round(seconds / 60, 1),
        "think_seconds": THINK_SECONDS,
        "requests": len(calls),
        "answers": sum(call.kind == "submit" and call.status == 200 for call in calls),
        "trainings": len(jobs),
        "share_of_time_training": round(trained / seconds, 3),
        "errors": sum(call.status == 0 or call.status >= 500 for call in calls),
        **waits(calls),
        "share_of_time_with_stolen_processors": round(stolen.share_of_time(), 3),
        "share_of_requests_undisturbed": round(len(undisturbed) / len(calls), 3),
        "undisturbed": waits(undisturbed),
        "broken_invariants": broken_invariants(),
    }  # fmt: skip


def waits(calls: list[Call]) -> dict[str, dict[str, float]]:
    """How long each kind of request took."""
    kinds = ("claim", "submit", "draft", "session")
    return {kind: percentiles([call for call in calls if call.kind == kind]) for kind in kinds}
