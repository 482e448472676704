"""Filters, participant groups and messages."""

from datetime import datetime, timedelta

from fastapi import APIRouter, Request, Response

from emulators.prolific.api.shapes import Shape, group_shape, memberships, message_shape
from emulators.prolific.api.wire import Me, Page, StrictRoute, TheWorld, listed
from emulators.prolific.errors import bad
from emulators.prolific.models import filters as f
from emulators.prolific.models import people as m
from emulators.prolific.objects import Group, Message, Researcher
from emulators.prolific.rules import filters
from emulators.prolific.world import World

router = APIRouter(prefix="/api/v1", route_class=StrictRoute)


@router.get(
    "/filters/",
    operation_id="get-filters",
    response_model=f.FilterList,
    response_model_exclude_unset=True,
)
async def list_filters(
    request: Request, world: TheWorld, me: Me, page: Page, workspace_id: str | None = None
) -> Shape:
    if workspace_id:
        world.workspace_of(me, workspace_id)
    page.page_size = max(
        page.page_size, len(filters.CATALOGUE)
    )  # a list of filters always has one page
    catalogue = list(filters.CATALOGUE.items())
    return listed(request, page, catalogue, lambda entry: _filter_shape(world, me, *entry))


def _filter_shape(
    world: World, me: Researcher, id: str, known: filters.Choice | filters.Span
) -> Shape:
    described: Shape = {
        "filter_id": id,
        "title": known.title,
        "description": "",
        "question": known.question,
    }
    if isinstance(known, filters.Span):
        span = {"type": "range", "min": known.low, "max": known.high, "data_type": "integer"}
        return described | span
    choices = dict(known.choices or {})
    if known.data_type == "ParticipantGroupID":
        choices = {g.id: g.name for g in _my_groups(world, me)}
    elif known.data_type == "StudyID":
        choices = {s.id: s.settings.name for s in world.my_studies(me)}
    return described | {"type": "select", "choices": choices, "data_type": known.data_type}


@router.post(
    "/eligibility-count/", operation_id="get-eligible-count", response_model=f.EligibilityCount
)
async def count_eligible(world: TheWorld, me: Me, wanted: f.EligibilityQuestion) -> Shape:
    return {"count": filters.count(world, wanted.filters)}


def _my_groups(world: World, me: Researcher) -> list[Group]:
    return [g for g in world.groups.values() if g.workspace.owner is me and not g.deleted]


@router.get(
    "/participant-groups/", operation_id="get-participant-groups", response_model=m.GroupList
)
async def list_groups(
    request: Request,
    world: TheWorld,
    me: Me,
    page: Page,
    workspace_id: str | None = None,
    project_id: str | None = None,
    active: bool = True,
) -> Shape:
    if (workspace_id is None) == (project_id is None):
        raise bad("Give workspace_id or project_id.")
    if workspace_id is not None:
        workspace = world.workspace_of(me, workspace_id)
    else:
        workspace = world.project_of(me, project_id or "").workspace
    groups = [
        g for g in world.groups.values() if g.workspace is workspace and g.deleted is not active
    ]
    return listed(request, page, groups, lambda group: group_shape(world, group))


@router.post(
    "/participant-groups/",
    operation_id="create-participant-group",
    status_code=201,
    response_model=m.Group,
)
async def add_group(world: TheWorld, me: Me, wanted: m.GroupQuestion) -> Shape:
    workspace = world.workspace_of(me, wanted.workspace_id or "")
    group = Group(workspace, wanted.name, wanted.description)
    _join(world, group, wanted.participant_ids)
    world.groups[group.id] = group
    return group_shape(world, group)


def _join(world: World, group: Group, ids: list[str]) -> None:
    unknown = [id for id in ids if id not in world.participants]
    if unknown:
        raise bad({"participant_ids": [f"No such participants: {', '.join(unknown)}."]})
    for id in ids:
        group.members.setdefault(id, world.now)


@router.get(
    "/participant-groups/{id}/", operation_id="get-participant-group", response_model=m.Group
)
async def read_group(world: TheWorld, me: Me, id: str) -> Shape:
    return group_shape(world, world.group_of(me, id))


@router.patch(
    "/participant-groups/{id}/", operation_id="update-participant-group", response_model=m.Group
)
async def update_group(world: TheWorld, me: Me, id: str, change: m.GroupPatch) -> Shape:
    group = world.group_of(me, id)
    if change.participant_ids is not None:
        before, group.members = group.members, {}
        try:
            _join(world, group, change.participant_ids)
        except BaseException:
            group.members = before
            raise
    group.name = change.name or group.name
    return group_shape(world, group)


@router.delete(
    "/participant-groups/{id}/", operation_id="delete-participant-group", status_code=204
)
async def delete_group(world: TheWorld, me: Me, id: str) -> Response:
    world.group_of(me, id).deleted = True
    return Response(status_code=204)


@router.get(
    "/participant-groups/{id}/participants/",
    operation_id="get-participant-group-participants",
    response_model=m.MembershipList,
)
async def list_members(world: TheWorld, me: Me, id: str) -> Shape:
    return memberships(world.group_of(me, id).members)


@router.post(
    "/participant-groups/{id}/participants/",
    operation_id="add-to-participant-group",
    response_model=m.MembershipList,
)
async def add_members(world: TheWorld, me: Me, id: str, wanted: m.ParticipantIds) -> Shape:
    group = world.group_of(me, id)
    _join(world, group, wanted.participant_ids)
    return memberships(group.members)


@router.delete(
    "/participant-groups/{id}/participants/",
    operation_id="remove-from-participant-group",
    response_model=m.MembershipList,
)
async def remove_members(world: TheWorld, me: Me, id: str, wanted: m.ParticipantIds) -> Shape:
    group = world.group_of(me, id)
    for participant in wanted.participant_ids:
        group.members.pop(participant, None)
    return memberships(group.members)


@router.post("/messages/", operation_id="send-message", status_code=204)
async def send_message(world: TheWorld, me: Me, wanted: m.SendMessage) -> Response:
    _say(world, me, [wanted.recipient_id], wanted.body, wanted.study_id)
    return Response(status_code=204)


@router.post("/messages/bulk/", operation_id="bulk-message-participants", status_code=204)
async def send_messages(world: TheWorld, me: Me, wanted: m.SendMessages) -> Response:
    _say(world, me, wanted.ids, wanted.body, wanted.study_id)
    return Response(status_code=204)


def _say(world: World, me: Researcher, recipients: list[str], body: str, study_id: str) -> None:
    """Send a message, which researchers can send to people who took part in the study."""
    study = world.study_of(me, study_id)
    took_part = {submission.participant.id for submission in world.of_study[study.id]}
    strangers = [id for id in recipients if id not in took_part]
    if strangers:
        raise bad(f"These people did not take part in the study: {', '.join(strangers)}.")
    for id in recipients:
        world.messages.append(Message(me.id, id, body, study.id, world.now))


@router.get("/messages/", operation_id="get-messages", response_model=m.MessageList)
async def list_messages(
    request: Request,
    world: TheWorld,
    me: Me,
    page: Page,
    user_id: str | None = None,
    created_after: str | None = None,
) -> Shape:
    if user_id is None and created_after is None:
        raise bad("user_id or created_after is required.")
    since = world.now - timedelta(days=30)
    if created_after is not None:
        try:
            since = max(since, datetime.fromisoformat(created_after))
        except (ValueError, TypeError) as error:
            raise bad(
                {"created_after": ["This must be a date and time with a time zone."]}
            ) from error
    messages = [
        message
        for message in world.messages
        if me.id in (message.sender, message.recipient)
        and (user_id is None or user_id in (message.sender, message.recipient))
        and (created_after is None or message.sent_at > since)
    ]
    return listed(request, page, messages, message_shape)
