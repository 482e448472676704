"""`/healthz`, `/readyz` and `/metrics`."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import text

from app.core.database import transaction
from app.core.revisions import newest_revision
from app.jobs.models import Job
from testbed.builders import (
    a_campaign,
    a_collection,
    a_payment,
    a_recruitment,
    a_submission,
    an_account,
)
from testbed.system import System
from tests.app.test_annotation import a_lease, a_session, submit

TOKEN = "the-token-of-the-metrics"


@pytest.fixture(scope="module")
def web_settings() -> dict[str, str]:
    return {"LIKEWISE_METRICS_TOKEN": TOKEN}


def readiness(web: System) -> tuple[int, dict[str, str]]:
    reply = httpx.get(f"{web.base_url}/readyz", timeout=20)
    assert reply.json()["status"] == ("ready" if reply.status_code == 200 else "not ready")
    return reply.status_code, reply.json()["checks"]


def samples(web: System) -> dict[str, float]:
    """Figures by name and labels, as Prometheus would read them."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    reply = httpx.get(f"{web.base_url}/metrics", headers=headers, timeout=20)
    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        f"{sample.name}{{{_written(sample.labels)}}}": sample.value
        for family in text_string_to_metric_families(reply.text)
        for sample in family.samples
    }


def _written(labels: dict[str, str]) -> str:
    return ",".join(f'{name}="{value}"' for name, value in sorted(labels.items()))


@pytest.fixture
def without_valkey(web: System) -> Iterator[System]:
    web.kill_redis()
    yield web
    web.valkey.start()


def test_ready_when_database_storage_and_queue_answer(web: System) -> None:
    assert readiness(web) == (200, {"database": "ok", "storage": "ok", "queue": "ok"})
    assert httpx.get(f"{web.base_url}/healthz", timeout=60).json() == {"status": "ok"}


def test_not_ready_without_valkey_and_the_reason_names_no_address(without_valkey: System) -> None:
    status, checks = readiness(without_valkey)
    assert status == 503
    assert checks == {"database": "ok", "storage": "ok", "queue": "not reachable (ConnectionError)"}
    assert httpx.get(f"{without_valkey.base_url}/healthz", timeout=60).is_success


def test_not_ready_before_migrations(web: System) -> None:
    with transaction() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '0001'"))
    try:
        status, checks = readiness(web)
    finally:
        with transaction() as session:
            values = {"newest": newest_revision()}
            session.execute(text("UPDATE alembic_version SET version_num = :newest"), values)
    assert status == 503
    revisions = f"at revision 0001, but this version needs {newest_revision()}"
    assert revisions in checks["database"]


def test_not_ready_without_storage(environment: dict[str, str], client: TestClient) -> None:
    data = Path(environment["LIKEWISE_DATA"])
    data.mkdir()
    (data / "storage").write_text("no folder")
    reply = client.get("/readyz")
    assert reply.status_code == 503
    assert reply.json()["checks"]["storage"].startswith("not reachable")
    assert reply.json()["checks"]["database"] == "ok"


def test_not_ready_while_a_check_hangs(
    environment: dict[str, str], client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.operations.readiness.PATIENCE_SECONDS", 0.5)
    with transaction() as session:
        session.execute(text("LOCK alembic_version"))
        reply = client.get("/readyz")
    assert reply.status_code == 503
    assert reply.json()["checks"]["database"] == "no response within 0.5 seconds"


def test_there_are_no_metrics_without_a_token_in_the_settings(client: TestClient) -> None:
    for headers in ({}, {"Authorization": "Bearer "}, {"Authorization": "Bearer x"}):
        assert client.get("/metrics", headers=headers).status_code == 404


def test_metrics_want_the_token(web: System) -> None:
    for given in ("", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x"):
        reply = httpx.get(f"{web.base_url}/metrics", headers={"Authorization": given}, timeout=60)
        assert (reply.status_code, reply.json()["code"]) == (401, "bad_metrics_token")


def test_requests_are_counted_by_the_template_of_their_route(web: System) -> None:
    for path in ("/a/one-secret-link", "/a/another-secret-link", "/nothing/here", "/static/no.css"):
        httpx.get(web.base_url + path, timeout=60)
    httpx.request("PROPFIND", f"{web.base_url}/healthz")
    # What is no method of HTTP does not come as far.
    assert httpx.request("BREW", f"{web.base_url}/healthz").status_code == 400
    metrics = samples(web)
    counts = {
        name: n for name, n in metrics.items() if name.startswith("likewise_request_seconds_c")
    }

    def count(method: str, route: str, status: str) -> float:
        labels = f'method="{method}",route="{route}",status="{status}"'
        return counts[f"likewise_request_seconds_count{{{labels}}}"]

    assert count("GET", "/a/{link}", "404") == 2
    assert count("GET", "none", "404") >= 1
    assert count("GET", "/static", "404") == 1
    assert any('method="other"' in name for name in counts)
    assert not [name for name in metrics if "secret" in name or "nothing" in name]


def test_figures_of_the_database(web: System) -> None:
    owner = an_account()
    campaign = a_campaign(owner, a_collection(owner), budget=20)
    with httpx.Client(base_url=web.base_url, timeout=30) as http:
        who = a_session(http, campaign)  # type: ignore[arg-type]
        assert submit(http, who, a_lease(http, who)).is_success  # type: ignore[arg-type]
        a_lease(http, who)  # type: ignore[arg-type]
    recruitment = a_recruitment(owner, campaign)
    a_payment(recruitment, a_submission(recruitment))
    began = datetime.now(UTC) - timedelta(seconds=100)
    done = began + timedelta(seconds=8)
    values = {"campaign_id": campaign.id}
    with transaction() as session:
        session.add(Job(**values, state="done", started_at=began, finished_at=done))
        session.add(Job(**values, state="queued", created_at=began))
        session.execute(text("INSERT INTO outbox (task, arguments, created_at) VALUES "
                             "('t', '{}', now() - interval '70 seconds')"))  # fmt: skip
    metrics = samples(web)
    assert metrics["likewise_database_up{}"] == 1
    assert metrics["likewise_leases{}"] == 1
    assert metrics['likewise_answers{state="submitted"}'] == 1
    assert 70 <= metrics["likewise_outbox_oldest_seconds{}"] < 100
    assert metrics['likewise_jobs{kind="learn",state="queued"}'] == 1
    labels = 'kind="learn",queue="learning",state="queued"'
    assert 100 <= metrics[f"likewise_job_oldest_seconds{{{labels}}}"] < 130
    assert metrics['likewise_job_seconds_sum{kind="learn"}'] == 8
    assert metrics['likewise_job_seconds_count{kind="learn"}'] == 1
    payment = 'currency="USD",state="held"'
    assert metrics[f"likewise_payments{{{payment}}}"] == 1
    assert metrics[f"likewise_payments_cents{{{payment}}}"] == 50
    assert metrics['likewise_database_connections{state="idle"}'] >= 1
    assert metrics["likewise_database_connections_limit{}"] == 34
