"""One account at every limit, and fifty annotators of another who do not notice (test 29)."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from app.accounts.models import Account
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign
from app.collections.models import Collection
from app.core.database import locked, transaction
from app.jobs.service import active_job, request_job
from app.planning.crowd import CrowdTraits, make_crowd, read_images
from testbed.builders import a_campaign, a_collection, an_account, an_api_token
from testbed.many import add_answers
from testbed.servers import ROOT, Servers
from testbed.system import System, running_system
from tests.conftest import settings_over, used_here
from tests.support.acceptance_results import keep
from tests.support.scale import FULL
from tests.support.traffic import Call, Traffic, percentiles
from tests.system.test_loop import check_log_against_database

# Alternately without and with the greedy account, so that a machine that drifts favours neither.
PEOPLE, PHASES, PHASE_SECONDS = (50, 6, 60.0) if FULL else (12, 2, 8.0)
THINK_SECONDS = 8.0 if FULL else 2.0
MOST_TIMES = 2.0
# Of its campaigns: it trains them over and over.
CAMPAIGNS, ANSWERS = 4, 3_000
KINDS = ("claim", "submit")


def test_an_account_at_every_limit_slows_nobodys_annotators(
    own_servers: Servers, tmp_path: Path
) -> None:
    values = settings_over(own_servers, own_servers.new_database(), tmp_path)
    with running_system(values, tmp_path) as system, used_here(system.environment):
        account = _Greedy(system, an_account("greedy@example.org"))
        campaign, traffic = a_crowd_at_work(system, an_account("quiet@example.org"))
        calls: dict[bool, list[Call]] = {False: [], True: []}
        with traffic.going():
            # Everybody has come, and every page was asked for once.
            time.sleep(1.5 * THINK_SECONDS)
            for phase in range(PHASES):
                is_greedy = phase % 2 == 1
                began = time.monotonic()
                with account.at_every_limit() if is_greedy else _nothing():
                    time.sleep(PHASE_SECONDS)
                ended = time.monotonic()
                calls[is_greedy] += [
                    one for one in traffic.recorder.calls if began < one.at - one.seconds < ended
                ]
        failed = [one for one in traffic.recorder.calls if one.status == 0 or one.status >= 400]
        assert failed == []
        check_log_against_database(traffic, campaign)
        figures = summary(calls, account)
        keep("greedy", figures)
        account.check_it_met_its_limits()
        if FULL:
            assert max(figures["times"].values()) <= MOST_TIMES, figures


@contextmanager
def _nothing() -> Iterator[None]:
    yield


class _Greedy:
    """answered: of every phase, how often what was answered how."""

    def __init__(self, system: System, owner: Account) -> None:
        self._system, self._token = system, an_api_token(owner)
        self._collection: Collection = a_collection(owner, n=60)
        self._campaigns = [
            a_campaign(owner, self._collection, name=f"Campaign {number}", grid_size=12)
            for number in range(CAMPAIGNS)
        ]
        for campaign in self._campaigns:
            add_answers(campaign, ANSWERS if FULL else 300)
        # The process that answers what takes long is there.
        answers = f"{system.base_url}/api/v1/campaigns/{self._campaigns[0].id}/answers"
        headers = {"Authorization": f"Bearer {self._token}"}
        assert httpx.get(answers, headers=headers, timeout=60).status_code == 200
        self.answered: list[dict[str, dict[str, int]]] = []

    @contextmanager
    def at_every_limit(self) -> Iterator[None]:
        ids = [str(one.id) for one in self._campaigns]
        command = [sys.executable, "-m", "tests.support.greedy", self._system.base_url, self._token]
        with subprocess.Popen(
            [*command, str(self._collection.id), *ids],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            start_new_session=True,
        ) as process:
            for campaign in self._campaigns:
                self._train(campaign)
            try:
                yield
            finally:
                out, _ = process.communicate("", timeout=150)
        self.answered.append(json.loads(out))

    def _train(self, campaign: Campaign) -> None:
        with transaction() as session:
            locked(session, Campaign, campaign.id)
            if active_job(session, campaign.id) is None:
                request_job(session, campaign.id, campaign.n_answers)

    def check_it_met_its_limits(self) -> None:
        statuses = {
            code for answered in self.answered for counts in answered.values() for code in counts
        }
        if not FULL:
            # In a few seconds next to other tests it may come to no limit at all; and be given so
            # little time that its connections are closed, because no request comes on them.
            assert statuses <= {"200", "404", "429", "ReadTimeout", "RemoteProtocolError"}
            return
        # Uploads beyond what an account may have at once wait for each other.
        for name in ("download", "follow"):
            assert any(answered[name].get("429", 0) for answered in self.answered), name
        for name in self.answered[0]:
            assert any(answered[name].get("200", 0) for answered in self.answered), name
        # Replies that are cut off are none; a greedy reader may give up at the end.
        assert statuses <= {"200", "404", "429", "ReadTimeout"}, self.answered


def a_crowd_at_work(system: System, owner: Account) -> tuple[Campaign, Traffic]:
    campaign = a_campaign(
        owner, a_collection(owner, n=90), budget=30_000, rounds=10, grid_size=24,
        grids_per_assignment=10, learn_every=20_000,
    )  # fmt: skip
    with transaction() as session:
        table = read_images(session, campaign)
    return campaign, Traffic(
        system.base_url,
        annotator_link(campaign, "").removeprefix("/a/"),
        campaign.kind,
        campaign.max_groups,
        make_crowd(table, ["colour"], CrowdTraits(PEOPLE, 0.1)),
        THINK_SECONDS,
        arrival=THINK_SECONDS,
    )


def summary(calls: dict[bool, list[Call]], account: _Greedy) -> dict[str, Any]:
    waits = {
        name: {kind: percentiles([one for one in calls[is_greedy] if one.kind == kind])
               for kind in KINDS}
        for name, is_greedy in (("alone", False), ("with_greedy", True))
    }  # fmt: skip
    times = {
        kind: round(waits["with_greedy"][kind]["p99_ms"] / waits["alone"][kind]["p99_ms"], 2)
        for kind in KINDS
    }
    return {
        "full": FULL,
        "people": PEOPLE,
        "seconds": PHASES * PHASE_SECONDS,
        "think_seconds": THINK_SECONDS,
        "requests": sum(map(len, calls.values())),
        **waits,
        "times": times,
        "answered": account.answered,
    }
