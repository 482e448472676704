"""Laws of paying, whatever happens in whatever order: nobody is paid twice, nobody is forgotten.

Dispatchers claim, ask the platform, and die before, between and after; slow ones come back when
others have taken over; the platform loses requests and answers, and pays by itself.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import select, update

from app.accounts.models import Account
from app.annotation.models import Annotator, AnnotatorIdentity, Assignment
from app.campaigns.models import Campaign
from app.core.database import locked, transaction
from app.core.errors import Conflict
from app.core.work import DueWork
from app.recruitment import accounts, bonus_work, ledger, reconcile
from app.recruitment.bonus_work import BONUSES, BonusAttempt
from app.recruitment.channel import (
    BonusOrder,
    BonusOutcome,
    ChannelUnavailable,
    OutcomeUnknown,
    PlatformSubmission,
    PostingStatus,
    SubmissionRef,
)
from app.recruitment.costs import bonus_fee
from app.recruitment.models import Payment, Posting, Recruitment, Submission
from app.recruitment.people import person_hash
from app.recruitment.work import REWARDS, RewardAttempt
from testbed.builders import a_campaign, a_recruitment, an_account

Fate = Literal["done", "not_now", "lost", "answer_lost", "dies_before", "dies_after"]
FATES = st.sampled_from(("done", "not_now", "lost", "answer_lost", "dies_before", "dies_after"))
PLACES, LIMIT = 4, 4 * 120 + 400


class Died(BaseException):
    """The dispatcher was killed at this moment."""


@dataclass
class Platform:
    """Stands in for a channel. `fate`: what happens to the next request that changes something."""

    bonuses_repeatable: bool
    fate: Fate = "done"
    bonus_batch: int = 1
    approved: Counter[str] = field(default_factory=Counter)
    paid: list[tuple[str, str, int]] = field(default_factory=list)
    people: dict[str, str] = field(default_factory=dict)

    def submission(self, ref: SubmissionRef) -> PlatformSubmission:
        return self.platform_submission(ref.external_id)

    def platform_submission(self, external_id: str) -> PlatformSubmission:
        state: Any = "approved" if self.approved[external_id] else "submitted"
        return PlatformSubmission(external_id, self.people[external_id], state)

    def approve(self, ref: SubmissionRef, message: str) -> None:
        self._meets_its_fate()
        if not self.approved[ref.external_id]:
            self.approved[ref.external_id] += 1
        self._answers(ChannelUnavailable("no answer"))

    def pay_bonuses(self, orders: Sequence[BonusOrder]) -> list[BonusOutcome]:
        try:
            self._meets_its_fate()
        except ChannelUnavailable as error:
            # Whether it was lost cannot be told from an answer that was lost.
            unknown = error if self.fate == "not_now" else OutcomeUnknown(str(error))
            return [BonusOutcome(order.token, error=unknown) for order in orders]
        for order in orders:
            known = any(token == order.token for token, _, _ in self.paid)
            if not (known and self.bonuses_repeatable):
                entry = (order.token, order.submission.external_id, order.amount_cents)
                self.paid.append(entry)
        try:
            self._answers(OutcomeUnknown("no answer"))
        except OutcomeUnknown as error:
            return [BonusOutcome(order.token, error=error) for order in orders]
        return [BonusOutcome(order.token) for order in orders]

    def find_bonus(self, order: BonusOrder) -> str | None:
        """By token on the one; by what is shown beside the earlier ones on the other."""
        mine = [bonus for bonus in self.paid if bonus[1] == order.submission.external_id]
        if self.bonuses_repeatable:
            return "" if any(token == order.token for token, _, _ in mine) else None
        shown = Counter(cents for _, _, cents in mine) - Counter(order.earlier_cents)
        return "" if shown[order.amount_cents] else None

    def _meets_its_fate(self) -> None:
        if self.fate == "dies_before":
            raise Died
        if self.fate in ("lost", "not_now"):
            raise ChannelUnavailable("no answer")

    def _answers(self, error: Exception) -> None:
        if self.fate == "dies_after":
            raise Died
        if self.fate == "answer_lost":
            raise error


class Paying(RuleBasedStateMachine):
    """One recruitment of four people, who have handed in."""

    owner: ClassVar[Account]
    campaign: ClassVar[Campaign]
    patch: ClassVar[pytest.MonkeyPatch]

    @initialize(repeatable=st.booleans())
    def begin(self, repeatable: bool) -> None:
        self.platform = Platform(repeatable)
        self.patch.setattr(accounts, "open_channel", lambda *_: self.platform)
        self.attempts: list[RewardAttempt | BonusAttempt] = []
        recruitment = a_recruitment(
            self.owner, self.campaign, places=PLACES, reward_cents=100, spend_limit_cents=LIMIT
        )
        self.recruitment_id, self.rows = recruitment.id, list[UUID]()
        with transaction() as session:
            # Others of the machine's runs stand in the same table: what they left is over.
            session.execute(
                update(Payment)
                .where(
                    Payment.recruitment_id != recruitment.id, Payment.state.in_(("due", "running"))
                )
                .values(state="parked")
            )
            posting = Posting(
                recruitment_id=recruitment.id, number=1, places=PLACES, state="open",
                external_id=uuid4().hex,
            )  # fmt: skip
            session.add(posting)
            session.flush()
            self.posting_id = posting.id
            for _ in range(PLACES):
                self._person(session, recruitment, posting)
        self.poll()
        self.owe_bonus(0, 50)
        self.owe_bonus(1, 70)

    def _person(self, session: Any, recruitment: Recruitment, posting: Posting) -> None:
        place, person = uuid4().hex, "A" + uuid4().hex.upper()
        self.platform.people[place] = person
        annotator = Annotator(campaign_id=self.campaign.id, position=uuid4().int % 2**31)
        session.add(annotator)
        session.flush()
        assignment = Assignment(
            campaign_id=self.campaign.id, annotator_id=annotator.id, recruitment_id=recruitment.id,
            posting_id=posting.id, channel="mturk", external_id=place, state="completed",
            target=2, n_answered=2, completion_code="ABCD",
        )  # fmt: skip
        identity = AnnotatorIdentity(
            annotator_id=annotator.id, campaign_id=self.campaign.id, channel="mturk",
            key_hash=person_hash(recruitment, person), external_id=person,
        )  # fmt: skip
        session.add_all([assignment, identity])
        session.flush()

    # --- what the platform and the requester do ---------------------------------------------

    @rule()
    def poll(self) -> None:
        """What was handed in becomes known, and its reward owed."""
        submissions = [self.platform.platform_submission(place) for place in self.platform.people]
        status = PostingStatus("open", PLACES, PLACES, 0)
        with transaction() as session:
            seen = reconcile.Seen(self.posting_id, status, submissions, datetime.now(UTC))
            reconcile.take_in(session, self.recruitment_id, seen)

    @rule(number=st.integers(0, PLACES - 1))
    def platform_pays_by_itself(self, number: int) -> None:
        place = list(self.platform.people)[number]
        self.platform.approved[place] = max(1, self.platform.approved[place])

    @rule(number=st.integers(0, PLACES - 1), cents=st.sampled_from((50, 50, 70)))
    def owe_bonus(self, number: int, cents: int) -> None:
        place = list(self.platform.people)[number]
        with transaction() as session:
            recruitment = locked(session, Recruitment, self.recruitment_id)
            row = session.scalar(select(Submission).where(Submission.external_id == place))
            if row is None:
                return
            owed = ledger.NewPayment("bonus", f"hand:{uuid4().hex}", cents, "Thanks")
            assignment = session.get(Assignment, row.assignment_id)
            ledger.owe(session, recruitment, owed, assignment=assignment, submission=row)

    @rule(number=st.integers(0, 20))
    def cancel_something(self, number: int) -> None:
        payments = self._payments()
        if payments:
            with transaction() as session:
                try:
                    ledger.cancel(session, payments[number % len(payments)].id, "Not after all")
                except Conflict:
                    session.rollback()

    # --- what dispatchers do ----------------------------------------------------------------

    @rule()
    def claim_reward(self) -> None:
        self._keep(REWARDS)

    @rule(fate=FATES)
    def pay_a_bonus(self, fate: Fate) -> None:
        """What usually follows: claimed as soon as it may be, and done at once."""
        self.time_passes()
        attempt = BONUSES.claim()
        if attempt is not None:
            self._perform(attempt, fate)

    @rule()
    def claim_bonus(self) -> None:
        self._keep(BONUSES)

    def _keep(self, kind: DueWork[Any, Any]) -> None:
        attempt = kind.claim()
        if attempt is not None:
            self.attempts.append(attempt)

    @rule()
    def time_passes(self) -> None:
        """Claims run out, waits are over."""
        with transaction() as session:
            session.execute(
                update(Payment)
                .where(Payment.recruitment_id == self.recruitment_id)
                .where(Payment.state.in_(("due", "running")))
                .values(due_at=datetime.now(UTC))
            )

    @precondition(lambda self: self.attempts)
    @rule(number=st.integers(0, 9), fate=FATES)
    def perform(self, number: int, fate: Fate) -> None:
        """Any claim that somebody still holds, also one that others have taken over since."""
        self._perform(self.attempts.pop(number % len(self.attempts)), fate)

    def _perform(self, attempt: RewardAttempt | BonusAttempt, fate: Fate) -> None:
        self.platform.fate = fate
        try:
            if isinstance(attempt, RewardAttempt):
                REWARDS.complete(attempt)
            else:
                BONUSES.complete(attempt)
        except Died:
            pass
        finally:
            self.platform.fate = "done"

    # --- laws -------------------------------------------------------------------------------

    def _payments(self) -> list[Payment]:
        with transaction() as session:
            query = select(Payment).where(Payment.recruitment_id == self.recruitment_id)
            return list(session.scalars(query.order_by(Payment.id)))

    @invariant()
    def nobody_is_paid_twice(self) -> None:
        if hasattr(self, "platform"):
            assert all(
                n == 1 for n in Counter(token for token, _, _ in self.platform.paid).values()
            )

    @invariant()
    def the_books_claim_nothing_that_was_not_paid(self) -> None:
        if not hasattr(self, "platform"):
            return
        tokens = {token for token, _, _ in self.platform.paid}
        for payment in self._payments():
            if payment.state == "paid" and payment.kind == "bonus":
                assert payment.id.hex in tokens
            elif payment.state == "paid":
                assert self.platform.approved[payment.external_id] == 1
            elif payment.state in ("held", "cancelled"):
                assert payment.id.hex not in tokens

    @invariant()
    def the_limit_is_kept(self) -> None:
        if not hasattr(self, "platform"):
            return
        bonuses = sum(cents + bonus_fee("mturk", cents) for _, _, cents in self.platform.paid)
        assert PLACES * 120 + bonuses <= LIMIT

    def teardown(self) -> None:
        """Once nothing fails any more, everyone has what they are owed, or a person is asked."""
        if not hasattr(self, "platform"):
            return
        while self.attempts:
            self._perform(self.attempts.pop(), "done")
        self.poll()
        for _ in range(100):
            self._somebody_looks()
            if not any(payment.state in ("due", "running") for payment in self._payments()):
                break
            self.time_passes()
            self.claim_reward()
            self.claim_bonus()
            while self.attempts:
                self._perform(self.attempts.pop(), "done")
        self.poll()
        self.nobody_is_paid_twice()
        self.the_books_claim_nothing_that_was_not_paid()
        assert all(self.platform.approved[place] == 1 for place in self.platform.people)
        tokens = {token for token, _, _ in self.platform.paid}
        for payment in self._payments():
            assert payment.state in ("paid", "held", "cancelled")
            if payment.kind == "bonus":
                assert (payment.id.hex in tokens) == (payment.state == "paid")

    def _somebody_looks(self) -> None:
        """At the platform's own records, for what nobody knows here; what was not paid goes on."""
        tokens = {token for token, _, _ in self.platform.paid}
        for payment in self._payments():
            if payment.state == "parked":
                assert not self.platform.bonuses_repeatable
                paid = payment.id.hex in tokens
                with transaction() as session:
                    ledger.settle(session, payment.id, paid=paid, why="Seen there")
                    if not paid:
                        ledger.release(session, payment.id)


@pytest.fixture
def laws(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    Paying.owner = an_account()
    Paying.campaign = a_campaign(Paying.owner, budget=40, grids_per_assignment=2)
    Paying.patch = monkeypatch
    monkeypatch.setattr(bonus_work, "LOOKS", 4)


def test_paying_keeps_its_laws(laws: None) -> None:
    run_state_machine_as_test(
        Paying,
        settings=settings(
            max_examples=20,
            stateful_step_count=30,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
