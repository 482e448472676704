"""People on Prolific, which takes no tokens: everyone who finished is paid, once; a payment
of which nobody knows is left to a person, who looks at Prolific's own books."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from sqlalchemy import select, update

from app.annotation.models import Assignment
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.planning.crowd import CrowdTraits, make_crowd, read_images
from app.recruitment.models import Payment, Submission
from emulators.prolific.server import Emulator, running
from likewise.commands.simulate import run_market
from likewise.marketplace import MarketPlay, WorkerBehaviour, WorkSession
from likewise.markets import ProlificMarket
from testbed.builders import a_campaign, a_collection, an_account
from testbed.recruits import an_account_on
from testbed.system import System, wait_until
from tests.support.books import Paid, Requester, owed_to_workers, paid_by_ledger
from tests.support.scale import FULL
from tests.system.test_recruiting_faults import a_requester, agrees, fill, kill_on_the_way

# Of the first some return the study and as many walk away; some do not pass practice. Others get
# their places.
FIRST, LEAVE, SCREENED, PLACES = (54, 6, 4, 44) if FULL else (27, 3, 2, 22)
REWARD, EXTRA, SCREEN_OUT = 300, 9, 60
# Every place may come to be paid for, and somebody screened out before it.
LIMIT = PLACES * (300 + 155 + 60 + 32) + 3_000
MINUTES_ALLOWED = 40
STRIKING = ("429", "5xx-before", "5xx-after", "timeout-before", "timeout-after")
FAULTS = [
    {"operation": "*", "kind": "429", "probability": 0.04},
    {"operation": "*", "kind": "5xx-before", "probability": 0.03},
    {"operation": "*", "kind": "timeout-before", "probability": 0.03, "seconds": 0.1},
    {"operation": "*", "kind": "5xx-after", "probability": 0.05},
    {"operation": "*", "kind": "timeout-after", "probability": 0.05, "seconds": 0.1},
    # Each once for sure: there are not so many calls.
    *(
        {"operation": "*", "kind": kind, "probability": 0.3, "times": 1, "seconds": 0.1}
        for kind in STRIKING
    ),
    {"operation": "submission-status", "kind": "late", "probability": 0.1, "seconds": 2},
    {"operation": "hook", "kind": "duplicate", "probability": 0.1},
    {"operation": "hook", "kind": "out-of-order", "probability": 0.1},
]


@pytest.fixture
def prolific(monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulator]:
    with running(participants=FIRST, seed=4) as emulator:
        for name, value in {
            "LIKEWISE_PROLIFIC_ENDPOINT": emulator.url,
            "LIKEWISE_PROLIFIC_SITE": emulator.url,
            "LIKEWISE_POLL_SECONDS": "1.5",
            "LIKEWISE_CLAIM_SECONDS": "5",
            "LIKEWISE_LOOK_SECONDS": "0.5",
            "LIKEWISE_PRESENCE_SECONDS": "2",
            "LIKEWISE_JOB_LEASE_SECONDS": "4",
            "LIKEWISE_REDISPATCH_SECONDS": "3",
        }.items():
            monkeypatch.setenv(name, value)
        yield emulator
        assert emulator.state.violations == []


def tell(prolific: Emulator, method: str, path: str, body: object) -> None:
    httpx.request(method, f"{prolific.url}/emulator{path}", json=body).raise_for_status()


def test_everyone_who_finished_is_paid_once_on_prolific_too(
    prolific: Emulator, own_system: System
) -> None:
    owner = an_account()
    campaign = a_campaign(
        owner,
        a_collection(owner, n=30),
        budget=400,
        grids_per_assignment=2,
        learn_every=60,
        reward_cents=REWARD,
        currency="GBP",
    )
    requester = a_requester(own_system, owner, campaign)
    with_practice(requester, campaign)
    account = an_account_on(owner, "prolific", {"token": prolific.token})
    recruitment = opened(requester, str(account.id))
    [study] = wait_until("the study", lambda: list(prolific.state.studies.values()))
    wait_until("the study to be open", lambda: study.status == "ACTIVE")
    tell(prolific, "PUT", "/faults", FAULTS)
    play = a_play(own_system, prolific, campaign)
    play.behaviour = WorkerBehaviour(
        returns=LEAVE / FIRST,
        abandons=LEAVE / FIRST,
        careless=SCREENED / FIRST,
        twice=0.2,
        extras=0.5,
    )
    playing = threading.Thread(target=play.play, args=(list(prolific.state.participants),))
    playing.start()
    kill_on_the_way(own_system, play, FIRST - 2 * LEAVE - SCREENED)
    playing.join()
    tell(prolific, "POST", "/clock/advance", {"seconds": MINUTES_ALLOWED * 60})
    fill(play, PLACES, lambda n: by_the_command(prolific, campaign, n))
    requester.post(f"/recruitments/{recruitment}/stop")
    settled = Counter[str]()

    def books_agree() -> bool:
        settled.update(settle_parked(requester, prolific, campaign))
        return agrees(requester, recruitment, owed(play).total())

    wait_until("the books to agree", books_agree)
    # Prolific says yes to a bonus first and pays it somewhat later.
    wait_until("the last bonuses", lambda: paid_by_prolific(prolific).total() >= owed(play).total())
    print("settled by hand:", settled)
    check(prolific, campaign, play)
    for name in ("web", "dispatcher", "worker"):
        assert "Traceback" not in own_system.log(name)


def by_the_command(prolific: Emulator, campaign: Campaign, n: int) -> list[WorkSession]:
    """New participants of `likewise simulate --prolific`."""
    traits, habits = CrowdTraits(n, 0.1), WorkerBehaviour(extras=0.5)
    return run_market(str(campaign.id), "colour", traits, 0, habits, "", prolific.url).log


def with_practice(requester: Requester, campaign: Campaign) -> None:
    with transaction() as session:
        practice = {**campaign.annotation, "practice": 1, "practice_pass": 0.9}
        session.execute(
            update(Campaign).where(Campaign.id == campaign.id).values(annotation=practice)
        )
    lines = ["grid,filename,group"] + [f"1,image-{k:03d}.png,{k % 2}" for k in range(6)]
    files = {"file": ("known.csv", "\n".join(lines).encode(), "text/csv")}
    headers = {"Authorization": f"Bearer {requester.token}"}
    path = f"{requester.root}/known-answers"
    requester.ask("POST", path, files=files, headers=headers).raise_for_status()


def opened(requester: Requester, account: str) -> str:
    settings = {
        "extra_grids": 2,
        "extra_cents": EXTRA,
        "minutes_estimated": 15,
        "minutes_allowed": MINUTES_ALLOWED,
        "screen_out_cents": SCREEN_OUT,
    }
    plan = {
        "channel": "prolific",
        "channel_account_id": account,
        "places": PLACES,
        "reward_cents": REWARD,
        "spend_limit_cents": LIMIT,
        "settings": settings,
    }
    recruitment = requester.post("/recruitments", plan)
    requester.post(f"/recruitments/{recruitment['id']}/open")
    return str(recruitment["id"])


def a_play(system: System, prolific: Emulator, campaign: Campaign) -> MarketPlay:
    with transaction() as session:
        table = read_images(session, campaign)
    return MarketPlay(
        ProlificMarket(httpx.Client(base_url=prolific.url, timeout=60)),
        httpx.Client(base_url=system.base_url, timeout=60),
        make_crowd(table, ["colour"], CrowdTraits(FIRST, 0.1)),
        campaign.max_groups,
        at_once=20,
    )


def settle_parked(requester: Requester, prolific: Emulator, campaign: Campaign) -> Iterator[str]:
    """What a person does: looks at what Prolific shows of a submission, and says so."""
    parked: list[Any] = requester.get("/payments?state=parked")["items"]
    for payment in parked:
        with transaction() as session:
            row = session.get_one(Submission, payment["submission_id"])
            known = session.scalars(
                select(Payment.amount_cents).where(
                    Payment.submission_id == row.id,
                    Payment.kind == "bonus",
                    Payment.state == "paid",
                )
            ).all()
        # Prolific pays some seconds after it was asked to.
        time.sleep(2 * prolific.state.options.bonus_seconds)
        there = Counter(prolific.state.submissions[row.external_id].bonuses)
        was_paid = (there - Counter(known))[payment["amount_cents"]] > 0
        body = {"reason": "Looked at on Prolific."}
        decision = "paid" if was_paid else "unpaid"
        requester.post(f"/payments/{payment['id']}/{decision}", body)
        if not was_paid:
            requester.post(f"/payments/{payment['id']}/release", body)
        yield decision


def check(prolific: Emulator, campaign: Campaign, play: MarketPlay) -> None:
    ends = Counter(work_session.end for work_session in play.log)
    codes = {work_session.code for work_session in play.log if work_session.end == "refused"}
    assert codes == set()
    assert ends == {
        "handed_in": PLACES,
        "returned": LEAVE,
        "abandoned": LEAVE,
        "screened_out": SCREENED,
    }
    assert paid_by_ledger(campaign.id) == owed(play)
    assert paid_by_prolific(prolific) == owed(play)
    assert max(owed(play).values()) == 1
    spent = -sum(entry.amount for entry in prolific.state.wallet.journal if entry.kind != "deposit")
    assert 0 < spent <= LIMIT
    struck = {call.fault for call in prolific.state.calls}
    assert set(STRIKING) <= struck
    with transaction() as session:
        unpaid = select(Assignment.id).where(
            Assignment.campaign_id == campaign.id,
            Assignment.handed_in_at.is_not(None),
            Assignment.id.not_in(select(Payment.assignment_id)),
        )
        assert session.scalars(unpaid).all() == []


def owed(play: MarketPlay) -> Paid:
    payments = owed_to_workers(play.log)
    for work_session in play.log:
        if work_session.end == "screened_out":
            payments[
                work_session.place.assignment, work_session.place.worker, "screen_out", SCREEN_OUT
            ] += 1
    return payments


def paid_by_prolific(prolific: Emulator) -> Paid:
    kinds = {"reward": "reward", "bonus": "bonus", "screen-out": "screen_out", "partial": "partial"}
    return Counter(
        (entry.submission or "", entry.participant or "", kinds[entry.kind], -entry.amount)
        for entry in prolific.state.wallet.journal
        if entry.part == "money" and entry.kind in kinds
    )
