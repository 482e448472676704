"""Jobs that ended in failure: shown with their reason, and begun anew once on a person's wish."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from uuid import UUID

from fastapi.testclient import TestClient
from sqlalchemy import select

from app.accounts.models import Account, AuditEvent
from app.campaigns.models import Campaign
from app.core.database import locked, transaction
from app.core.outbox import OutboxMessage
from app.jobs.models import Job
from app.jobs.service import DRY_RUN, claim_job, fail_job, request_job
from testbed.builders import a_campaign, an_account, sign_in

AT_ONCE = 12


def a_failed_job(campaign: Campaign, reason: str = "no memory", kind: str = "learn") -> UUID:
    with transaction() as session:
        locked(session, Campaign, campaign.id)
        job_id = request_job(session, campaign.id, 1, kind).id
    with transaction() as session:
        job = claim_job(session, job_id, "worker")
        assert job is not None
        fail_job(session, job_id, job.epoch, reason, retry=False)
    return job_id


def jobs_of(campaign: Campaign) -> list[Job]:
    with transaction() as session:
        query = select(Job).where(Job.campaign_id == campaign.id)
        return list(session.scalars(query.order_by(Job.created_at, Job.id)))


def retries_in_the_log() -> list[UUID | None]:
    with transaction() as session:
        query = select(AuditEvent.account_id).where(AuditEvent.action == "campaign.retried")
        return list(session.scalars(query))


def retry(client: TestClient, campaign: Campaign) -> tuple[int, str]:
    reply = client.post(f"/api/v1/campaigns/{campaign.id}/actions/retry")
    return reply.status_code, reply.json().get("code", "")


def test_a_failed_job_is_shown_with_its_reason_and_begun_anew(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(owner)
    failed = a_failed_job(campaign)
    path = f"/api/v1/campaigns/{campaign.id}"
    shown = client.get(f"{path}/progress").json()["job"]
    assert (shown["id"], shown["state"], shown["error"]) == (str(failed), "failed", "no memory")
    assert (shown["attempts"], shown["max_attempts"], shown["can_retry"]) == (1, 3, True)
    assert shown["finished_at"] is not None
    assert retry(client, campaign) == (200, "")
    assert [job.state for job in jobs_of(campaign)] == ["failed", "queued"]
    with transaction() as session:
        waiting = session.scalars(
            select(OutboxMessage.job_id).where(OutboxMessage.dispatched_at.is_(None))
        )
        assert jobs_of(campaign)[1].id in set(waiting)
    assert retries_in_the_log() == [owner.id]


def test_jobs_are_listed_newest_first_and_what_failed_keeps_its_reason(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(owner)
    a_failed_job(a_campaign(owner), "of another campaign")
    a_failed_job(campaign, "no memory")
    a_failed_job(campaign, "no such strategy", DRY_RUN)
    assert retry(client, campaign)[0] == 200
    path = f"/api/v1/campaigns/{campaign.id}/jobs"
    listed = client.get(path).json()["items"]
    assert [(job["kind"], job["state"], job["error"], job["can_retry"]) for job in listed] == [
        ("learn", "queued", None, False),
        ("dry_run", "failed", "no such strategy", False),
        ("learn", "failed", "no memory", True),
    ]
    first = client.get(path, params={"limit": 2}).json()
    rest = client.get(path, params={"limit": 2, "after": first["next"]}).json()
    assert [*first["items"], *rest["items"]] == listed
    assert rest["next"] is None


def test_many_clicks_at_once_begin_one_job(client: TestClient, owner: Account) -> None:
    campaign = a_campaign(owner)
    a_failed_job(campaign)
    together = Barrier(AT_ONCE)

    def click(_: int) -> tuple[int, str]:
        together.wait()
        return retry(client, campaign)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        replies = list(pool.map(click, range(AT_ONCE)))
    assert sorted(status for status, _ in replies) == [200, *[409] * (AT_ONCE - 1)]
    assert [job.state for job in jobs_of(campaign)] == ["failed", "queued"]
    assert len(retries_in_the_log()) == 1


def test_nobody_else_sees_or_retries_it(client: TestClient, owner: Account) -> None:
    campaign = a_campaign(owner)
    a_failed_job(campaign)
    sign_in(client, an_account("eve@example.org"))
    assert client.get(f"/api/v1/campaigns/{campaign.id}/jobs").status_code == 404
    assert retry(client, campaign)[0] == 404
    assert len(jobs_of(campaign)) == 1
    assert retries_in_the_log() == []
