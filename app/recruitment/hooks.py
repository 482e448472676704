"""The address to which platforms send signed notifications."""

from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from app.core.web import DatabaseSession
from app.recruitment.channels.registry import get_channel
from app.recruitment.notices import hook_secret, take_hook

router = APIRouter(include_in_schema=False)


async def _body(request: Request) -> bytes:
    """Return the body as it was sent, because its bytes are signed."""
    return await request.body()


@router.post("/hooks/{channel}/{channel_account_id}")
def platform_hook(
    channel: str,
    channel_account_id: UUID,
    request: Request,
    body: Annotated[bytes, Depends(_body)],
    session: DatabaseSession,
) -> Response:
    """Process a notification that something changed on a platform. One with a wrong or old
    signature changes nothing."""
    secret = hook_secret(session, channel, channel_account_id)
    event = get_channel(channel).verified(request.headers, body, secret, datetime.now(UTC))
    fresh = take_hook(session, channel_account_id, event)
    return Response(status_code=202 if fresh else 200)
