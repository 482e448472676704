"""Responses whose timing does not reveal what they are about.

A request that assigns a gold grid, or submits an answer to one, needs a millisecond or two more or
less in the database than other requests, which someone near the server could measure. In campaigns
with checks, responses are therefore sent at the next multiple of a fixed step; most take one step.
"""

import asyncio
import time
from typing import Any

from fastapi import Request
from starlette.types import Message, Receive, Scope, Send

from app.annotation.checks import has_checks
from app.annotation.sessions import AnnotatorSession, assignment_of_token
from app.core.quick import QuickRoute

STEP_SECONDS = 0.02


def keep_even_pace(request: Request, who: AnnotatorSession) -> None:
    """Send the response to this request at an even step if the campaign has checks."""
    request.state.is_even = has_checks(who.settings)


def seconds_to_step(elapsed: float) -> float:
    """Return the time from `elapsed` seconds after a request came until the next step, in [0,
    STEP_SECONDS)."""
    return -elapsed % STEP_SECONDS


class EvenRoute(QuickRoute):
    """A route of annotators whose function can request an even pace, and may ask for the
    `assignment_id` of the bearer token. During the pause, no thread is blocked and the transaction
    has ended."""

    provides = QuickRoute.provides | {"assignment_id"}

    def given(self, request: Request) -> dict[str, Any]:
        if all(wanted.name != "assignment_id" for wanted in self.dependant.dependencies):
            return {}
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        is_bearer = scheme.lower() == "bearer"
        return {"assignment_id": assignment_of_token(token.strip() if is_bearer else "")}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.monotonic()

        async def send_at_step(message: Message) -> None:
            if message["type"] == "http.response.start" and scope["state"].get("is_even"):
                await asyncio.sleep(seconds_to_step(time.monotonic() - began))
            await send(message)

        await super().handle(scope, receive, send_at_step)
