"""A campaign on a marketplace as a state machine of Hypothesis.

People come, work, leave, come late, send again; server and platform fail; and at the end every
cent is right.
"""

import uuid
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from fastapi.testclient import TestClient
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from sqlalchemy import func, select, update

from app.accounts.models import Account
from app.annotation.answers import Submission, submit_answer
from app.annotation.held import locked_with_all
from app.annotation.models import AnnotatorIdentity, Answer
from app.annotation.sessions import assignment_of_token
from app.campaigns.models import Grid
from app.collections.models import Collection
from app.core.database import transaction
from app.recruitment.bonus_work import BONUSES
from app.recruitment.models import Payment, Recruitment
from app.recruitment.report import reconcile
from app.recruitment.work import REWARDS
from emulators.mturk import market
from emulators.mturk.faults import FaultRule, Faults, FaultSettings
from emulators.mturk.server import Emulator
from testbed.builders import a_campaign, reloaded
from testbed.recruits import do_all_due, look, opened, payments, recruit
from tests.support.at_work import At, Sent
from tests.support.market_payments import bonuses, paid_here, paid_there

GRIDS, PLACES, EXTRA = 2, 5, 7
# Of the calls that change something; half of them after their effect.
FAULTS = [
    FaultRule(kind="throttle", share=0.1),
    FaultRule(kind="error_before", share=0.1),
    FaultRule(kind="error_after", share=0.2),
]
PEOPLE = st.integers(0, 9)


class Crashed(Exception):
    """The web server died before its commit."""


class Market(RuleBasedStateMachine):
    """One campaign with few places and grids, so that people get in each other's way."""

    owner: ClassVar[Account]
    collection: ClassVar[Collection]
    client: ClassVar[TestClient]
    turk: ClassVar[Emulator]

    @initialize()
    def begin(self) -> None:
        self.turk.state.reset()
        self.people: list[At] = []
        self.acknowledged: dict[str, Sent] = {}
        self.n_sent = 0
        self.campaign = a_campaign(
            self.owner, self.collection, budget=10, answers_per_grid=2,
            grids_per_assignment=GRIDS, reward_cents=100,
        )  # fmt: skip
        plan = {"extra_grids": 1, "extra_cents": EXTRA, "exclude_former": False}
        self.recruitment = opened(
            self.owner, self.campaign, places=PLACES, spend_limit_cents=5_000, settings=plan
        )
        for _ in range(PLACES - 1):
            self.comes()

    # --- people -----------------------------------------------------------------------------

    @precondition(lambda self: self._places_left())
    @rule()
    def comes(self) -> None:
        """A place may have been somebody else's, and its assignment's id with it."""
        person = recruit(self.client, self.turk)
        reply = person.enter()
        assert reply.status_code in (201, 409), reply.text
        if reply.status_code == 201:
            self.people.append(At(person))
        else:
            person.give_back()

    def _places_left(self) -> bool:
        with self.turk.state.lock:
            return any(market.places_left(hit) > 0 for hit in self.turk.state.hits.values())

    def _at_work(self, number: int) -> At | None:
        there = [at for at in self.people if not at.left and not at.handed_in]
        return there[number % len(there)] if there else None

    @rule(number=PEOPLE)
    def claims(self, number: int) -> None:
        at = self._at_work(number)
        if at is not None:
            self._claim(at)

    def _claim(self, at: At) -> None:
        reply = at.person.ask("POST", "/leases")
        assert reply.status_code == 200, reply.text
        at.lease = reply.json()["lease"]

    @rule(number=PEOPLE)
    def submits(self, number: int) -> None:
        at = self._at_work(number)
        if at is not None and at.lease is not None:
            self._submit(self._grouped(at))

    @rule(number=PEOPLE)
    def works(self, number: int) -> None:
        """What usually follows: a grid is asked for and grouped."""
        self.claims(number)
        self.submits(number)

    @rule(number=PEOPLE)
    def comes_late(self, number: int) -> None:
        """Away for so long that somebody else has had the grid."""
        self.claims(number)
        self.is_away_for_long(number)
        for other in range(len(self.people)):
            if other != number:
                self.works(other)
        self.submits(number)

    def _grouped(self, at: At) -> Sent:
        """A grouping that no other is like; what could not be sent of this lease is sent first."""
        assert at.lease is not None
        if unsent := [sent for sent in at.sent if sent.lease == at.lease["id"]]:
            at.lease = None
            return unsent[0]
        self.n_sent += 1
        images = [image["image"] for image in at.lease["images"]]
        groups = [(self.n_sent >> k) % 2 for k in range(len(images))]
        sent = Sent(at.person, at.lease["id"], {"images": images, "groups": groups})
        at.sent.append(sent)
        at.lease = None
        return sent

    def _submit(self, sent: Sent) -> None:
        reply = self._post(sent)
        # Who has given the grid back in another window has nothing to submit.
        assert reply.status_code in (200, 409), reply.text
        if reply.status_code == 200:
            earlier = self.acknowledged.setdefault(sent.lease, sent)
            assert earlier.body == sent.body
            assert sent.reply is None or sent.reply["status"] == reply.json()["status"]
            sent.reply = reply.json()

    def _post(self, sent: Sent, **changes: Any) -> Any:
        headers = {"Idempotency-Key": f"answer-{sent.lease}"}
        path = f"/leases/{sent.lease}/answer"
        return sent.person.ask("POST", path, json={**sent.body, **changes}, headers=headers)

    @rule(number=PEOPLE)
    def submits_to_a_server_that_dies_before_its_commit(self, number: int) -> None:
        at = self._at_work(number)
        if at is None or at.lease is None:
            return
        sent = self._grouped(at)
        submission = Submission(**sent.body, descriptions=[], elapsed_ms=None, trace=[])
        with suppress(Crashed), transaction() as session:
            assignment_id = assignment_of_token(at.person.token)
            held = locked_with_all(session, assignment_id, uuid.UUID(sent.lease))
            submit_answer(session, held, submission, f"answer-{sent.lease}")
            raise Crashed

    @rule(number=PEOPLE, which=PEOPLE)
    def sends_again(self, number: int, which: int) -> None:
        """Also after the end, and what was lost with a server."""
        sent = [answer for at in self.people if not at.left for answer in at.sent]
        if sent:
            self._submit(sent[(10 * number + which) % len(sent)])

    @rule(number=PEOPLE)
    def sends_something_else_with_the_same_key(self, number: int) -> None:
        known = [answer for at in self.people if not at.left for answer in at.sent if answer.reply]
        if known:
            reply = self._post(known[number % len(known)], descriptions=["other"])
            assert reply.status_code == 422

    @rule(number=PEOPLE)
    def is_away_for_long(self, number: int) -> None:
        """A lease runs out; its page knows nothing of it."""
        at = self._at_work(number)
        if at is not None and at.lease is not None:
            past = datetime.now(UTC) - timedelta(seconds=1)
            with transaction() as session:
                lease = Answer.id == uuid.UUID(at.lease["id"])
                session.execute(update(Answer).where(lease).values(lease_expires_at=past))

    @rule(number=PEOPLE)
    def skips_a_grid(self, number: int) -> None:
        at = self._at_work(number)
        if at is not None and at.lease is not None:
            reply = at.person.ask("POST", f"/leases/{at.lease['id']}/return")
            assert reply.status_code == 204, reply.text
            at.lease = None

    @rule(number=PEOPLE)
    def does_more_and_hands_in(self, number: int) -> None:
        """A grid beyond the assignment's own, for a bonus."""
        at = self._at_work(number)
        if at is None:
            return
        self._do_all(at)
        reply = at.person.ask("POST", "/more")
        assert reply.status_code in (200, 409), reply.text
        at.more += reply.status_code == 200
        self._do_all(at)
        self.hands_in(number)

    def _do_all(self, at: At) -> None:
        self._claim(at)
        for _ in range(GRIDS + 1):
            if at.lease is not None:
                self._submit(self._grouped(at))
                self._claim(at)

    @rule(number=PEOPLE)
    def gives_the_task_back(self, number: int) -> None:
        at = self._at_work(number)
        if at is not None:
            at.left = True
            at.person.ask("POST", "/presence", json={"left": True})
            at.person.give_back()

    @rule(number=PEOPLE)
    def hands_in(self, number: int) -> None:
        """Once all is done, which is seen to first."""
        at = self._at_work(number)
        if at is None:
            return
        self._do_all(at)
        if self._is_whole(at):
            at.person.announce_and_submit()
            at.handed_in = True

    def _is_whole(self, at: At) -> bool:
        handout = at.person.ask("POST", "/leases").json()
        # Who came when all was done has nothing to hand in.
        return bool(handout["status"] == "done" and handout["answered"])

    # --- the platform and the dispatcher ----------------------------------------------------

    @rule(seed=st.integers(0, 99))
    def the_platform_fails(self, seed: int) -> None:
        self.turk.state.faults = Faults(FaultSettings(seed=seed, calls=FAULTS, hold_seconds=0.02))

    @rule()
    def the_platform_works(self) -> None:
        self.turk.state.faults = Faults(FaultSettings())

    @rule()
    def the_platform_is_looked_at_twice(self) -> None:
        """As when it tells of the same thing twice."""
        look()
        look()

    @rule()
    def pays(self) -> None:
        do_all_due()

    @rule()
    def a_dispatcher_dies_with_a_payment_in_hand(self) -> None:
        REWARDS.claim()
        BONUSES.claim()

    # --- laws -------------------------------------------------------------------------------

    def _has_begun(self) -> bool:
        return hasattr(self, "recruitment")

    @invariant()
    def what_was_acknowledged_is_there_and_nothing_else(self) -> None:
        if not self._has_begun():
            return
        with transaction() as session:
            rows = session.execute(
                select(Answer.id, Answer.groups, Answer.state, Grid.images)
                .join(Grid, Answer.grid_id == Grid.id)
                .where(Answer.campaign_id == self.campaign.id, Answer.submitted_at.is_not(None))
            ).all()
        stored = {str(lease_id): (dict(zip(images, groups or [], strict=True)), state)
                  for lease_id, groups, state, images in rows}  # fmt: skip
        states = {"stored": "submitted", "surplus": "surplus"}
        assert stored == {
            lease: (
                dict(zip(sent.body["images"], sent.body["groups"], strict=True)),
                states[(sent.reply or {})["status"]],
            )
            for lease, sent in self.acknowledged.items()
        }

    @invariant()
    def no_grid_has_more_than_it_wants(self) -> None:
        if not self._has_begun():
            return
        live = (Answer.state == "leased") & (Answer.lease_expires_at > func.now())
        with transaction() as session:
            of = (Answer.grid_id, func.count())
            here = Answer.campaign_id == self.campaign.id
            held = dict(session.execute(select(*of).where(here, live).group_by(of[0])).all())
            submitted = Answer.state == "submitted"
            done = dict(session.execute(select(*of).where(here, submitted).group_by(of[0])).all())
            grids = session.scalars(select(Grid).where(Grid.campaign_id == self.campaign.id)).all()
        for grid in grids:
            assert grid.n_answers == done.get(grid.id, 0)
            assert grid.n_answers + held.get(grid.id, 0) <= grid.wanted
        assert reloaded(self.campaign.id).n_answers == sum(done.values())

    @invariant()
    def nobody_has_a_grid_twice(self) -> None:
        if not self._has_begun():
            return
        identity = AnnotatorIdentity.annotator_id == Answer.annotator_id
        with transaction() as session:
            query = select(Answer.grid_id, AnnotatorIdentity.external_id).join(
                AnnotatorIdentity, identity
            )
            pairs = session.execute(query.where(Answer.campaign_id == self.campaign.id)).all()
        assert max(Counter(tuple(pair) for pair in pairs).values(), default=1) == 1

    @invariant()
    def nobody_is_paid_twice(self) -> None:
        if self._has_begun():
            assert max(Counter(paid_there(self.turk)).values(), default=1) == 1
            there = Counter(paid_there(self.turk))
            assert not Counter(paid_here(self.campaign)) - there, (
                "the books claim what was not paid"
            )

    def teardown(self) -> None:
        """Once nothing fails any more, all who handed in have what they earned, to the cent."""
        if not self._has_begun():
            return
        self.the_platform_works()
        for number in range(len(self.people)):
            # What was begun is finished, if there is anything left to do.
            self.hands_in(number)
        for _ in range(3):
            look()
        self.nobody_is_paid_twice()
        handed_in = [at for at in self.people if at.handed_in]
        there = Counter((entry.assignment_id, entry.worker_id) for entry in self.turk.state.journal
                        if entry.kind == "reward")  # fmt: skip
        assert there == Counter(
            (at.person.held.assignment_id, at.person.held.worker_id) for at in handed_in
        )
        assert bonuses(self.turk) == {
            at.person.held.assignment_id: EXTRA * at.beyond(GRIDS)
            for at in handed_in
            if at.beyond(GRIDS)
        }
        cents = sum(int(entry.amount * 100) for entry in self.turk.state.journal
                    if entry.kind in ("reward", "bonus"))  # fmt: skip
        assert cents == sum(payment.amount_cents for payment in self._payments("paid"))
        assert {payment.state for payment in payments(self.campaign)} <= {"paid", "cancelled"}
        with transaction() as session:
            row = session.get_one(Recruitment, self.recruitment.id)
            assert reconcile(session, row).differences == []
        self._close()

    def _payments(self, state: str) -> list[Payment]:
        return [payment for payment in payments(self.campaign) if payment.state == state]

    def _close(self) -> None:
        """The next example's dispatchers have nothing to do with this one."""
        with transaction() as session:
            of_this = Recruitment.id == self.recruitment.id
            session.execute(update(Recruitment).where(of_this).values(poll_at=None))
