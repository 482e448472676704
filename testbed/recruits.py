"""People from the MTurk emulator who work on a campaign in process."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

from fastapi.testclient import TestClient
from sqlalchemy import select, update

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.recruitment import report
from app.recruitment.accounts import add_account
from app.recruitment.models import ChannelAccount, ChannelCall, Payment, Recruitment
from app.recruitment.service import RecruitmentPlan, open_recruitment, plan_recruitment
from app.recruitment.steps import poll_once, work_once
from emulators.mturk import market
from emulators.mturk.control import NewWorkers, add_workers
from emulators.mturk.records import Assignment as Held
from emulators.mturk.server import Emulator

SECRET = {"access_key_id": "emulator", "secret_access_key": "emulator-secret"}


def an_account_on(owner: Account, channel: str, secret: dict[str, str]) -> ChannelAccount:
    with transaction() as session:
        return add_account(
            session, owner, channel=channel, name="Emulator", environment="custom", secret=secret
        )


def opened(owner: Account, campaign: Campaign, **plan: Any) -> Recruitment:
    """A recruitment on the MTurk emulator, with its HITs up."""
    account = an_account_on(owner, "mturk", SECRET)
    values = {"places": 3, "reward_cents": 100, **plan}
    with transaction() as session:
        recruitment = plan_recruitment(
            session,
            owner,
            campaign.id,
            RecruitmentPlan("mturk", channel_account_id=account.id, **values),
        )
        open_recruitment(session, owner, recruitment.id)
    do_all_due()
    return recruitment


def do_all_due() -> None:
    """All that is due now, and what is due after a wait."""
    for _ in range(1000):
        while work_once():
            continue
        with transaction() as session:
            waiting = 0
            for table in (ChannelCall, Payment):
                moved = session.execute(
                    update(table)
                    .where(table.state.in_(("due", "running")), table.kind != "outside")
                    .values(due_at=datetime.now(UTC))
                    if table is Payment
                    else update(table)
                    .where(table.state.in_(("due", "running")))
                    .values(due_at=datetime.now(UTC))
                )
                waiting += moved.rowcount  # type: ignore[attr-defined]
        if not waiting:
            return
    raise AssertionError("There is always more to do.")


def look() -> None:
    """Ask the platform now, and do what follows."""
    with transaction() as session:
        session.execute(
            update(Recruitment)
            .where(Recruitment.poll_at.is_not(None))
            .values(poll_at=datetime.now(UTC))
        )
    while poll_once():
        continue
    do_all_due()


@dataclass
class Recruit:
    """One worker of the emulator who has accepted a place."""

    client: TestClient
    emulator: Emulator
    held: Held
    token: str = ""

    @property
    def entry(self) -> dict[str, str]:
        """What MTurk puts into the address of the frame."""
        state, assignment = self.emulator.state, self.held
        from emulators.mturk import question

        site = state.options.worker_site or self.emulator.endpoint_url
        url = question.frame_url(
            assignment.hit.url,
            assignment.hit.hit_id,
            assignment.assignment_id,
            assignment.worker_id,
            site,
        )
        parts = urlsplit(url)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        return {
            "link": parts.path.removeprefix("/a/mturk/"),
            "assignment_id": query["assignmentId"],
            "hit_id": query["hitId"],
            "worker_id": query["workerId"],
            "turk_submit_to": query["turkSubmitTo"],
        }

    def enter(self, **changes: str) -> Any:
        """The reply to opening the page's session."""
        reply = self.client.post("/api/v1/annotate/sessions/mturk", json={**self.entry, **changes})
        if reply.status_code == 201:
            self.token = reply.json()["token"]
            if reply.json()["stage"] == "instructions":
                self.ask("POST", "/steps", json={"step": "instructions"})
        return reply

    def ask(self, method: str, path: str, **options: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.token}", **options.pop("headers", {})}
        path = f"/api/v1/annotate{path}"
        return self.client.request(method, path, headers=headers, **options)

    def answer(self, n: int) -> dict[str, Any]:
        """Group n grids; the last handout's reply."""
        for _ in range(n):
            lease = self.ask("POST", "/leases").json()["lease"]
            images = [item["image"] for item in lease["images"]]
            body = {"images": images, "groups": [k % 2 for k in range(len(images))]}
            key = {"Idempotency-Key": f"answer-{lease['id']}"}
            reply = self.ask("POST", f"/leases/{lease['id']}/answer", json=body, headers=key)
            assert reply.status_code == 200, reply.text
        handout: dict[str, Any] = self.ask("POST", "/leases").json()
        return handout

    def announce_and_submit(self) -> None:
        """Here first, then on the platform."""
        assert self.ask("POST", "/hand-in").status_code == 204
        self.submit()

    def submit(self) -> None:
        with self.emulator.state.lock:
            market.submit(self.emulator.state, self.held, [("likewise", "done")])

    def give_back(self) -> None:
        with self.emulator.state.lock:
            market.give_back(self.emulator.state, self.held)


def recruit(client: TestClient, emulator: Emulator, worker_id: str = "") -> Recruit:
    """Somebody accepts a place of any HIT that is up."""
    state = emulator.state
    with state.lock:
        if worker_id in state.workers:
            worker = state.workers[worker_id]
        else:
            [worker] = add_workers(state, NewWorkers())
        hit = next(hit for hit in market.open_to(state, worker) if market.places_left(hit))
        return Recruit(client, emulator, market.accept(state, worker, hit))


def payments(campaign: Campaign) -> list[Payment]:
    with transaction() as session:
        query = select(Payment).where(Payment.campaign_id == campaign.id)
        return list(session.scalars(query.order_by(Payment.id)))


def differences(recruitment: Recruitment) -> list[str]:
    """Where our records and the platform's disagree."""
    with transaction() as session:
        row = session.get_one(Recruitment, recruitment.id)
        return [difference.what for difference in report.reconcile(session, row).differences]
