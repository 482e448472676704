"""Builders for tests of the MTurk emulator."""

from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any

import boto3
import httpx
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from emulators.mturk.question import NAMESPACE
from emulators.mturk.server import Emulator

DAY = 86_400
TASK = "https://task.test/page?campaign=7&kind=grids"


@cache
def session() -> boto3.session.Session:
    return boto3.session.Session(region_name="us-east-1")


def client(
    emulator: Emulator,
    service: str = "mturk",
    key: str = "emulator",
    secret: str = "emulator-secret",
    attempts: int = 1,
    strict: bool = True,
) -> Any:
    """A real client; `strict` off sends also what botocore itself would refuse."""
    config = Config(
        retries={"total_max_attempts": attempts, "mode": "standard"},
        parameter_validation=strict,
        max_pool_connections=20,
    )
    return session().client(
        service,
        endpoint_url=emulator.endpoint_url,
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        config=config,
    )


def question(url: str = TASK, height: str = "600") -> str:
    address = url.replace("&", "&amp;")
    return (
        f'<ExternalQuestion xmlns="{NAMESPACE}"><ExternalURL>{address}</ExternalURL>'
        f"<FrameHeight>{height}</FrameHeight></ExternalQuestion>"
    )


def a_hit(mturk: Any, **changes: object) -> str:
    """A HIT's id."""
    values: dict[str, object] = {
        "Title": "Sort images",
        "Description": "Group twelve images by how alike they look.",
        "Reward": "0.50",
        "LifetimeInSeconds": DAY,
        "AssignmentDurationInSeconds": 600,
        "AutoApprovalDelayInSeconds": 3 * 86_400,
        "MaxAssignments": 3,
        "Question": question(),
    }
    return str(mturk.create_hit(**values | changes)["HIT"]["HITId"])


def code_of(error: pytest.ExceptionInfo[ClientError]) -> str:
    """The error's kind, and MTurk's own code where the service model carries one."""
    response = error.value.response
    kind: str = response["Error"]["Code"]
    return str(response.get("TurkErrorCode", kind)).removeprefix("AWS.MechanicalTurk.")


def sentence_of(error: pytest.ExceptionInfo[ClientError]) -> str:
    return str(error.value.response["Error"]["Message"])


class Crowd:
    """Simulated workers and the control API, over HTTP."""

    def __init__(self, emulator: Emulator) -> None:
        self.http = httpx.Client(base_url=emulator.endpoint_url, timeout=60)

    def worker(self, **traits: object) -> str:
        workers = self.http.post("/emulator/workers", json=traits).raise_for_status().json()
        return str(workers[0]["worker_id"])

    def accept(self, hit_id: str, worker_id: str) -> dict[str, str]:
        """The accepted assignment; raises httpx.HTTPStatusError when refused."""
        reply = self.http.post(f"/market/hits/{hit_id}/accept", json={"worker_id": worker_id})
        accepted: dict[str, str] = reply.raise_for_status().json()
        return accepted

    def give_back(self, accepted: dict[str, str]) -> None:
        path = f"/market/assignments/{accepted['assignment_id']}/return"
        self.http.post(path, json={"worker_id": accepted["worker_id"]}).raise_for_status()

    def submit(self, accepted: dict[str, str], **fields: str) -> httpx.Response:
        form = {"assignmentId": accepted["assignment_id"], **(fields or {"done": "yes"})}
        return self.http.post("/mturk/externalSubmit", data=form)

    def work(self, hit_id: str, worker_id: str | None = None) -> dict[str, str]:
        """Accept and submit."""
        accepted = self.accept(hit_id, worker_id or self.worker())
        self.submit(accepted).raise_for_status()
        return accepted

    def open_hits(self, worker_id: str) -> list[str]:
        reply = self.http.get("/market/hits", params={"worker": worker_id})
        return [hit["hit_id"] for hit in reply.raise_for_status().json()]

    def later(self, seconds: float) -> datetime:
        reply = self.http.post("/emulator/clock", json={"advance_seconds": seconds})
        return datetime.fromisoformat(reply.raise_for_status().json()["now"])

    def faults(self, **settings: object) -> None:
        self.http.put("/emulator/faults", json=settings).raise_for_status()

    def totals(self) -> dict[str, Decimal]:
        totals = self.http.get("/emulator/journal").raise_for_status().json()["totals"]
        return {kind: Decimal(amount) for kind, amount in totals.items()}
