"""The API under `/emulator/` with which tests and demos control the emulator."""

from dataclasses import asdict
from decimal import Decimal
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from pydantic import Field

from emulators.prolific.api.shapes import submission_detail
from emulators.prolific.api.wire import TheWorld
from emulators.prolific.errors import bad, not_found
from emulators.prolific.faults import Fault
from emulators.prolific.market import the_submission, up_to_date
from emulators.prolific.models.common import Email, Strict, Text, stamp
from emulators.prolific.models.submissions import Status
from emulators.prolific.options import ACADEMIC_FEE, AccountOptions
from emulators.prolific.rules import money
from emulators.prolific.rules.taking_part import set_status
from emulators.prolific.world import World

router = APIRouter(prefix="/emulator", dependencies=[Depends(up_to_date)])
Shape = dict[str, object]


class NewResearcher(Strict):
    token: Text
    email: Email = "researcher@example.org"
    balance: Annotated[int, Field(ge=0)] = 1_000_000
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")] = "GBP"
    fee_rate: Annotated[float, Field(ge=0)] = float(ACADEMIC_FEE)
    vat_rate: Annotated[float, Field(ge=0)] = 0.0


class NewParticipants(Strict):
    """How many participants to create, and their answers to filters."""

    count: Annotated[int, Field(ge=1, le=10_000)] = 1
    attributes: dict[str, str | int | float | list[str]] = Field(default_factory=dict)


class Deposit(Strict):
    amount: int


class Advance(Strict):
    seconds: Annotated[float, Field(ge=0)]


class Force(Strict):
    status: Status


@router.post("/reset")
async def reset(request: Request) -> Shape:
    """Reset everything to the state after the start."""
    old: World = request.app.state.world
    request.app.state.world = World(old.options, old.site)
    await old.hooks.close()
    return {"reset": True}


@router.post("/researchers")
async def add_researcher(world: TheWorld, wanted: NewResearcher) -> Shape:
    if wanted.token in world.researchers:
        raise bad({"token": ["This token is already used."]})
    researcher = world.add_researcher(
        AccountOptions(
            wanted.token, wanted.email, wanted.balance, wanted.currency,
            Decimal(str(wanted.fee_rate)), Decimal(str(wanted.vat_rate)),
        )
    )  # fmt: skip
    return {"id": researcher.id, "workspace_id": world.my_workspaces(researcher)[0].id}


@router.post("/workspaces/{id}/deposit")
async def deposit(world: TheWorld, id: str, wanted: Deposit) -> Shape:
    if id not in world.workspaces:
        raise not_found(f"Workspace {id}")
    world.wallet.deposit(world.workspaces[id], wanted.amount)
    return {"total": world.wallet.total(world.workspaces[id])}


@router.get("/participants")
async def list_participants(world: TheWorld) -> list[Shape]:
    return [asdict(person) for person in world.participants.values()]


@router.post("/participants")
async def add_participants(world: TheWorld, wanted: NewParticipants) -> list[Shape]:
    added = [world.add_participant() for _ in range(wanted.count)]
    for person in added:
        person.attributes |= wanted.attributes
    return [asdict(person) for person in added]


@router.get("/state")
async def state(world: TheWorld) -> Shape:
    """All people, studies and submissions, and the balance of each wallet."""
    return {
        "now": stamp(world.now),
        "researchers": [{"id": r.id, "email": r.email} for r in world.researchers.values()],
        "workspaces": [
            {
                "id": w.id,
                "owner": w.owner.id,
                "currency": w.currency,
                "total": world.wallet.total(w),
                "available": money.available(world, w),
            }
            for w in world.workspaces.values()
        ],
        "studies": [
            {"id": s.id, "name": s.settings.name, "status": s.status} | _places(world, s.id)
            for s in world.studies.values()
        ],
        "submissions": [
            submission_detail(s)
            | {"true_status": s.status, "history": [[stamp(at), was] for at, was in s.history]}
            for s in world.submissions.values()
        ],
        "bulk_bonuses": [
            {"id": b.id, "study": b.study.id, "total": b.total, "paid": b.paid}
            for b in world.bulks.values()
        ],
        "messages": [asdict(message) for message in world.messages],
    }


def _places(world: World, id: str) -> Shape:
    study = world.studies[id]
    return {
        "places": study.settings.total_available_places,
        "taken": money.places_taken(world, study),
        "reserved": money.reserved(world, study),
    }


@router.get("/journal")
async def journal(world: TheWorld) -> list[Shape]:
    """Every payment: positive amounts came into a workspace, negative ones left it."""
    return [asdict(entry) for entry in world.wallet.journal]


@router.get("/violations")
async def violations(world: TheWorld) -> list[Shape]:
    return [asdict(violation) for violation in world.violations]


@router.get("/calls")
async def calls(world: TheWorld) -> list[Shape]:
    return [asdict(call) for call in world.calls]


@router.get("/faults")
async def read_faults(world: TheWorld) -> list[Fault]:
    return world.faults.rules


@router.put("/faults")
async def set_faults(world: TheWorld, wanted: list[Fault]) -> list[Fault]:
    """Replace all faults with these; an empty list switches all off."""
    world.faults.rules = wanted
    return wanted


@router.get("/clock")
async def read_clock(world: TheWorld) -> Shape:
    return {"now": stamp(world.now)}


@router.post("/clock/advance")
async def advance(world: TheWorld, wanted: Advance) -> Shape:
    world.clock.advance(wanted.seconds)
    return {"now": stamp(world.now)}


@router.post("/submissions/{id}")
async def force(world: TheWorld, id: str, wanted: Force) -> Shape:
    """Set a status regardless of the rules, as Prolific's support can."""
    submission = the_submission(world, id)
    set_status(world, submission, wanted.status)
    return submission_detail(submission)
