"""Very many bonuses of one submission, or calls of one recruitment, cost others who wait for theirs
next to nothing."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import func, select, text, update
from sqlalchemy.orm import Session

from app.core.database import transaction
from app.core.work import DueWork
from app.recruitment.bonus_work import BONUSES
from app.recruitment.models import ChannelCall, Payment, Submission
from app.recruitment.work import CALLS as CALLS_WORK
from testbed.builders import a_campaign, a_payment, a_recruitment, a_submission, an_account

pytestmark = pytest.mark.usefixtures("environment")
WORKS = BONUSES, CALLS_WORK
N_ROWS = 1_000
# Rows read, kept or not, for each row: itself, and one of each index.
MOST_ROWS = 10 * N_ROWS
PAYMENTS = """
INSERT INTO payment (id, campaign_id, recruitment_id, submission_id, kind, rule, amount_cents,
                     fee_cents, currency, reason, state, due_at)
SELECT gen_random_uuid(), campaign_id, recruitment_id, submission_id, kind, 'hand:' || n, 1, 0,
       currency, reason, 'due', now() - interval '1 hour'
FROM payment, generate_series(1, :n) n WHERE id = :id
"""
CALLS = """
INSERT INTO channel_call (id, recruitment_id, posting_id, submission_id, action, state)
SELECT gen_random_uuid(), :recruitment, :posting, :submission, :action, 'due'
FROM generate_series(1, :n)
"""


@pytest.fixture
def bonuses() -> list[UUID]:
    """Due bonuses of one submission, in the order in which they are to be paid.

    They have just come: the database has no statistics of them yet, and plans for few.
    """
    owner = an_account()
    recruitment = a_recruitment(owner, a_campaign(owner))
    payment = a_payment(recruitment, a_submission(recruitment))
    with transaction() as session:
        session.execute(text(PAYMENTS), {"n": N_ROWS, "id": payment.id})
        due = select(Payment.id).where(Payment.state == "due").order_by(Payment.id)
        return list(session.scalars(due))


def rows_read(session: Session, work: DueWork[Any, Any]) -> int:
    """By the statement that looks for the next row, in all steps of its plan."""
    due = work.due(()).limit(1).with_for_update(of=work.table, skip_locked=True)
    statement = due.compile(
        dialect=session.get_bind().dialect, compile_kwargs={"literal_binds": True}
    )
    explained = session.scalar(text(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}"))
    return _rows(explained[0]["Plan"])


def _rows(plan: dict[str, Any]) -> int:
    own = plan["Actual Rows"] + sum(n for key, n in plan.items() if key.startswith("Rows Removed"))
    return int(own * plan["Actual Loops"]) + sum(map(_rows, plan.get("Plans", ())))


def next_due(session: Session) -> UUID | None:
    return session.scalars(BONUSES.due(()).limit(1)).first()


def test_looking_for_the_next_reads_no_bonus_twice_for_each_other(bonuses: list[UUID]) -> None:
    with transaction() as session:
        assert rows_read(session, BONUSES) < MOST_ROWS
        session.execute(update(Payment).where(Payment.id == bonuses[0]).values(state="parked"))
        # Now all of them wait.
        assert rows_read(session, BONUSES) < MOST_ROWS


def test_the_indexes_match_the_statements_as_they_are_sent(bonuses: list[UUID]) -> None:
    """With its parameters: a plan for any values of them could not use a partial index."""
    with transaction() as session:
        dialect = session.get_bind().dialect
        bonuses_due, calls_due = (str(work.due(()).compile(dialect=dialect)) for work in WORKS)
    assert "kind = 'bonus'" in bonuses_due
    assert "state IN ('due', 'running')" in bonuses_due
    assert "state IN ('running', 'parked')" in bonuses_due
    assert calls_due.count("state IN ('due', 'running')") == 2
    assert "action != 'exclude'" in calls_due


def test_what_blocks_a_bonus_is_another_of_its_submission(bonuses: list[UUID]) -> None:
    owner = an_account("other@example.org")
    recruitment = a_recruitment(owner, a_campaign(owner))
    elsewhere = a_payment(recruitment, a_submission(recruitment)).id

    def changed(payment_id: UUID, **values: object) -> None:
        session.execute(update(Payment).where(Payment.id == payment_id).values(**values))

    with transaction() as session:
        # It has just become due, after all others.
        changed(elsewhere, state="due")
        changed(bonuses[-1], unsure=True)
        assert next_due(session) == elsewhere, "a younger one may have been paid already"
        changed(bonuses[-1], unsure=False)
        assert next_due(session) == bonuses[0]


@pytest.mark.parametrize("state", ["running", "parked"])
def test_the_bonuses_of_a_submission_are_due_one_after_the_other(
    bonuses: list[UUID], state: str
) -> None:
    with transaction() as session:
        assert next_due(session) == bonuses[0]
        first = update(Payment).where(Payment.id == bonuses[0])
        session.execute(first.values(state=state, due_at=func.now()))
        # Running, it is due again when its claim has ended, and only itself.
        assert next_due(session) == (bonuses[0] if state == "running" else None)
        session.execute(first.values(state="failed"))
        assert next_due(session) == bonuses[1]


@pytest.fixture
def submission() -> Submission:
    owner = an_account()
    return a_submission(a_recruitment(owner, a_campaign(owner)))


def ask(submission: Submission, about: str, n: int, action: str = "stop") -> list[UUID]:
    """Calls that are due, in their order. They have just come, as above."""
    subject: dict[str, UUID | None] = {"posting": None, "submission": None}
    if about == "posting":
        subject["posting"] = submission.posting_id
    if about == "submission":
        subject["submission"] = submission.id
    with transaction() as session:
        known = set(session.scalars(select(ChannelCall.id)))
        values = {"recruitment": submission.recruitment_id, "action": action, "n": n, **subject}
        session.execute(text(CALLS), values)
        every = session.scalars(select(ChannelCall.id).order_by(ChannelCall.id))
        return [call_id for call_id in every if call_id not in known]


@pytest.mark.parametrize("about", ["recruitment", "posting", "submission"])
def test_looking_for_the_next_call_reads_no_call_twice_for_each_other(
    submission: Submission, about: str
) -> None:
    first, *_ = ask(submission, about, N_ROWS)
    with transaction() as session:
        assert rows_read(session, CALLS_WORK) < MOST_ROWS
        later = func.now() + timedelta(hours=1)
        session.execute(update(ChannelCall).where(ChannelCall.id == first).values(due_at=later))
        assert next_call(session) is None
        assert rows_read(session, CALLS_WORK) < MOST_ROWS


def next_call(session: Session) -> UUID | None:
    return session.scalars(CALLS_WORK.due(()).limit(1)).first()


def due_calls(session: Session) -> set[UUID]:
    return set(session.scalars(CALLS_WORK.due(())))


def test_the_first_call_about_each_thing_is_due(submission: Submission) -> None:
    firsts = {ask(submission, about, 3)[0] for about in ("recruitment", "posting", "submission")}
    with transaction() as session:
        assert due_calls(session) == firsts
        for call_id in firsts:
            call = session.get_one(ChannelCall, call_id)
            call.state, call.due_at = "running", func.now() + timedelta(hours=1)
        session.flush()
        assert due_calls(session) == set()


def test_excluding_waits_for_others_and_lets_no_other_wait(submission: Submission) -> None:
    exclusions = ask(submission, "posting", 2, "exclude")
    with transaction() as session:
        assert due_calls(session) == set(exclusions)
    [stop] = ask(submission, "posting", 1)
    with transaction() as session:
        smaller = {call_id for call_id in exclusions if call_id < stop}
        assert due_calls(session) == {stop} | smaller
