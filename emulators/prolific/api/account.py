"""The researcher, workspaces and projects."""

from fastapi import APIRouter, Request

from emulators.prolific.api.shapes import (
    Shape,
    project_shape,
    project_short,
    workspace_short,
)
from emulators.prolific.api.wire import Me, Page, StrictRoute, TheWorld, listed
from emulators.prolific.errors import Refused, bad
from emulators.prolific.models import people as m
from emulators.prolific.objects import Participant, Project
from emulators.prolific.rules import money

router = APIRouter(prefix="/api/v1", route_class=StrictRoute)


@router.get("/users/me/", operation_id="get-user", response_model=m.User)
async def read_me(me: Me) -> Shape:
    return {"id": me.id, "email": me.email}


@router.post(
    "/researchers/participants/",
    operation_id="create-test-participant-for-researcher",
    status_code=201,
    response_model=m.TestParticipant,
)
async def add_tester(world: TheWorld, me: Me, wanted: m.TestParticipantQuestion) -> Shape:
    if "test-study" not in world.options.features:
        raise Refused(403, "This workspace cannot create test participants.")
    if any(person.email == wanted.email for person in world.participants.values()):
        raise bad({"email": ["This address is already registered."]})
    tester = Participant(wanted.email, tester_of=me.id)
    world.participants[tester.id] = tester
    me.testers.append(tester.id)
    return {"participant_id": tester.id}


@router.get("/workspaces/", operation_id="get-workspaces", response_model=m.WorkspaceList)
async def list_workspaces(request: Request, world: TheWorld, me: Me, page: Page) -> Shape:
    return listed(request, page, world.my_workspaces(me), workspace_short)


@router.get("/workspaces/{workspace_id}/", operation_id="get-workspace", response_model=m.Workspace)
async def read_workspace(world: TheWorld, me: Me, workspace_id: str) -> Shape:
    workspace = world.workspace_of(me, workspace_id)
    projects = [p for p in world.my_projects(me) if p.workspace is workspace]
    return {
        **workspace_short(workspace),
        "projects": [project_short(project) for project in projects],
        "wallet": workspace.id,
    }


@router.get(
    "/workspaces/{workspace_id}/balance/",
    operation_id="get-workspace-balance",
    response_model=m.Balance,
)
async def read_balance(world: TheWorld, me: Me, workspace_id: str) -> Shape:
    workspace = world.workspace_of(me, workspace_id)
    total, left = world.wallet.total(workspace), money.available(world, workspace)
    return {
        "currency_code": workspace.currency,
        "total_balance": total,
        "balance_breakdown": money.breakdown(workspace, total),
        "available_balance": left,
        "available_balance_breakdown": money.breakdown(workspace, left),
    }


@router.get(
    "/workspaces/{workspace_id}/projects/",
    operation_id="get-projects",
    response_model=m.ProjectList,
)
async def list_projects(
    request: Request, world: TheWorld, me: Me, page: Page, workspace_id: str
) -> Shape:
    workspace = world.workspace_of(me, workspace_id)
    projects = [project for project in world.my_projects(me) if project.workspace is workspace]
    return listed(request, page, projects, project_short)


@router.post(
    "/workspaces/{workspace_id}/projects/",
    operation_id="create-project",
    status_code=201,
    response_model=m.Project,
)
async def add_project(
    world: TheWorld, me: Me, workspace_id: str, wanted: m.ProjectQuestion
) -> Shape:
    workspace = world.workspace_of(me, workspace_id)
    rate = wanted.naivety_distribution_rate
    project = Project(workspace, wanted.title, wanted.description, rate)
    world.projects[project.id] = project
    return project_shape(project)


@router.get("/projects/{project_id}/", operation_id="get-project", response_model=m.Project)
async def read_project(world: TheWorld, me: Me, project_id: str) -> Shape:
    return project_shape(world.project_of(me, project_id))
