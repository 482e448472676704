"""What browsers tell of violations: both formats, bounded in size, rate and rows, impersonal."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from redis import Redis
from sqlalchemy import select, update

from app.core.database import transaction
from app.core.settings import get_settings
from app.operations import violations
from app.operations.figures import read_figures
from app.operations.models import CspViolation
from tests.support.accounts import an_admin

PAGE = "http://testserver/campaigns/019a1b2c-0000-7000-8000-000000000001/recruit?secret=x#y"

FOREIGN = "https://evil.example/path?workerId=A1"


@pytest.fixture(autouse=True)
def no_reports_so_far(environment: dict[str, str]) -> None:
    Redis.from_url(get_settings().redis_url).flushdb()


def old(page: str = PAGE, blocked: str = FOREIGN, rule: str = "script-src-elem") -> Any:
    fields = {"document-uri": page, "blocked-uri": blocked, "effective-directive": rule}
    return {"csp-report": fields}


def new(page: str = PAGE, blocked: str = "inline") -> Any:
    body = {"documentURL": page, "blockedURL": blocked, "effectiveDirective": "script-src-attr",
            "sample": "alert('my password')"}  # fmt: skip
    return {"type": "csp-violation", "age": 1, "url": page, "user_agent": "x", "body": body}


def post(client: TestClient, report: Any, kind: str = "application/csp-report") -> int:
    headers = {"content-type": kind, "sec-fetch-site": "cross-site"}
    return client.post("/csp-reports", content=json.dumps(report), headers=headers).status_code


def rows() -> list[tuple[str, str, str, int]]:
    with transaction() as session:
        stored = session.scalars(select(CspViolation).order_by(CspViolation.directive))
        return [(row.directive, row.blocked, row.page, row.n) for row in stored]


def test_both_formats_are_counted_without_anything_personal(client: TestClient) -> None:
    assert post(client, old()) == 204
    assert post(client, old()) == 204
    assert post(client, [new(), new()], "application/reports+json") == 204
    page = "/campaigns/…/recruit"
    assert rows() == [
        ("script-src-attr", "inline", page, 2),
        ("script-src-elem", "https://evil.example", page, 2),
    ]


@pytest.mark.parametrize(
    ("page", "shape"),
    [
        ("http://testserver/a/mturk/token.of-somebody?workerId=A1", "/a/mturk/…"),
        ("http://testserver/sign-in/secret", "/sign-in/…"),
        ("http://testserver/", "/"),
        ("http://testserver/accounts", "/accounts"),
        ("https://elsewhere.example/accounts", None),
        ("http://[bad", None),
        ("about", None),
    ],
)
def test_a_page_is_told_by_its_shape(client: TestClient, page: str, shape: str | None) -> None:
    assert post(client, old(page)) == 204
    assert [row[2] for row in rows()] == ([] if shape is None else [shape])


@pytest.mark.parametrize(
    ("blocked", "kept"),
    [
        ("data", "data"),
        ("data:text/html,secret", "data"),
        ("https://user:secret@evil.example:8443/x", "https://evil.example:8443"),
        ("chrome-extension://abcdef", "other"),
        ("x" * 5000, "other"),
        ("http://<script>", "other"),
    ],
)
def test_of_what_was_blocked_the_origin_is_kept(
    client: TestClient, blocked: str, kept: str
) -> None:
    post(client, old(blocked=blocked))
    assert [row[1] for row in rows()] == [kept]


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        ("{", "application/csp-report", 422),
        ("[" * 50_000, "application/csp-report", 422),
        ("{}", "text/plain", 422),
        ('"x"', "application/csp-report", 204),
        ('[1, {"type": "csp-violation"}, {"csp-report": 1}]', "application/reports+json", 204),
        ("x" * (violations.LARGEST + 1), "application/csp-report", 413),
    ],
)
def test_nonsense_is_refused_and_kept_nowhere(
    client: TestClient, body: str, kind: str, status: int
) -> None:
    reply = client.post("/csp-reports", content=body, headers={"content-type": kind})
    assert reply.status_code == status
    assert rows() == []


def test_unknown_rules_are_other_ones(client: TestClient) -> None:
    post(client, old(rule="x" * 300))
    assert [row[0] for row in rows()] == ["other"]


def test_one_address_tells_so_much_a_minute_and_no_more(client: TestClient) -> None:
    codes = [post(client, old()) for _ in range(31)]
    assert codes == [204] * 30 + [429]


def test_made_up_hosts_do_not_fill_the_table(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(violations, "MOST_ROWS", 3)
    for number in range(6):
        post(client, old(blocked=f"https://host-{number}.example"))
    assert len(rows()) == 4
    assert ("script-src-elem", "other", "other", 3) in rows()


def test_it_is_shown_to_admins_and_prometheus_and_forgotten(client: TestClient) -> None:
    # Reads settings when it is imported.
    from workers.dispatcher import RETENTION_SECONDS, SWEEPS, run_sweeps

    post(client, old())
    an_admin(client)
    assert "https://evil.example" in client.get("/accounts").text
    line = 'likewise_csp_violations{directive="script-src-elem"} 1.0'
    assert line in read_figures().decode().splitlines()
    run_sweeps(SWEEPS[RETENTION_SECONDS])
    assert len(rows()) == 1
    with transaction() as session:
        session.execute(update(CspViolation).values(last_at=datetime.now(UTC) - timedelta(days=91)))
    run_sweeps(SWEEPS[RETENTION_SECONDS])
    assert rows() == []
