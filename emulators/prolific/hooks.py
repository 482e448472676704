"""Webhooks: subscriptions, and events that are signed, sent and retried."""

import asyncio
import base64
import hashlib
import hmac
import json
import secrets
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

import httpx
from pydantic import TypeAdapter, ValidationError

from emulators.kit.clock import Clock
from emulators.prolific.faults import Faults
from emulators.prolific.models.hooks import EventType, Payload
from emulators.prolific.objects import Study, Submission, Workspace, new_id

RETRIES = 11  # besides the first attempt, within a day
TIMEOUT_SECONDS = 10.0
DISABLED_AFTER = 5 * 24 * 3600.0
PAYLOAD: TypeAdapter[Payload] = TypeAdapter(Payload)


@dataclass
class Secret:
    workspace: Workspace
    id: str = field(default_factory=new_id)
    value: str = field(default_factory=lambda: secrets.token_urlsafe(32))


@dataclass
class Subscription:
    workspace: Workspace
    event_type: EventType
    target_url: str
    id: str = field(default_factory=new_id)
    confirmation: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    confirmed: bool = False
    enabled: bool = False
    failing_since: float | None = None


@dataclass
class Event:
    subscription: Subscription
    payload: dict[str, object]
    created: datetime
    updated: datetime
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    status: str = "PENDING"
    answers: list[int | str] = field(default_factory=list)  # status codes, or what went wrong


class Hooks:
    """Secrets, subscriptions and events of all workspaces."""

    def __init__(self, clock: Clock, faults: Faults, violate: Callable[[str, str], None]) -> None:
        self._clock = clock
        self._faults = faults
        self._violate = violate
        self._tasks: set[asyncio.Task[None]] = set()
        self.secrets: dict[str, Secret] = {}  # by workspace: one each
        self.subscriptions: dict[str, Subscription] = {}
        self.events: list[Event] = []
        self.sent: dict[str, tuple[dict[str, str], bytes]] = {}  # by event, for replays

    @cached_property
    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(timeout=TIMEOUT_SECONDS, trust_env=False)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        if "client" in self.__dict__:
            await self.client.aclose()

    @property
    def under_way(self) -> int:
        """The number of deliveries that wait for a response."""
        return len(self._tasks)

    def submission_changed(self, submission: Submission) -> None:
        self._announce(
            submission.study.workspace,
            "submission.status.change",
            submission.id,
            {"participant_id": submission.participant.id, "status": submission.visible},
        )

    def study_changed(self, study: Study) -> None:
        self._announce(
            study.workspace,
            "study.status.change",
            study.id,
            {"metadata": {}, "status": study.status},
        )

    def progress_changed(self, study: Study) -> None:
        self._announce(study.workspace, "study.progress.change", study.id, {})

    def _announce(
        self, workspace: Workspace, kind: EventType, resource: str, more: dict[str, object]
    ) -> None:
        payload = {"resource_id": resource, "event_type": kind, **more}
        try:
            PAYLOAD.validate_python(payload)
        except ValidationError as error:
            self._violate("hook", str(error))
        for subscription in self.subscriptions.values():
            if (
                subscription.enabled
                and subscription.workspace is workspace
                and subscription.event_type == kind
            ):
                self._plan(subscription, payload)

    def _plan(self, subscription: Subscription, payload: dict[str, object]) -> None:
        event = Event(subscription, payload, self._clock.now(), self._clock.now())
        self.events.append(event)
        wait = 0.0
        if late := self._faults.first("hook", "late"):
            wait = late.seconds or 0.0
        if mixed := self._faults.first("hook", "out-of-order"):
            wait += self._faults.random.uniform(0, mixed.seconds or 1.0)
        self._clock.later(wait, lambda: self._send(event))
        if self._faults.first("hook", "duplicate"):
            self._clock.later(wait, lambda: self._send(event))

    def _send(self, event: Event) -> None:
        task = asyncio.get_running_loop().create_task(self._deliver(event))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _deliver(self, event: Event) -> None:
        secret = self.secrets.get(event.subscription.workspace.id)
        if secret is None:
            self._violate("hook", "an event without a secret to sign it with")
            return
        body = json.dumps(event.payload).encode()
        headers = signed_headers(secret.value, body, event.id, event.created.timestamp())
        self.sent[event.id] = (headers, body)
        try:
            target = event.subscription.target_url
            reply = await self.client.post(target, content=body, headers=headers)
            event.answers.append(reply.status_code)
            delivered = reply.is_success
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            event.answers.append(type(error).__name__)
            delivered = False
        event.updated = self._clock.now()
        event.status = "SUCCEEDED" if delivered or event.status == "SUCCEEDED" else "FAILED"
        self._judge(event, delivered)

    def _judge(self, event: Event, delivered: bool) -> None:
        """Schedule the next attempt, or disable a subscription that has failed for five days."""
        subscription, now = event.subscription, self._clock.seconds()
        if delivered:
            subscription.failing_since = None
            return
        if subscription.failing_since is None:
            subscription.failing_since = now
        if now - subscription.failing_since >= DISABLED_AFTER:
            subscription.enabled = False
        attempts = len(event.answers)
        if attempts <= RETRIES and subscription.enabled:
            wait = self._faults.random.uniform(0, 60 * 2 ** (attempts - 1))
            self._clock.later(max(wait, 0.001), lambda: self._send(event))


def signed_headers(
    secret: str, body: bytes, event: str, created: float, sent: float | None = None
) -> dict[str, str]:
    """Headers of a delivery, signed with base64(HMAC_SHA256(secret, timestamp + body)).

    The signed timestamp is real time, because receivers compare it with their own clock. `created`,
    by which events are ordered, is the emulator's time.
    """
    timestamp = str(int(time.time() if sent is None else sent))
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return {
        "Content-Type": "application/json",
        "X-Prolific-Request-Timestamp": timestamp,
        "X-Prolific-Request-Signature": base64.b64encode(digest).decode(),
        "X-Event-ID": event,
        "X-Timestamp": str(int(created)),
    }
