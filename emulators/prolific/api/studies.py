"""Studies: `/api/v1/studies/` and what they cost."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from emulators.prolific.api.shapes import Shape, cost_shape, study_shape, study_short
from emulators.prolific.api.wire import Me, Page, StrictRoute, TheWorld, listed
from emulators.prolific.errors import Refused, bad, not_found
from emulators.prolific.models import studies as m
from emulators.prolific.models.common import Done
from emulators.prolific.models.filters import SelectFilter
from emulators.prolific.objects import Study
from emulators.prolific.rules import money
from emulators.prolific.rules import studies as rules
from emulators.prolific.wallet import price

router = APIRouter(prefix="/api/v1", route_class=StrictRoute)
STATES = {
    "ACTIVE", "PAUSED", "UNPUBLISHED", "PUBLISHING", "COMPLETED", "AWAITING REVIEW", "UNKNOWN",
    "SCHEDULED",
}  # fmt: skip


@router.post("/studies/", operation_id="create-study", status_code=201, response_model=m.Study)
async def create_study(world: TheWorld, me: Me, settings: m.StudySettings) -> Shape:
    return study_shape(rules.create(world, me, settings))


@router.get("/studies/", operation_id="get-studies", response_model=m.StudyList)
async def list_studies(
    request: Request, world: TheWorld, me: Me, page: Page, state: str | None = None
) -> Shape:
    studies = _in_states(world.my_studies(me), state)
    return listed(request, page, studies, lambda study: study_short(world, study))


def _in_states(studies: list[Study], state: str | None) -> list[Study]:
    """state: one status, or several as `(active|published)`."""
    if state is None:
        return studies
    wanted = {part.strip().upper().replace("_", " ") for part in state.strip("()").split("|")}
    if not wanted <= STATES:
        raise bad({"state": [f"This must be one of {', '.join(sorted(STATES))}."]})
    return [study for study in studies if study.status in wanted]


@router.get(
    "/projects/{project_id}/studies/",
    operation_id="get-project-studies",
    response_model=m.StudyList,
)
async def list_project_studies(
    request: Request, world: TheWorld, me: Me, page: Page, project_id: str
) -> Shape:
    project = world.project_of(me, project_id)
    studies = [study for study in world.my_studies(me) if study.project is project]
    return listed(request, page, studies, lambda study: study_short(world, study))


@router.get("/studies/{id}/", operation_id="get-study", response_model=m.Study)
async def read_study(world: TheWorld, me: Me, id: str) -> Shape:
    return study_shape(world.study_of(me, id))


@router.patch("/studies/{id}/", operation_id="update-study", response_model=m.Study)
async def update_study(world: TheWorld, me: Me, id: str, change: m.StudyPatch) -> Shape:
    study = world.study_of(me, id)
    rules.patch(world, study, change)
    return study_shape(study)


@router.delete("/studies/{id}/", operation_id="delete-study", response_model=Done)
async def delete_study(world: TheWorld, me: Me, id: str) -> Shape:
    """Answers 200 with an empty object, as described; the route below a project answers 204."""
    rules.delete(world, world.study_of(me, id))
    return {}


@router.delete(
    "/projects/{project_id}/studies/{study_id}/",
    operation_id="delete-project-study",
    status_code=204,
)
async def delete_project_study(world: TheWorld, me: Me, project_id: str, study_id: str) -> Response:
    study = world.study_of(me, study_id)
    if study.project is not world.project_of(me, project_id):
        raise not_found(f"Study {study_id}")
    rules.delete(world, study)
    return Response(status_code=204)


@router.post("/studies/{id}/transition/", operation_id="publish-study", response_model=m.Study)
async def transition_study(world: TheWorld, me: Me, id: str, wanted: m.StudyTransition) -> Shape:
    study = world.study_of(me, id)
    moment = datetime.fromisoformat(wanted.publish_at) if wanted.publish_at else None
    rules.transition(world, study, wanted.action, moment)
    return study_shape(study)


@router.post("/studies/{id}/clone/", operation_id="duplicate-study", response_model=m.Study)
async def clone_study(
    world: TheWorld, me: Me, id: str, wanted: m.CloneStudy | None = None
) -> Shape:
    study = world.study_of(me, id)
    filters = list(study.settings.filters or [])
    if wanted is None or wanted.block_previous_participants:
        blocked = SelectFilter(filter_id="previous_studies_blocklist", selected_values=[study.id])
        filters.append(blocked)
    settings = study.settings.model_copy(update={"filters": filters}, deep=True)
    return study_shape(rules.create(world, me, settings))


@router.post(
    "/studies/{id}/test-study", operation_id="create-test-study", response_model=m.TestStudy
)
async def test_study(world: TheWorld, me: Me, id: str) -> Shape:
    draft = world.study_of(me, id)
    if "test-study" not in world.options.features:
        raise Refused(403, "This workspace cannot create test studies.")
    if draft.status != "UNPUBLISHED":
        raise bad("Only a draft can be tested.")
    if not me.testers:
        raise bad("Create a test participant first.")
    trial = rules.create(world, me, replace(draft).settings)
    trial.only_for = frozenset(me.testers)
    rules.transition(world, trial, "PUBLISH", None)
    return {"study_id": trial.id, "study_url": f"{world.site}/studies/{trial.id}"}


@router.get("/studies/{id}/cost/", operation_id="get-study-cost", response_model=m.StudyCost)
async def study_cost(
    request: Request,
    world: TheWorld,
    me: Me,
    id: str,
    is_projected: Annotated[bool, Query()] = False,
) -> Shape:
    study = world.study_of(me, id)
    rewards = world.wallet.spent(study, ("reward", "partial", "screen-out"))
    if is_projected:
        rewards = money.unit(study) * study.settings.total_available_places
    currency = study.workspace.currency
    bonuses = world.wallet.spent(study, ("bonus",))
    return {
        "rewards": cost_shape(currency, rewards),
        "bonuses": cost_shape(currency, bonuses),
        "_links": {"self": {"href": str(request.url), "title": "Cost"}},
    }


@router.post("/study-cost-calculator/", operation_id="calculate-study-cost", response_model=m.Cost)
async def calculate_cost(world: TheWorld, me: Me, wanted: m.CostQuestion) -> Shape:
    workspace = world.my_workspaces(me)[0]
    return {"total_cost": price(workspace, wanted.reward).total * wanted.total_available_places}
