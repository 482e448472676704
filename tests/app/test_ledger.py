"""Money under concurrency and failure: paid exactly once, and no limit is ever passed."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select, text
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.core.database import locked, snapshot, transaction
from app.core.errors import Conflict
from app.recruitment import decisions, ledger, service
from app.recruitment.models import ChannelCall, Payment, Posting, Recruitment, Submission
from emulators.mturk.faults import Faults
from emulators.mturk.server import Emulator, running
from testbed.bonuses import (
    FAULTS,
    ledger_cents,
    owe_bonuses,
    paid_bonuses,
    paid_work,
    pay_all,
    total,
)
from testbed.builders import a_campaign, an_account
from testbed.recruits import SECRET, an_account_on
from tests.conftest import forget_settings
from tests.support.acceptance_results import keep
from tests.support.scale import FULL

ROUNDS = 12
# With its fee a bonus of a dollar costs what a place does.
BONUS, PLACE = 100, 120


@pytest.fixture
def turk(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulator]:
    with running(balance="1000000") as emulator:
        monkeypatch.setenv("LIKEWISE_MTURK_ENDPOINT", emulator.endpoint_url)
        monkeypatch.setenv("LIKEWISE_MTURK_WORKER_SITE", emulator.endpoint_url)
        forget_settings()
        yield emulator
        assert emulator.state.violations == []


@pytest.fixture
def owner(turk: Emulator) -> Account:
    return an_account()


@pytest.fixture
def campaign(owner: Account) -> Campaign:
    return a_campaign(owner, budget=40, grids_per_assignment=2, reward_cents=100)


@pytest.mark.parametrize(("people", "each"), [(250, 4) if FULL else (50, 4)])
def test_bonuses_are_paid_once_whatever_fails_before_or_after_its_effect(
    turk: Emulator, owner: Account, campaign: Campaign, people: int, each: int
) -> None:
    recruitment = paid_work(turk, owner, campaign, people)
    owed = owe_bonuses(recruitment, each)
    turk.state.faults = Faults(FAULTS)
    pay_all()
    turk.state.faults = Faults()
    assert len(owed) == people * each
    paid = paid_bonuses(turk)
    assert Counter((where, cents) for where, cents, _ in paid) == Counter(owed.keys())
    assert {(where, cents): token for where, cents, token in paid} == owed
    with transaction() as session:
        states = Counter(session.scalars(select(Payment.state)))
    assert states == {"paid": people * each}
    assert Decimal(ledger_cents(campaign.id)) / 100 == total(turk, "bonus")
    struck = Counter(
        call["outcome"] for call in turk.state.calls if call["operation"] == "SendBonus"
    )
    assert all(struck[rule.kind] for rule in FAULTS.calls)
    keep(
        "bonuses",
        {
            "bonuses": len(owed),
            "paid": len(paid),
            "calls_that_went_wrong": struck.total() - struck["ok"],
        },
    )


def test_a_recruitment_is_opened_once_however_many_ask(owner: Account, campaign: Campaign) -> None:
    recruitment = a_draft(owner, campaign, places=20)

    def open_it(_: int) -> bool:
        try:
            with transaction() as session:
                service.open_recruitment(session, owner, recruitment.id)
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(open_it, range(8))) == 1
    with transaction() as session:
        postings = session.scalars(select(Posting).order_by(Posting.number)).all()
        actions = session.scalars(select(ChannelCall.action)).all()
    assert [posting.places for posting in postings] == [9, 9, 2]
    assert actions == ["publish"] * 3


def change(owner: Account, recruitment: Recruitment) -> None:
    plan = service.RecruitmentPlan(
        "mturk", 9, channel_account_id=recruitment.channel_account_id, reward_cents=900
    )
    with transaction() as session:
        service.change_draft(session, owner, recruitment.id, plan)


def delete(owner: Account, recruitment: Recruitment) -> None:
    with transaction() as session:
        service.delete_draft(session, owner, recruitment.id)


def wait_for_a_lock() -> None:
    """Until somebody waits for a row that another transaction holds."""
    for _ in range(500):
        with transaction() as session:
            waiting = session.scalar(text("SELECT count(*) FROM pg_locks WHERE NOT granted"))
        if waiting:
            return
        time.sleep(0.02)
    raise AssertionError("Nobody waits.")


@pytest.mark.parametrize("action", [change, delete])
def test_a_draft_that_is_being_opened_is_a_draft_no_more(
    owner: Account, campaign: Campaign, action: Callable[[Account, Recruitment], None]
) -> None:
    recruitment = a_draft(owner, campaign, places=2)
    with ThreadPoolExecutor(1) as pool:
        with transaction() as session:
            service.open_recruitment(session, owner, recruitment.id)
            doing = pool.submit(action, owner, recruitment)
            wait_for_a_lock()
        with pytest.raises(Conflict):
            doing.result()
    with transaction() as session:
        assert session.get_one(Recruitment, recruitment.id).reward_cents == 100


def test_opening_says_what_all_places_cost(owner: Account, campaign: Campaign) -> None:
    recruitment = a_draft(owner, campaign, places=20)
    with transaction() as session:
        session.get_one(Recruitment, recruitment.id).spend_limit_cents = 20 * PLACE - 1
    message = (
        r"20 places cost 24\.00 USD with fees, but only 23\.99 USD of the spending limit is left"
    )
    with pytest.raises(ledger.OverLimit, match=message), transaction() as session:
        service.open_recruitment(session, owner, recruitment.id)


def test_of_all_who_ask_at_once_one_gets_the_last_of_the_limit(
    turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    recruitment = paid_work(turk, owner, campaign, 6)
    with transaction() as session:
        row = session.scalars(select(Submission.id)).first()
    assert row is not None
    asks = Asks(owner, campaign.id, recruitment.id, row)
    got = Counter[str]()
    for _ in range(ROUNDS):
        leave_room(recruitment.id, PLACE)
        together = threading.Barrier(len(asks.ways))
        with ThreadPoolExecutor(len(asks.ways)) as pool:
            done = list(pool.map(lambda way: asks.ask(way, together), asks.ways))  # noqa: B023
        got.update(way for way, is_done in zip(asks.ways, done, strict=True) if is_done)
        assert sum(done) == 1
        assert room(recruitment.id) == 0
    assert got.total() == ROUNDS
    with transaction() as session:
        held = session.scalars(select(Payment.id).where(Payment.state == "held")).all()
    assert held == []


def a_draft(owner: Account, campaign: Campaign, places: int) -> Recruitment:
    account = an_account_on(owner, "mturk", SECRET)
    plan = service.RecruitmentPlan("mturk", places, channel_account_id=account.id)
    with transaction() as session:
        return service.plan_recruitment(session, owner, campaign.id, plan)


def room(recruitment_id: UUID) -> int:
    """What is left of the limit, at one moment."""
    with snapshot() as session:
        recruitment = session.get_one(Recruitment, recruitment_id)
        left = ledger.commitments(session, recruitment).left_cents
    assert left is not None
    return left


def leave_room(recruitment_id: UUID, cents: int) -> None:
    with transaction() as session:
        recruitment = session.get_one(Recruitment, recruitment_id)
        committed = ledger.commitments(session, recruitment).committed_cents
        recruitment.spend_limit_cents = committed + cents


class Asks:
    """Whatever commits money, each time as much as a place costs; whether it was done."""

    def __init__(self, owner: Account, campaign_id: UUID, recruitment_id: UUID, row: UUID) -> None:
        self.owner, self.campaign_id, self.recruitment_id = owner, campaign_id, recruitment_id
        self.row = row
        self.ways = ["more", "bonus", "rule", "release"] * 2

    def ask(self, way: str, together: threading.Barrier) -> bool:
        return {
            "more": self.more,
            "bonus": self.bonus,
            "rule": self.rule,
            "release": self.release,
        }[way](together)

    def more(self, together: threading.Barrier) -> bool:
        together.wait()
        try:
            with transaction() as session:
                service.ask_for_more(session, self.owner, self.recruitment_id, 1)
        except ledger.OverLimit:
            return False
        return True

    def bonus(self, together: threading.Barrier) -> bool:
        together.wait()
        try:
            with transaction() as session:
                decisions.give_bonus(
                    session, self.owner, self.campaign_id, self.row, BONUS, "Thanks"
                )
        except ledger.OverLimit:
            return False
        return True

    def rule(self, together: threading.Barrier) -> bool:
        """As the poll does, which knows nothing of who edits the campaign meanwhile."""
        together.wait()
        with transaction() as session:
            payment = self._owe(session, awaits_word=False)
            is_due = payment.state == "due"
        if not is_due:
            self._cancel(payment)
        return is_due

    def release(self, together: threading.Barrier) -> bool:
        with transaction() as session:
            payment = self._owe(session, awaits_word=True)
        together.wait()
        try:
            with transaction() as session:
                ledger.release(session, payment.id)
        except ledger.OverLimit:
            self._cancel(payment)
            return False
        return True

    def _owe(self, session: Session, *, awaits_word: bool) -> Payment:
        recruitment = locked(session, Recruitment, self.recruitment_id)
        owed = ledger.NewPayment("bonus", f"rule:{uuid4().hex}", BONUS, "By a rule", awaits_word)
        row = session.get_one(Submission, self.row)
        return ledger.owe(session, recruitment, owed, assignment=None, submission=row)

    def _cancel(self, payment: Payment) -> None:
        with transaction() as session:
            ledger.cancel(session, payment.id, "No room")
