"""What tests of recruiting on the Prolific emulator share, and somebody who takes part there."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from fastapi.testclient import TestClient

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.recruitment import bonus_work
from app.recruitment.models import Recruitment
from app.recruitment.service import RecruitmentPlan, open_recruitment, plan_recruitment
from emulators.prolific.server import Emulator, running
from testbed.builders import a_campaign
from testbed.recruits import an_account_on, do_all_due
from testbed.settings import forget_settings

GRIDS = 2


@contextmanager
def served_prolific() -> Iterator[Emulator]:
    with running(submitted_seconds=0.0, bonus_seconds=0.0, fault_seconds=0.05) as emulator:
        yield emulator


@contextmanager
def recruiting_on(served: Emulator, monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulator]:
    """The emulator, empty, and the settings that lead to it."""
    monkeypatch.setenv("LIKEWISE_PROLIFIC_ENDPOINT", served.url)
    monkeypatch.setenv("LIKEWISE_PROLIFIC_SITE", served.url)
    # Nobody listens there: what is sent to it is not what is tested here.
    monkeypatch.setenv("LIKEWISE_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setattr(bonus_work, "LOOKS", 3)
    forget_settings()
    httpx.post(f"{served.url}/emulator/reset", timeout=60).raise_for_status()
    yield served
    assert served.state.violations == []


def a_paying_campaign(owner: Account) -> Campaign:
    return a_campaign(
        owner, budget=40, grids_per_assignment=GRIDS, reward_cents=300, currency="GBP"
    )


def opened(prolific: Emulator, owner: Account, campaign: Campaign, **plan: Any) -> Recruitment:
    account = an_account_on(owner, "prolific", {"token": prolific.token})
    values = {"places": 3, "spend_limit_cents": 5000, **plan}
    with transaction() as session:
        recruitment = plan_recruitment(
            session,
            owner,
            campaign.id,
            RecruitmentPlan("prolific", channel_account_id=account.id, **values),
        )
        open_recruitment(session, owner, recruitment.id)
    do_all_due()
    return recruitment


class Participant:
    """Somebody who takes part in the only study that is open."""

    def __init__(self, client: TestClient, prolific: Emulator, number: int = 0) -> None:
        self.client, self.url = client, prolific.url
        people = httpx.get(f"{self.url}/emulator/participants", timeout=60).json()
        self.id = people[number]["id"]
        [study] = httpx.get(
            f"{self.url}/market/studies", params={"participant": self.id}, timeout=60
        ).json()
        body = {"participant": self.id, "start": True}
        taken = httpx.post(
            f"{self.url}/market/studies/{study['id']}/take-part", json=body, timeout=60
        )
        taken.raise_for_status()
        self.submission = taken.json()["submission_id"]
        parts = urlsplit(taken.json()["url"])
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.entry = {
            "link": parts.path.removeprefix("/a/prolific/"),
            "participant": query["PROLIFIC_PID"],
            "study": query["STUDY_ID"],
            "session": query["SESSION_ID"],
        }
        self.ways: dict[str, Any] = {}
        self.stage = ""

    def enter(self, **changes: str) -> Any:
        path = "/api/v1/annotate/sessions/prolific"
        reply = self.client.post(path, json={**self.entry, **changes})
        if reply.status_code == 201:
            opened = reply.json()
            self.headers = {"Authorization": f"Bearer {opened['token']}"}
            self.ways = {way: opened[way] for way in ("hand_in", "declined", "screened_out")}
            self.stage = opened["stage"]
            if self.stage == "instructions":
                self.stage = self.ask("/steps", step="instructions").json()["stage"]
        return reply

    def ask(self, path: str, **body: Any) -> Any:
        key = {"Idempotency-Key": f"key-of-{path}"}
        return self.client.post(
            f"/api/v1/annotate{path}", json=body or None, headers={**self.headers, **key}
        )

    def answer(self, n: int) -> dict[str, Any]:
        for _ in range(n):
            lease = self.ask("/leases").json()["lease"]
            images = [image["image"] for image in lease["images"]]
            groups = [k % 2 for k in range(len(images))]
            reply = self.ask(f"/leases/{lease['id']}/answer", images=images, groups=groups)
            assert reply.status_code == 200, reply.text
        handout: dict[str, Any] = self.ask("/leases").json()
        return handout

    def come_back(self, way: str = "hand_in") -> None:
        """What the browser does at the end: our word first, then Prolific's address."""
        if way == "hand_in":
            assert self.ask("/hand-in").status_code == 204
        address = self.ways[way]["address"]
        code = parse_qs(urlsplit(address).query)["cc"][0]
        back = httpx.post(
            f"{self.url}/market/submissions/{self.submission}/complete",
            json={"code": code},
            timeout=60,
        )
        back.raise_for_status()


def paid_there(prolific: Emulator, kind: str) -> list[int]:
    journal = prolific.state.wallet.journal
    return [-entry.amount for entry in journal if (entry.kind, entry.part) == (kind, "money")]
