"""With real processes: a round is followed by a comparison of halves, which ends the campaign."""

import httpx
import pytest
from sqlalchemy import select

from app.core.database import transaction
from app.jobs.models import Job
from app.jobs.service import SPLIT_HALF
from testbed.builders import an_account, reloaded
from testbed.system import System, wait_until
from tests.app.test_split_half import ROUND, a_bins_campaign, by_likeness
from tests.support.people import a_person


@pytest.fixture(autouse=True)
def compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIKEWISE_COMPARE_HALVES", "true")


def test_a_worker_compares_halves_and_the_campaign_ends(own_system: System) -> None:
    campaign = a_bins_campaign(an_account(), target=0.2)
    with httpx.Client(base_url=own_system.base_url, timeout=60) as http:
        person = a_person(http, campaign, "somebody-else-0001")
        for _ in range(ROUND):
            lease = person.lease()
            groups = by_likeness([shown["image"] for shown in lease["images"]])
            assert person.submit(lease, groups=groups).json()["status"] == "stored"
    wait_until("the campaign to end", lambda: reloaded(campaign.id).state == "finished", 240)
    with transaction() as session:
        jobs = session.scalars(select(Job).where(Job.kind == SPLIT_HALF)).all()
        assert [(job.state, job.attempts, job.error) for job in jobs] == [("done", 1, None)]
