"""The API under `/market/`, with which simulated participants do what the pages do."""

from fastapi import APIRouter, Depends, Request, Response

from emulators.prolific.api.wire import TheWorld, world_of
from emulators.prolific.errors import bad, not_found
from emulators.prolific.models.common import Strict, Text
from emulators.prolific.objects import Participant, Study, Submission
from emulators.prolific.rules import taking_part as rules
from emulators.prolific.world import World

COOKIE = "prolific_emulator_participant"
Shape = dict[str, object]


async def up_to_date(request: Request) -> None:
    world_of(request).clock.run_due()


router = APIRouter(prefix="/market", dependencies=[Depends(up_to_date)])


class TakePart(Strict):
    """start: whether to go on to the study immediately; otherwise the place is only reserved."""

    participant: Text
    start: bool = True


class Back(Strict):
    """The code that the participant comes back with, if any."""

    code: str | None = None


def the_study(world: World, id: str) -> Study:
    study = world.studies.get(id)
    if study is None or study.status == "UNPUBLISHED":
        raise not_found(f"Study {id}")
    return study


def the_submission(world: World, id: str) -> Submission:
    submission = world.submissions.get(id)
    if submission is None:
        raise not_found(f"Submission {id}")
    return submission


@router.get("/studies")
async def list_open(world: TheWorld, participant: str) -> list[Shape]:
    """The studies in which this participant can take part now."""
    person = world.participant(participant)
    return [
        {
            "id": study.id,
            "name": study.settings.name,
            "reward": study.settings.reward,
            "currency": study.workspace.currency,
            "minutes": study.settings.estimated_completion_time,
        }
        for study in rules.open_studies(world, person)
    ]


@router.post("/studies/{id}/take-part")
async def take_part(world: TheWorld, response: Response, id: str, wanted: TakePart) -> Shape:
    person = world.participant(wanted.participant)
    submission = rules.reserve(world, the_study(world, id), person)
    response.set_cookie(COOKIE, person.id, samesite="lax")
    url = rules.start(world, submission) if wanted.start else None
    return {"submission_id": submission.id, "url": url}


@router.post("/submissions/{id}/start")
async def start(world: TheWorld, id: str) -> Shape:
    submission = the_submission(world, id)
    return {"submission_id": submission.id, "url": rules.start(world, submission)}


@router.post("/submissions/{id}/complete")
async def complete(world: TheWorld, id: str, back: Back) -> Shape:
    submission = the_submission(world, id)
    rules.complete(world, submission, back.code)
    return submission_shape(submission)


@router.post("/submissions/{id}/return")
async def give_back(world: TheWorld, id: str) -> Shape:
    submission = the_submission(world, id)
    rules.give_back(world, submission)
    return submission_shape(submission)


@router.get("/submissions/{id}")
async def read(world: TheWorld, id: str) -> Shape:
    return submission_shape(the_submission(world, id))


def submission_shape(submission: Submission) -> Shape:
    return {
        "submission_id": submission.id,
        "study_id": submission.study.id,
        "participant": submission.participant.id,
        "status": submission.visible,
        "submitted": submission.submitted,
        "entered_code": submission.entered_code,
        "bonuses": submission.bonuses,
    }


def came_back(world: World, person: Participant, code: str | None) -> Submission:
    """The submission to which a code in the address belongs.

    It is the open submission whose study has the code, otherwise the latest open one (the code is
    wrong), otherwise the latest that ended with the code (the participant comes back again).
    """
    mine = [s for s in world.submissions.values() if s.participant is person]
    going = [s for s in mine if s.status == "ACTIVE" and not s.submitted]
    for submission in reversed(going):
        known = submission.study.code(code)
        if known and known.actor == "participant":
            return submission
    if going:
        return going[-1]
    done = [s for s in mine if s.submitted]
    if not done:
        raise bad("You are not taking part in a study.")
    return done[-1]
