"""`/market/…`, a JSON API of the worker site for simulated workers."""

from decimal import Decimal
from typing import Annotated

from fastapi import APIRouter, Body, Query, Request

from emulators.mturk import market, question
from emulators.mturk.market import NotPossible
from emulators.mturk.records import Assignment, Hit, Worker
from emulators.mturk.shapes import Document
from emulators.mturk.state import State


def site_of(state: State, request: Request) -> str:
    """The origin of the worker site as this browser sees it."""
    return state.options.worker_site or str(request.base_url).rstrip("/")


def worker_of(state: State, worker_id: str) -> Worker:
    worker = state.workers.get(worker_id)
    if worker is None:
        raise NotPossible("This worker does not exist.", 404)
    return worker


def hit_of(state: State, hit_id: str) -> Hit:
    hit = state.hits.get(hit_id)
    if hit is None:
        raise NotPossible("This HIT does not exist.", 404)
    return hit


def assignment_of(state: State, assignment_id: str, worker_id: str) -> Assignment:
    """A worker's newest assignment with this id; several workers can have the same id in turn."""
    held = [
        assignment
        for hit in state.hits.values()
        for assignment in hit.assignments
        if assignment.assignment_id == assignment_id and assignment.worker_id == worker_id
    ]
    if not held:
        raise NotPossible("You don't have this assignment.", 404)
    return held[-1]


def of_worker(state: State, worker_id: str) -> list[Assignment]:
    mine = (assignment for hit in state.hits.values() for assignment in hit.assignments)
    return sorted(
        (assignment for assignment in mine if assignment.worker_id == worker_id),
        key=lambda assignment: assignment.accepted,
    )


def earnings(state: State, worker_id: str) -> dict[str, Decimal]:
    """Paid rewards and bonuses, and the rewards that wait for approval."""
    totals = {"reward": Decimal(0), "bonus": Decimal(0)}
    for entry in state.journal:
        if entry.worker_id == worker_id and entry.kind in totals:
            totals[entry.kind] += entry.amount
    waiting = (
        assignment for assignment in of_worker(state, worker_id) if assignment.state == "Submitted"
    )
    return {
        **totals,
        "waiting": sum((assignment.hit.hit_type.reward for assignment in waiting), Decimal(0)),
    }


def accepted_document(assignment: Assignment, site: str) -> Document:
    hit = assignment.hit
    address = question.frame_url(
        hit.url, hit.hit_id, assignment.assignment_id, assignment.worker_id, site
    )
    return {
        "assignment_id": assignment.assignment_id,
        "hit_id": hit.hit_id,
        "worker_id": assignment.worker_id,
        "state": assignment.state,
        "frame_url": address,
        "submit_url": f"{site}/mturk/externalSubmit",
        "deadline": assignment.deadline,
    }


def _listed(hit: Hit) -> Document:
    kind = hit.hit_type
    return {
        "hit_id": hit.hit_id,
        "hit_type_id": kind.hit_type_id,
        "title": kind.title,
        "description": kind.description,
        "keywords": kind.keywords,
        "reward": str(kind.reward),
        "places_left": market.places_left(hit),
        "duration_seconds": int(kind.duration.total_seconds()),
        "expires": hit.expires,
        "annotation": hit.annotation,
    }


def router(state: State) -> APIRouter:
    api = APIRouter(prefix="/market", tags=["market"])

    @api.get("/hits")
    def list_hits(worker: Annotated[str, Query()]) -> list[Document]:
        with market.settled(state):
            return [_listed(hit) for hit in market.open_to(state, worker_of(state, worker))]

    @api.get("/hits/{hit_id}/preview")
    def preview(hit_id: str, worker: Annotated[str, Query()]) -> Document:
        with market.settled(state):
            hit = hit_of(state, hit_id)
            market.check_may(state, worker_of(state, worker), hit, "preview")
            return {"hit_id": hit_id, "frame_url": question.preview_url(hit.url, hit_id)}

    @api.post("/hits/{hit_id}/accept", status_code=201)
    def accept(
        hit_id: str, worker_id: Annotated[str, Body(embed=True)], request: Request
    ) -> Document:
        with market.settled(state):
            assignment = market.accept(state, worker_of(state, worker_id), hit_of(state, hit_id))
            return accepted_document(assignment, site_of(state, request))

    @api.post("/assignments/{assignment_id}/return")
    def give_back(
        assignment_id: str, worker_id: Annotated[str, Body(embed=True)], request: Request
    ) -> Document:
        with market.settled(state):
            assignment = assignment_of(state, assignment_id, worker_id)
            market.give_back(state, assignment)
            return accepted_document(assignment, site_of(state, request))

    @api.get("/workers/{worker_id}")
    def read_worker(worker_id: str, request: Request) -> Document:
        """A worker's own assignments and earnings."""
        with market.settled(state):
            worker_of(state, worker_id)
            mine = of_worker(state, worker_id)
            return {
                "assignments": [
                    accepted_document(assignment, site_of(state, request)) for assignment in mine
                ],
                "earnings": {k: str(v) for k, v in earnings(state, worker_id).items()},
            }

    return api
