"""Webhooks: secrets, subscriptions, events, and the keys of signed study addresses."""

from typing import Literal

from emulators.prolific.models.common import Listed, Moment, Strict, Text
from emulators.prolific.models.studies import StudyStatus
from emulators.prolific.models.submissions import Status

EventType = Literal["submission.status.change", "study.status.change", "study.progress.change"]


class EventDescription(Strict):
    event_type: EventType
    description: str


class EventTypeList(Listed):
    results: list[EventDescription]


class SecretQuestion(Strict):
    workspace_id: Text


class Secret(Strict):
    id: str
    value: str
    workspace_id: str


class SecretList(Listed):
    results: list[Secret]


class SubscriptionQuestion(Strict):
    workspace_id: Text
    event_type: EventType
    target_url: Text


class Confirmation(Strict):
    secret: Text


class SubscriptionPatch(Strict):
    event_type: EventType | None = None
    target_url: Text | None = None
    is_enabled: bool | None = None


class Subscription(Strict):
    id: str
    event_type: EventType
    target_url: str
    is_enabled: bool
    workspace_id: str


class SubscriptionList(Listed):
    results: list[Subscription]


class SubmissionChanged(Strict):
    resource_id: str
    event_type: Literal["submission.status.change"]
    participant_id: str
    status: Status


class StudyChanged(Strict):
    resource_id: str
    event_type: Literal["study.status.change"]
    metadata: dict[str, str]
    status: StudyStatus


class ProgressChanged(Strict):
    resource_id: str
    event_type: Literal["study.progress.change"]


Payload = SubmissionChanged | StudyChanged | ProgressChanged


class SentEvent(Strict):
    id: str
    datetime_created: Moment
    datetime_updated: Moment
    event_type: EventType
    resource_id: str
    status: Literal["PENDING", "SUCCEEDED", "FAILED"]
    target_url: str
    payload: Payload


class EventList(Strict):
    results: list[SentEvent]


class Key(Strict):
    kty: Literal["RSA"]
    kid: str
    alg: Literal["RS256"]
    n: str
    e: str
    use: Literal["sig"]
    key_ops: list[Literal["verify"]]


class KeySet(Strict):
    keys: list[Key]
