"""Publishing HITs on MTurk: each is published once, however often it is requested."""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from app.core.settings import get_settings
from app.recruitment.channel import ChannelError, ChannelRefused, ChannelUnavailable
from app.recruitment.channels.mturk.api import MTurkApi
from app.recruitment.channels.mturk.errors import has_code
from app.recruitment.channels.mturk.people import Requirement
from app.recruitment.channels.mturk.texts import clipped, dollars
from app.recruitment.channels.mturk.xml import external_question

MAX_TITLE = 128
EVENTS = [
    "AssignmentAccepted",
    "AssignmentAbandoned",
    "AssignmentReturned",
    "AssignmentSubmitted",
    "HITReviewable",
    "HITExpired",
]


@dataclass(frozen=True)
class Task:
    """A HIT to publish. `token` is its UniqueRequestToken and its RequesterAnnotation.

    attempts: the number of this attempt; from 2 on, the HIT of an earlier attempt is looked for.
    """

    token: str
    title: str
    description: str
    keywords: str
    url: str
    places: int
    reward_cents: int
    lifetime: timedelta
    allowed: timedelta
    auto_approval: timedelta
    requirements: list[Requirement]
    attempts: int


def post(api: MTurkApi, task: Task) -> tuple[str, dict[str, Any]]:
    """Publish the HIT, or find the one that an earlier attempt published. Return its id and details
    to store."""
    # The same properties give the same HIT type, however often they are registered.
    hit_type = api.tell("create_hit_type", **hit_type_body(task))["HITTypeId"]
    trouble = _ask_for_notices(api, hit_type)
    hit = _hit_once(api, task, hit_type)
    details = {
        "hit_type_id": hit["HITTypeId"],
        "hit_group_id": hit["HITGroupId"],
        "preview_url": api.site.preview_url(hit["HITGroupId"]),
        "expires_at": hit["Expiration"].isoformat(),
        **({"notifications": trouble} if trouble else {}),
    }
    return hit["HITId"], details


def hit_type_body(task: Task) -> dict[str, Any]:
    """Return the parameters of CreateHITType."""
    return {
        "Title": clipped(task.title, MAX_TITLE),
        "Description": clipped(task.description, 2000),
        "Keywords": clipped(task.keywords, 1000),
        "Reward": dollars(task.reward_cents),
        "AssignmentDurationInSeconds": int(task.allowed.total_seconds()),
        "AutoApprovalDelayInSeconds": int(task.auto_approval.total_seconds()),
        "QualificationRequirements": task.requirements,
    }


def hit_body(task: Task, hit_type: str, *, encrypted: bool) -> dict[str, Any]:
    """Return the parameters of CreateHITWithHITType."""
    return {
        "HITTypeId": hit_type,
        "MaxAssignments": task.places,
        "LifetimeInSeconds": int(task.lifetime.total_seconds()),
        "Question": external_question(task.url, encrypted=encrypted),
        "RequesterAnnotation": task.token,
        "UniqueRequestToken": task.token,
    }


def _hit_once(api: MTurkApi, task: Task, hit_type: str) -> dict[str, Any]:
    """Publish the HIT unless it exists. MTurk knows a token for 24 hours, and a HIT's annotation as
    long as it exists."""
    existing = find_hit(api, task.token) if task.attempts > 1 else None
    if existing:
        return existing
    try:
        encrypted = api.site.environment != "custom"
        reply = api.tell(
            "create_hit_with_hit_type", **hit_body(task, hit_type, encrypted=encrypted)
        )
    except ChannelRefused as error:
        if not has_code(error, "HitAlreadyExists"):
            raise
        return _hit_named(api, str(error), task.token)
    hit: dict[str, Any] = reply["HIT"]
    return hit


def _hit_named(api: MTurkApi, message: str, token: str) -> dict[str, Any]:
    """Return the HIT that MTurk's refusal names if it has this token. Otherwise, look for it."""
    for word in re.findall(r"\b[A-Z0-9]{20,64}\b", message):
        try:
            hit: dict[str, Any] = api.read("get_hit", HITId=word)["HIT"]
        except ChannelRefused:
            continue
        if hit.get("RequesterAnnotation") == token:
            return hit
    listed = find_hit(api, token)
    if listed is None:
        raise ChannelUnavailable("MTurk already has this task, but does not list it yet.")
    return listed


def find_hit(api: MTurkApi, token: str) -> dict[str, Any] | None:
    """Return the account's HIT that was published with this token. This reads the whole list."""
    hits = api.every("list_hits", "HITs")
    return next((hit for hit in hits if hit.get("RequesterAnnotation") == token), None)


def _ask_for_notices(api: MTurkApi, hit_type: str) -> str:
    """Have the HIT type's events sent to the operator's queue. Return what went wrong, or an empty
    text.

    Notifications only tell that it is worth asking now, so everything works without them.
    """
    queue = get_settings().mturk_queue_url
    if not queue:
        return ""
    wanted = {
        "Destination": queue,
        "Transport": "SQS",
        "Version": "2014-08-15",
        "EventTypes": EVENTS,
    }
    try:
        api.tell(
            "update_notification_settings", HITTypeId=hit_type, Notification=wanted, Active=True
        )
    except ChannelError as error:
        return str(error)
    return ""
