"""Webhooks and the keys of signed study addresses."""

from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Query, Request, Response

from emulators.prolific.api.shapes import Shape, event_shape, subscription_shape
from emulators.prolific.api.wire import Me, Page, StrictRoute, TheWorld, listed
from emulators.prolific.errors import bad, not_found
from emulators.prolific.hooks import Secret, Subscription
from emulators.prolific.models import hooks as m
from emulators.prolific.objects import Researcher
from emulators.prolific.world import World

router = APIRouter(route_class=StrictRoute)
HOOKS = "/api/v1/hooks"
LOCAL = {"127.0.0.1", "localhost", "::1"}
EVENT_TYPES = {
    "submission.status.change": "A submission's status changed.",
    "study.status.change": "A study's status changed.",
    "study.progress.change": "Places of a study were taken or given back.",
}


@router.get("/.well-known/study/jwks.json", operation_id="get-study-jwks", response_model=m.KeySet)
async def keys(world: TheWorld) -> Shape:
    return world.signer.keys()


@router.get(HOOKS + "/event-types/", operation_id="get-event-types", response_model=m.EventTypeList)
async def event_types(request: Request, me: Me, page: Page) -> Shape:
    kinds = list(EVENT_TYPES.items())
    return listed(
        request, page, kinds, lambda kind: {"event_type": kind[0], "description": kind[1]}
    )


@router.get(HOOKS + "/secrets/", operation_id="get-secrets", response_model=m.SecretList)
async def list_secrets(
    request: Request, world: TheWorld, me: Me, page: Page, workspace_id: Annotated[str, Query()]
) -> Shape:
    workspace = world.workspace_of(me, workspace_id)
    secret = world.hooks.secrets.get(workspace.id)
    return listed(request, page, [secret] if secret else [], _secret_shape)


@router.post(
    HOOKS + "/secrets/", operation_id="create-secret", status_code=201, response_model=m.Secret
)
async def create_secret(world: TheWorld, me: Me, wanted: m.SecretQuestion) -> Shape:
    """Replace the workspace's secret; it has only one."""
    secret = Secret(world.workspace_of(me, wanted.workspace_id))
    world.hooks.secrets[secret.workspace.id] = secret
    return _secret_shape(secret)


def _secret_shape(secret: Secret) -> Shape:
    return {"id": secret.id, "value": secret.value, "workspace_id": secret.workspace.id}


@router.get(
    HOOKS + "/subscriptions/", operation_id="get-subscriptions", response_model=m.SubscriptionList
)
async def list_subscriptions(
    request: Request,
    world: TheWorld,
    me: Me,
    page: Page,
    is_enabled: bool = True,
    workspace_id: str | None = None,
) -> Shape:
    subscriptions = [
        subscription
        for subscription in world.hooks.subscriptions.values()
        if subscription.workspace.owner is me
        and subscription.enabled is is_enabled
        and workspace_id in (None, subscription.workspace.id)
    ]
    return listed(request, page, subscriptions, subscription_shape)


@router.post(
    HOOKS + "/subscriptions/",
    operation_id="create-subscription",
    status_code=201,
    response_model=m.Subscription,
)
async def create_subscription(
    response: Response, world: TheWorld, me: Me, wanted: m.SubscriptionQuestion
) -> Shape:
    workspace = world.workspace_of(me, wanted.workspace_id)
    if workspace.id not in world.hooks.secrets:
        raise bad("Create a secret for the workspace first.")
    _check_target(world, wanted.target_url)
    subscription = Subscription(workspace, wanted.event_type, wanted.target_url)
    world.hooks.subscriptions[subscription.id] = subscription
    response.headers["X-Hook-Secret"] = subscription.confirmation
    return subscription_shape(subscription)


def _check_target(world: World, url: str) -> None:
    parts = urlsplit(url)
    local = parts.hostname in LOCAL
    if local and world.options.local_targets and parts.scheme in ("http", "https"):
        return
    if parts.scheme != "https" or not parts.hostname or local:
        raise bad({"target_url": ["This must be a public https address."]})


def _mine(world: World, me: Researcher, id: str) -> Subscription:
    subscription = world.hooks.subscriptions.get(id)
    if subscription is None or subscription.workspace.owner is not me:
        raise not_found(f"Subscription {id}")
    return subscription


@router.get(
    HOOKS + "/subscriptions/{subscription_id}/",
    operation_id="get-subscription",
    response_model=m.Subscription,
)
async def read_subscription(world: TheWorld, me: Me, subscription_id: str) -> Shape:
    return subscription_shape(_mine(world, me, subscription_id))


@router.post(
    HOOKS + "/subscriptions/{subscription_id}/",
    operation_id="confirm-subscription",
    response_model=m.Subscription,
)
async def confirm(world: TheWorld, me: Me, subscription_id: str, given: m.Confirmation) -> Shape:
    subscription = _mine(world, me, subscription_id)
    if given.secret != subscription.confirmation:
        raise bad({"secret": ["This is not the X-Hook-Secret of this subscription."]})
    subscription.confirmed = subscription.enabled = True
    return subscription_shape(subscription)


@router.patch(
    HOOKS + "/subscriptions/{subscription_id}/",
    operation_id="update-subscription",
    response_model=m.Subscription,
)
async def update_subscription(
    world: TheWorld, me: Me, subscription_id: str, change: m.SubscriptionPatch
) -> Shape:
    subscription = _mine(world, me, subscription_id)
    if change.is_enabled and not subscription.confirmed:
        raise bad("Confirm the subscription first.")
    if change.target_url is not None:
        _check_target(world, change.target_url)
        subscription.target_url = change.target_url
    subscription.event_type = change.event_type or subscription.event_type
    if change.is_enabled is not None:
        subscription.enabled = change.is_enabled
    return subscription_shape(subscription)


@router.delete(
    HOOKS + "/subscriptions/{subscription_id}/",
    operation_id="delete-subscription",
    status_code=204,
)
async def delete_subscription(world: TheWorld, me: Me, subscription_id: str) -> Response:
    subscription = _mine(world, me, subscription_id)
    subscription.enabled = False
    del world.hooks.subscriptions[subscription.id]
    return Response(status_code=204)


@router.get(
    HOOKS + "/subscriptions/{subscription_id}/events/",
    operation_id="get-events",
    response_model=m.EventList,
)
async def list_events(
    world: TheWorld,
    me: Me,
    subscription_id: str,
    offset: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    status: str | None = None,
    resource_id: str | None = None,
) -> Shape:
    subscription = _mine(world, me, subscription_id)
    events = [
        event
        for event in world.hooks.events
        if event.subscription is subscription
        and (status is None or event.status == status)
        and (resource_id is None or event.payload["resource_id"] == resource_id)
    ]
    return {"results": [event_shape(event) for event in events[offset : offset + limit]]}
