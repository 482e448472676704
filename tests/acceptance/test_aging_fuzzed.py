"""Whatever stands in the rows that are checked on platforms, or that go or change with time, the
others' go on."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import cycle
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import ColumnElement, and_, func, insert, or_, select, update

from app.accounts.models import BrowserSession
from app.annotation.models import Annotator, AnnotatorIdentity, Answer, Assignment
from app.campaigns.models import Campaign, Grid
from app.collections.garbage import discard_below, remove_discarded
from app.collections.models import Discard
from app.core.clock import AHEAD
from app.core.database import Base, transaction
from app.core.idempotency import StoredResponse
from app.core.settings import get_settings
from app.core.storage import has_object, put_object
from app.core.sweeps import ROWS_AT_ONCE
from app.operations.models import CspViolation
from app.recruitment.channel import ChannelUnavailable
from app.recruitment.models import Posting, Recruitment
from app.recruitment.steps import poll_once
from testbed.builders import a_campaign, a_recruitment, an_account
from tests.support.random_rows import RandomRows, before
from tests.support.scale import FULL

pytestmark = pytest.mark.usefixtures("environment")
N_ROWS = 10_000 if FULL else 60
NOW = datetime.now(UTC) - timedelta(hours=1)


def test_checks_of_recruitments_by_chance_stop_nobody_elses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unreachable(*_: object) -> Any:
        raise ChannelUnavailable("Nothing is reachable in this test.")

    monkeypatch.setattr("app.recruitment.accounts.open_channel", unreachable)
    owner, quiet_owner = an_account("greedy@example.org"), an_account("quiet@example.org")
    campaign = a_campaign(owner)
    first = a_recruitment(owner, campaign)
    rows = RandomRows(0, {
        "recruitment.campaign_id": campaign.id,
        "recruitment.channel": lambda rng: rng.choice(("mturk", "prolific")),
        "recruitment.channel_account_id": first.channel_account_id,
        "recruitment.password_hash": None,
        "recruitment.state": lambda rng: rng.choice(("draft", "open", "paused", "stopped")),
        "recruitment.poll_at": before(NOW),
    })  # fmt: skip
    assert rows.write(Recruitment, N_ROWS) == N_ROWS
    with transaction() as session:
        recruitments = session.scalars(select(Recruitment.id)).all()
    given = {
        "posting.recruitment_id": lambda rng: rng.choice(recruitments),
        "posting.state": lambda rng: rng.choice(("planned", "open", "closed")),
        "posting.compensates": None,
        "posting.amount_cents": None,
    }
    assert RandomRows(1, given).write(Posting, N_ROWS) == N_ROWS
    quiet = _polled_recruitment(quiet_owner)
    for _ in range(3 * N_ROWS):
        if not poll_once():
            break
    with transaction() as session:
        due = select(func.count()).where(Recruitment.poll_at <= func.now())
        assert session.scalar(due) == 0
        assert session.get_one(Recruitment, quiet).poll_failures == 1


def _polled_recruitment(owner: Any) -> UUID:
    """Of somebody else, due after those by chance, with a posting on a platform."""
    recruitment = a_recruitment(owner, a_campaign(owner))
    with transaction() as session:
        session.get_one(Recruitment, recruitment.id).poll_at = datetime.now(UTC)
        session.add(
            Posting(
                recruitment_id=recruitment.id, number=1, places=3, external_id="HIT1", state="open"
            )
        )
    return recruitment.id


def test_notes_by_chance_stop_the_removal_of_nobody_elses_objects() -> None:
    owner = an_account("greedy@example.org")
    mine = a_campaign(owner).collection_id
    given = {
        "discard.collection_id": lambda rng: rng.choice((None, mine)),
        "discard.refused": None,
    }
    assert RandomRows(2, given).write(Discard, N_ROWS) == N_ROWS
    put_object("stays/x", b"x")
    put_object("goes/x", b"x")
    with transaction() as session:
        discard_below(session, "goes")
    for _ in range(2 + 2 * N_ROWS // ROWS_AT_ONCE):
        with transaction() as session:
            remove_discarded(session)
    with transaction() as session:
        assert session.scalar(select(func.count()).where(Discard.refused.is_(None))) == 0
        assert session.scalar(select(func.count()).where(Discard.refused == "")) == 0
    assert (has_object("stays/x"), has_object("goes/x")) == (True, False)


def test_rows_by_chance_go_when_they_are_old_and_others_stay() -> None:
    from workers.dispatcher import SWEEPS, run_sweeps

    campaign = _work_by_chance(0)
    counted = {table: _counted(table, old) for table, old in _too_old().items()}
    assert all(n_old > 0 for n_old, _ in counted.values()), counted
    for _ in range(2 + 8 * N_ROWS // ROWS_AT_ONCE):
        for sweeps in SWEEPS.values():
            run_sweeps(sweeps)
        if not any(_counted(*item)[0] for item in _too_old().items()):
            break
    for table, old in _too_old().items():
        is_deleted = table in (StoredResponse, BrowserSession, CspViolation)
        rest = counted[table][1] if is_deleted else sum(counted[table])
        assert _counted(table, old) == (0, rest), table
    with transaction() as session:
        known = AnnotatorIdentity.external_id.is_not(None)
        of_campaign = AnnotatorIdentity.campaign_id == campaign
        assert session.scalar(select(func.count()).where(known, of_campaign)) == 0


def _work_by_chance(seed: int) -> UUID:
    """Rows of each table, in a campaign that ended long ago; returns its id."""
    owner = an_account("greedy@example.org")
    campaign = a_campaign(owner)
    annotators, assignments = _people(campaign.id), _people_of(Assignment)
    leased, identified, at_work = cycle(annotators), cycle(annotators), cycle(annotators)
    rows = RandomRows(seed, {
        "kept_reply.account_id": owner.id,
        "browser_session.account_id": owner.id,
        "assignment.campaign_id": campaign.id,
        "assignment.annotator_id": lambda _: next(at_work),
        "assignment.state": lambda rng: rng.choice(("open", "completed", "returned")),
        "assignment.recruitment_id": None,
        "assignment.posting_id": None,
        "answer.campaign_id": campaign.id,
        "answer.grid_id": _a_grid(campaign.id),
        "answer.annotator_id": lambda _: next(leased),
        "answer.assignment_id": lambda _: next(assignments),
        "answer.state": lambda rng: rng.choice(("leased", "returned")),
        "answer.groups": None,
        "annotator_identity.campaign_id": campaign.id,
        "annotator_identity.annotator_id": lambda _: next(identified),
    })  # fmt: skip
    for table in (
        StoredResponse, BrowserSession, CspViolation, AnnotatorIdentity, Assignment, Answer,
    ):  # fmt: skip
        assert rows.write(table, N_ROWS) == N_ROWS, table
    with transaction() as session:
        ended = datetime.now(UTC) - timedelta(days=get_settings().retention_days + 1)
        values = {"state": "finished", "finished_at": ended}
        session.execute(update(Campaign).where(Campaign.id == campaign.id).values(values))
    return campaign.id


def _people(campaign_id: UUID) -> list[UUID]:
    with transaction() as session:
        values = [{"campaign_id": campaign_id, "position": number} for number in range(2 * N_ROWS)]
        return list(session.scalars(insert(Annotator).returning(Annotator.id), values))


def _people_of(table: type[Assignment]) -> Iterator[UUID]:
    """The ids of its rows, over and over, read when the first is asked for."""
    with transaction() as session:
        ids = session.scalars(select(table.id)).all()
    yield from cycle(ids)


def _a_grid(campaign_id: UUID) -> int:
    with transaction() as session:
        return session.scalars(select(Grid.id).where(Grid.campaign_id == campaign_id)).first() or 0


def _too_old() -> dict[type[Base], ColumnElement[bool]]:
    """Of each table: what a sweep ends, or puts right because no clock can have set it."""
    now = datetime.now(UTC)
    idle = now - timedelta(hours=get_settings().session_idle_hours)
    lease = now + timedelta(seconds=get_settings().lease_seconds) + 2 * AHEAD
    return {
        StoredResponse: StoredResponse.created_at < now - timedelta(hours=24),
        BrowserSession: or_(BrowserSession.expires_at < now, BrowserSession.seen_at < idle),
        CspViolation: CspViolation.last_at < now - timedelta(days=90),
        Assignment: and_(
            Assignment.state != "returned",
            or_(Assignment.seen_at > now + 2 * AHEAD, Assignment.handed_in_at > now + 2 * AHEAD),
        ),
        Answer: and_(Answer.state == "leased", Answer.lease_expires_at > lease),
    }


def _counted(table: type[Base], old: ColumnElement[bool]) -> tuple[int, int]:
    """How many rows of a table are too old, and how many are not, a NULL among these."""
    with transaction() as session:
        is_old = func.coalesce(old, False)
        query = select(func.count().filter(is_old), func.count().filter(~is_old))
        n_old, n_rest = session.execute(query.select_from(table)).one()
    return n_old, n_rest
