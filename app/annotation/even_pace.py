"""Replies whose time does not tell what they are about.

A claim that hands out a gold grid, or an answer to one, asks the database more or less than others
do: a millisecond or two of eight, which somebody near the server could measure. Where a campaign
has checks, replies leave at the next of even steps, most of them at the first.
"""

import asyncio
import time

from fastapi import Request
from starlette.types import Message, Receive, Scope, Send

from app.annotation.sessions import AnnotatorSession
from app.core.web import BriefRoute

STEP_SECONDS = 0.02


def keep_even_pace(request: Request, who: AnnotatorSession) -> None:
    """The reply to this request is to leave at an even step, if the campaign has checks."""
    request.state.is_even = bool(who.settings.gold_share or who.settings.repeat_share)


def seconds_to_step(elapsed: float) -> float:
    """From `elapsed` seconds after a request came to the next step; in [0, STEP_SECONDS)."""
    return -elapsed % STEP_SECONDS


class EvenRoute(BriefRoute):
    """A route whose function may ask for an even pace. No thread is held during
    the pause, and the transaction has ended."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.monotonic()

        async def send_at_step(message: Message) -> None:
            if message["type"] == "http.response.start" and scope["state"].get("is_even"):
                await asyncio.sleep(seconds_to_step(time.monotonic() - began))
            await send(message)

        await super().handle(scope, receive, send_at_step)
