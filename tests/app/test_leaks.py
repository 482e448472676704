"""The search for secrets in logs finds each kind, and nothing in what is usual."""

from pathlib import Path

import pytest

from app.annotation.models import Annotator, AnnotatorIdentity
from app.core.database import transaction
from app.core.security import encrypt_timed, new_token, sign
from testbed.builders import a_campaign, a_recruitment, an_account, an_api_token
from testbed.leaks import leaks_in, leaks_in_logs, secrets_now

pytestmark = pytest.mark.usefixtures("environment")


def test_every_kind_is_found_by_how_it_looks() -> None:
    lines = [
        f"token {an_api_token(an_account())}",
        f"signed in with {new_token()}",
        sign("annotator", ["one", "two"]),
        encrypt_timed("link", b"one and two"),
        "smtp://mail:hunter2@mail.example.org",
        "Authorization: Bearer abcdefghijklmnopq",
        "refused A2VXYZ0123456",
        "of 60aca280709ee40ec37d4885",
    ]
    for line in lines:
        assert list(leaks_in(line, {})), line


@pytest.mark.parametrize(
    "line",
    [
        "INFO workers.tasks: job 01a20337-35a2-77b0-b173-92e7a5c912cf: attempt 1, epoch 2",
        f"sha256 {'0a' * 32}",
        '  File "/srv/app/recruitment/channels/prolific_hooks_of_a_long_name_indeed.py", line 7',
        "sqlalchemy.exc.IntegrityError: (psycopg.errors.UniqueViolation) duplicate key value",
        "postgresql://likewise:[redacted]@db/likewise",
        "http://127.0.0.1:8000 (Press CTRL+C to quit)",
    ],
)
def test_what_is_usual_tells_nothing(line: str) -> None:
    assert not list(leaks_in(line, {}))


def test_secrets_of_settings_and_database_are_known_by_their_text(tmp_path: Path) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    recruitment = a_recruitment(owner, campaign)
    with transaction() as session:
        annotator = Annotator(campaign_id=campaign.id, position=0)
        session.add(annotator)
        session.flush()
        session.add(
            AnnotatorIdentity(
                annotator_id=annotator.id,
                campaign_id=campaign.id,
                channel="mturk",
                key_hash="0" * 64,
                external_id="worker-seven",
            )
        )
    secrets = secrets_now()
    assert secrets["test-secret-of-many-letters-0123456789"] == "setting secret_key"
    assert secrets["worker-seven"] == "a worker's id"
    assert {campaign.link_token, recruitment.link_token} <= set(secrets)
    (tmp_path / "web.log").write_text("fine\nhere comes worker-seven again\n")
    (tmp_path / "worker.log").write_text("fine\n")
    (leak,) = leaks_in_logs(tmp_path, secrets)
    assert leak == "web.log, line 2 tells a worker's id: here comes worker-seven again"
