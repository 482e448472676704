"""`/emulator/…`, where tests and demos control and inspect the emulator. MTurk has no such API."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Body, HTTPException, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from emulators.mturk import money
from emulators.mturk.faults import Faults, FaultSettings
from emulators.mturk.market import count, settle, settled, status
from emulators.mturk.records import Assignment, Hit, Worker
from emulators.mturk.shapes import Document
from emulators.mturk.state import State


class NewWorkers(BaseModel):
    model_config = ConfigDict(extra="forbid")

    count: int = Field(default=1, ge=1, le=10_000)
    worker_id: str | None = Field(default=None, pattern="^A[A-Z0-9]{1,63}$")
    country: str = Field(default="US", pattern="^[A-Z]{2}$")
    subdivision: str | None = Field(default=None, pattern="^[A-Z]{2}$")
    percent_approved: int = Field(default=100, ge=0, le=100)
    number_approved: int = Field(default=0, ge=0)
    adult: bool = False


def add_workers(state: State, wanted: NewWorkers) -> list[Worker]:
    """Add equal workers; or add or replace one worker if `worker_id` is given."""
    traits = wanted.model_dump(exclude={"count", "worker_id"})
    ids = (
        [wanted.worker_id] if wanted.worker_id else [state.worker_id() for _ in range(wanted.count)]
    )
    workers = [Worker(identifier, **traits) for identifier in ids]
    state.workers.update({worker.worker_id: worker for worker in workers})
    return workers


def hit_dump(state: State, hit: Hit) -> Document:
    return {
        "hit_id": hit.hit_id,
        "hit_type_id": hit.hit_type.hit_type_id,
        "status": status(state, hit),
        "title": hit.hit_type.title,
        "reward": str(hit.hit_type.reward),
        "max_assignments": hit.max_assignments,
        "expires": hit.expires,
        "annotation": hit.annotation,
        "accepted": count(hit, "Accepted"),
        "submitted": count(hit, "Submitted"),
        "approved": count(hit, "Approved"),
        "rejected": count(hit, "Rejected"),
        "assignments": [assignment_dump(assignment) for assignment in hit.assignments],
    }


def assignment_dump(assignment: Assignment) -> Document:
    return {
        "assignment_id": assignment.assignment_id,
        "worker_id": assignment.worker_id,
        "state": assignment.state,
        "accepted": assignment.accepted,
        "deadline": assignment.deadline,
        "submitted": assignment.submitted,
        "visible": assignment.visible,
    }


def journal_dump(state: State) -> Document:
    totals: dict[str, str] = {}
    for kind in ("reward", "fee", "bonus", "bonus_fee"):
        amounts = (entry.amount for entry in state.journal if entry.kind == kind)
        totals[kind] = str(sum(amounts, start=money.CENT * 0))
    entries = [
        {
            **asdict(entry),
            "amount": str(entry.amount),
            "requester": state.requesters[entry.requester].customer_id,
        }
        for entry in state.journal
    ]
    return {"totals": totals, "entries": entries}


def state_dump(state: State) -> Document:
    return {
        "now": state.clock.now(),
        "requesters": [
            {
                "customer_id": requester.customer_id,
                "available": str(money.available(state, key)),
                "held": str(money.held(state, key)),
                "blocks": requester.blocks,
            }
            for key, requester in state.requesters.items()
        ],
        "workers": [asdict(worker) for worker in state.workers.values()],
        "hits": [hit_dump(state, hit) for hit in state.hits.values()],
        "queues": {name: len(messages) for name, messages in state.queues.items()},
        "violations": len(state.violations),
    }


def router(state: State) -> APIRouter:
    api = APIRouter(prefix="/emulator", tags=["emulator"])

    @api.get("/state")
    def read_state() -> Document:
        with settled(state):
            return state_dump(state)

    @api.get("/journal")
    def read_journal() -> Document:
        """Every payment from an account, and the totals by kind; amounts are strings."""
        with settled(state):
            return journal_dump(state)

    @api.get("/violations")
    def read_violations() -> list[Document]:
        """Requests and responses that violated the service model."""
        with state.lock:
            return list(state.violations)

    @api.get("/calls")
    def read_calls(operation: Annotated[str | None, Query()] = None) -> list[Document]:
        with state.lock:
            return [call for call in state.calls if operation in (None, call["operation"])]

    @api.get("/letters")
    def read_letters() -> list[Document]:
        """The messages that NotifyWorkers sent."""
        with state.lock:
            return [
                {k: v for k, v in letter.items() if k != "requester"} for letter in state.letters
            ]

    @api.get("/workers")
    def list_workers() -> list[Worker]:
        with state.lock:
            return list(state.workers.values())

    @api.post("/workers", status_code=201)
    def create_workers(wanted: NewWorkers) -> list[Worker]:
        with state.lock:
            return add_workers(state, wanted)

    @api.get("/clock")
    def read_clock() -> Document:
        return {"now": state.clock.now()}

    @api.post("/clock")
    def advance_clock(advance_seconds: Annotated[float, Body(embed=True, ge=0)]) -> Document:
        with state.lock:
            try:
                now = state.clock.advance(advance_seconds)
            except OverflowError:
                raise HTTPException(422, "That is too far in the future.") from None
            settle(state)
            return {"now": now}

    @api.get("/faults")
    def read_faults() -> FaultSettings:
        return state.faults.settings

    @api.put("/faults")
    def set_faults(wanted: FaultSettings) -> FaultSettings:
        """Replace all faults and start the generator again from the seed."""
        with state.lock:
            state.faults = Faults(wanted)
            return wanted

    @api.delete("/faults", status_code=204)
    def clear_faults() -> Response:
        with state.lock:
            state.faults = Faults()
        return Response(status_code=204)

    @api.post("/reset", status_code=204)
    def reset() -> Response:
        with state.lock:
            state.reset()
        return Response(status_code=204)

    return api
