"""Very many bonuses of one submission cost those who wait for theirs next to nothing."""

from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import func, select, text, update
from sqlalchemy.orm import Session

from app.core.database import transaction
from app.recruitment.bonus_work import BONUSES
from app.recruitment.models import Payment
from testbed.builders import a_campaign, a_payment, a_recruitment, a_submission, an_account

pytestmark = pytest.mark.usefixtures("environment")
N_BONUSES = 1_000
# Rows read, kept or not, for each bonus: itself, and one of each index.
MOST_ROWS = 10 * N_BONUSES
COPIES = """
INSERT INTO payment (id, campaign_id, recruitment_id, submission_id, kind, rule, amount_cents,
                     fee_cents, currency, reason, state, due_at)
SELECT gen_random_uuid(), campaign_id, recruitment_id, submission_id, kind, 'hand:' || n, 1, 0,
       currency, reason, 'due', now() - interval '1 hour'
FROM payment, generate_series(1, :n) n WHERE id = :id
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
        session.execute(text(COPIES), {"n": N_BONUSES, "id": payment.id})
        due = select(Payment.id).where(Payment.state == "due").order_by(Payment.id)
        return list(session.scalars(due))


def rows_read(session: Session) -> int:
    """By the statement that looks for the next bonus, in all steps of its plan."""
    due = BONUSES.due(()).limit(1).with_for_update(of=Payment, skip_locked=True)
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
        assert rows_read(session) < MOST_ROWS
        session.execute(update(Payment).where(Payment.id == bonuses[0]).values(state="parked"))
        # Now all of them wait.
        assert rows_read(session) < MOST_ROWS


def test_the_indexes_match_the_statement_as_it_is_sent(bonuses: list[UUID]) -> None:
    """With its parameters: a plan for any values of them could not use a partial index."""
    with transaction() as session:
        sent = str(BONUSES.due(()).compile(dialect=session.get_bind().dialect))
    assert "kind = 'bonus'" in sent
    assert "state IN ('due', 'running')" in sent
    assert "state IN ('running', 'parked')" in sent


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
