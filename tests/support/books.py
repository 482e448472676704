"""Three records of who was paid what: the workers' own, the ledger, the platform's journal."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
from sqlalchemy import func, select, update

from app.annotation.models import AnnotatorIdentity
from app.core.database import transaction
from app.recruitment.models import ChannelCall, Payment, Recruitment, Submission
from emulators.mturk.state import State as Turk
from likewise.marketplace import WorkSession
from likewise.simulation import AnnotatorClient

# More than a look at a platform may take before it is anybody's again.
LONG_SECONDS = 10

# Assignment, worker, kind, cents: the same payment twice counts twice.
Paid = Counter[tuple[str, str, str, int]]


def owed_to_workers(log: Iterable[WorkSession]) -> Paid:
    """By what those who worked remember."""
    owed: Paid = Counter()
    for stint in log:
        reward, bonus = stint.earned_cents
        for kind, cents in (("reward", reward), ("bonus", bonus)):
            if cents:
                owed[stint.place.assignment, stint.place.worker, kind, cents] += 1
    return owed


def paid_by_ledger(campaign_id: UUID) -> Paid:
    """Fails where anything in the ledger is not paid."""
    query = (
        select(Payment, Submission.external_id, AnnotatorIdentity.external_id)
        .join(Submission, Payment.submission_id == Submission.id)
        .join(AnnotatorIdentity, AnnotatorIdentity.annotator_id == Payment.annotator_id)
        .where(Payment.campaign_id == campaign_id)
    )
    every = select(func.count()).where(Payment.campaign_id == campaign_id)
    with transaction() as session:
        rows = session.execute(query).all()
        n_payments = session.scalar(every)
    assert len(rows) == n_payments, "payments without a submission or a person"
    assert {payment.state for payment, _, _ in rows} <= {"paid"}
    return Counter(
        (assignment, worker or "", payment.kind, payment.amount_cents)
        for payment, assignment, worker in rows
    )


def paid_by_mturk(turk: Turk) -> Paid:
    return Counter(
        (entry.assignment_id, entry.worker_id, entry.kind, int(entry.amount * 100))
        for entry in turk.journal
        if entry.kind in ("reward", "bonus")
    )


def hurry() -> None:
    """What failed again and again waits for minutes, looks at a platform among it: have it tried
    now. Payments that are looked for keep their time."""
    now = datetime.now(UTC)
    with transaction() as session:
        session.execute(
            update(Payment).where(Payment.state == "due", ~Payment.unsure).values(due_at=now)
        )
        session.execute(update(ChannelCall).where(ChannelCall.state == "due").values(due_at=now))
        waits_long = Recruitment.poll_at > now + timedelta(seconds=LONG_SECONDS)
        session.execute(
            update(Recruitment).where(Recruitment.poll_failures > 0, waits_long).values(poll_at=now)
        )


class Requester(AnnotatorClient):
    """The owner of a campaign, by the API, who tries again while the server is away."""

    tries = 90

    def __init__(self, http: httpx.Client, token: str, campaign_id: UUID) -> None:
        super().__init__(http)
        self.token, self.root = token, f"/api/v1/campaigns/{campaign_id}"
        self._n_posts = 0

    def get(self, path: str) -> dict[str, Any]:
        return self._call("GET", f"{self.root}{path}")

    def put(self, path: str, body: object) -> dict[str, Any]:
        return self._call("PUT", f"{self.root}{path}", json=body)

    def post(self, path: str, body: object = None) -> dict[str, Any]:
        self._n_posts += 1
        headers = {"Idempotency-Key": f"requester-{self._n_posts:06d}"}
        return self._call("POST", f"{self.root}{path}", json=body, headers=headers)
