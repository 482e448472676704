"""Manual webhooks under `/emulator/hooks/`: what was sent, and forged deliveries on demand."""

import json
import time
import uuid
from typing import Literal

import httpx
from fastapi import APIRouter, Depends

from emulators.prolific.api.wire import TheWorld
from emulators.prolific.errors import Refused, not_found
from emulators.prolific.hooks import Subscription, signed_headers
from emulators.prolific.market import up_to_date
from emulators.prolific.models.common import Strict, Text
from emulators.prolific.world import World

router = APIRouter(prefix="/emulator", dependencies=[Depends(up_to_date)])
Shape = dict[str, object]


class Send(Strict):
    """A delivery to the subscribers of `event_type`, valid or invalid as requested.

    mode `replay` repeats the delivery of `event_id` with the same signature and timestamp.
    """

    event_type: Text
    resource_id: Text
    status: str | None = None
    participant_id: str | None = None
    mode: Literal["valid", "wrong-signature", "no-signature", "replay"] = "valid"
    age_seconds: float = 0.0  # how old the signed timestamp is
    event_id: str | None = None
    timestamp: float | None = None  # X-Timestamp, by which events are ordered


@router.get("/hooks/events")
async def events(world: TheWorld) -> list[Shape]:
    return [
        {
            "id": event.id,
            "event_type": event.subscription.event_type,
            "target_url": event.subscription.target_url,
            "payload": event.payload,
            "status": event.status,
            "answers": event.answers,
        }
        for event in world.hooks.events
    ]


@router.post("/hooks/send")
async def send(world: TheWorld, wanted: Send) -> list[Shape]:
    """Deliver now to every enabled subscription of the type, and return the responses."""
    answers: list[Shape] = []
    for subscription in list(world.hooks.subscriptions.values()):
        if subscription.enabled and subscription.event_type == wanted.event_type:
            answers.append(await _deliver(world, subscription, wanted))
    return answers


async def _deliver(world: World, subscription: Subscription, wanted: Send) -> Shape:
    headers, body = _message(world, subscription, wanted)
    try:
        reply = await world.hooks.client.post(
            subscription.target_url, content=body, headers=headers
        )
    except httpx.HTTPError as error:
        raise Refused(502, f"{subscription.target_url}: {type(error).__name__}") from error
    return {
        "target_url": subscription.target_url,
        "status_code": reply.status_code,
        "event_id": headers["X-Event-ID"],
    }


def _message(
    world: World, subscription: Subscription, wanted: Send
) -> tuple[dict[str, str], bytes]:
    """The requested headers and body, which are kept for replays if they are valid."""
    if wanted.mode == "replay":
        if wanted.event_id not in world.hooks.sent:
            raise not_found(f"A delivery of event {wanted.event_id}")
        return world.hooks.sent[wanted.event_id]
    payload: Shape = {"resource_id": wanted.resource_id, "event_type": wanted.event_type}
    fields = {"status": wanted.status, "participant_id": wanted.participant_id}
    payload |= {name: value for name, value in fields.items() if value is not None}
    body = json.dumps(payload).encode()
    secret = world.hooks.secrets[subscription.workspace.id].value
    if wanted.mode == "wrong-signature":
        secret += "x"
    created = world.clock.seconds() if wanted.timestamp is None else wanted.timestamp
    id = wanted.event_id or str(uuid.uuid4())
    headers = signed_headers(secret, body, id, created, time.time() - wanted.age_seconds)
    if wanted.mode == "no-signature":
        del headers["X-Prolific-Request-Signature"]
    elif wanted.mode == "valid":
        world.hooks.sent[id] = (headers, body)
    return headers, body
