"""Very many bonuses for work on the MTurk emulator, paid by threads as the recruiter does."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

from sqlalchemy import func, select, update

from app.accounts.models import Account
from app.annotation.models import Annotator, AnnotatorIdentity, Assignment
from app.campaigns.models import Campaign
from app.core.database import locked, transaction
from app.recruitment import ledger
from app.recruitment.ledger import NewPayment
from app.recruitment.models import Payment, Posting, Recruitment, Submission
from app.recruitment.people import person_hash
from app.recruitment.steps import work_once
from emulators.mturk import market
from emulators.mturk.control import NewWorkers, add_workers
from emulators.mturk.faults import FaultRule, FaultSettings
from emulators.mturk.records import Assignment as Held
from emulators.mturk.server import Emulator
from testbed.recruits import opened

THREADS = 6
# A fifth of the calls fails before its effect, a fifth after it.
FAULTS = FaultSettings(
    seed=2,
    calls=[
        FaultRule(kind="throttle", share=0.06),
        FaultRule(kind="error_before", share=0.08),
        FaultRule(kind="timeout_before", share=0.06),
        FaultRule(kind="error_after", share=0.12),
        FaultRule(kind="timeout_after", share=0.08),
    ],
    hold_seconds=0.05,
)


def paid_work(emulator: Emulator, owner: Account, campaign: Campaign, people: int) -> Recruitment:
    """A recruitment in which so many people have done what is asked of them, and were paid."""
    recruitment = opened(
        owner,
        campaign,
        places=people,
        spend_limit_cents=10**8,
        settings={"keep_low_fee": False, "exclude_former": False},
    )
    [hit] = emulator.state.hits.values()
    with emulator.state.lock:
        held = [
            market.accept(emulator.state, worker, hit)
            for worker in add_workers(emulator.state, NewWorkers(count=people))
        ]
        for turk_assignment in held:
            market.submit(emulator.state, turk_assignment, [("likewise", "done")])
            market.approve(emulator.state, turk_assignment, None, emulator.state.clock.now())
    with transaction() as session:
        posting = session.scalars(select(Posting)).one()
        for position, turk_assignment in enumerate(held):
            annotator = Annotator(campaign_id=campaign.id, position=position)
            session.add(annotator)
            session.flush()
            hashed = person_hash(recruitment, turk_assignment.worker_id)
            assignment = _assignment(campaign, recruitment, posting, annotator, turk_assignment)
            identity = AnnotatorIdentity(
                annotator_id=annotator.id,
                campaign_id=campaign.id,
                channel="mturk",
                key_hash=hashed,
                external_id=turk_assignment.worker_id,
            )
            session.add_all([assignment, identity])
            session.flush()
            session.add(
                Submission(
                    recruitment_id=recruitment.id,
                    posting_id=posting.id,
                    assignment_id=assignment.id,
                    external_id=turk_assignment.assignment_id,
                    person_hash=hashed,
                    state="approved",
                )
            )
    return recruitment


def _assignment(
    campaign: Campaign,
    recruitment: Recruitment,
    posting: Posting,
    annotator: Annotator,
    turk_assignment: Held,
) -> Assignment:
    return Assignment(
        campaign_id=campaign.id,
        annotator_id=annotator.id,
        recruitment_id=recruitment.id,
        posting_id=posting.id,
        channel="mturk",
        external_id=turk_assignment.assignment_id,
        state="completed",
        target=2,
        n_answered=2,
        completion_code="ABCD",
    )


def owe_bonuses(recruitment: Recruitment, each: int) -> dict[tuple[str, int], str]:
    """So many bonuses for everybody; their tokens by the platform's assignment and cents. Amounts
    differ, so that a payment to the wrong one would show."""
    payments: dict[tuple[str, int], str] = {}
    with transaction() as session:
        locked_recruitment = locked(session, Recruitment, recruitment.id)
        rows = session.scalars(select(Submission).order_by(Submission.id)).all()
        for number, row in enumerate(rows):
            for k in range(each):
                cents = 1 + number % 97 + 100 * k
                bonus = NewPayment("bonus", f"test:{k}", cents, f"Bonus {k}")
                payment = ledger.owe(
                    session,
                    locked_recruitment,
                    bonus,
                    assignment=session.get(Assignment, row.assignment_id),
                    submission=row,
                )
                payments[row.external_id, cents] = payment.id.hex
    return payments


def pay_all(threads: int = THREADS) -> None:
    """Threads do what is due until nothing is; nobody waits for a second attempt's time."""
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            if not work_once():
                over.wait(0.02)

    with ThreadPoolExecutor(threads) as pool:
        working = [pool.submit(work) for _ in range(threads)]
        try:
            while _hurry() and not any(future.done() for future in working):
                over.wait(0.2)
        finally:
            over.set()
        for future in working:
            future.result()


def _hurry() -> int:
    """Have all that waits be tried now; how many are not paid yet."""
    with transaction() as session:
        session.execute(
            update(Payment).where(Payment.state == "due").values(due_at=datetime.now(UTC))
        )
        unpaid = select(func.count()).where(Payment.state.in_(("due", "running")))
        return session.scalar(unpaid) or 0


def paid_bonuses(emulator: Emulator) -> list[tuple[str, int, str]]:
    """Assignment, cents and token of each bonus in the emulator's journal."""
    return [
        (entry.assignment_id, int(entry.amount * 100), entry.token or "")
        for entry in emulator.state.journal
        if entry.kind == "bonus"
    ]


def total(emulator: Emulator, *kinds: str) -> Decimal:
    return sum(
        (entry.amount for entry in emulator.state.journal if entry.kind in kinds), Decimal(0)
    )


def ledger_cents(campaign_id: UUID) -> int:
    with transaction() as session:
        amount = select(func.sum(Payment.amount_cents)).where(
            Payment.campaign_id == campaign_id, Payment.state == "paid"
        )
        return session.scalar(amount) or 0
