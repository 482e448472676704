"""A published HIT: adding places, closing it and reopening it."""

from datetime import datetime, timedelta
from typing import Any

from app.recruitment.channel import ChannelRefused, PostingRef, PostingStatus
from app.recruitment.channels.mturk.api import MTurkApi
from app.recruitment.channels.mturk.errors import has_code, token_known
from app.recruitment.channels.mturk.settings import MTurkSettings

MANY = 10
# MTurk refuses an end more than 365 days ahead by its own clock.
FARTHEST = timedelta(days=364)


def hit_of(api: MTurkApi, posting: PostingRef) -> dict[str, Any]:
    """Return the HIT as MTurk shows it, with the names of its API."""
    hit: dict[str, Any] = api.read("get_hit", HITId=posting.external_id)["HIT"]
    return hit


def status(api: MTurkApi, posting: PostingRef, now: datetime) -> PostingStatus:
    """Return the state. The HIT is open if someone can take a place, or can return one that others
    can take."""
    hit = hit_of(api, posting)
    live = hit["HITStatus"] in ("Assignable", "Unassignable") and hit["Expiration"] > now
    places = int(hit["MaxAssignments"])
    return PostingStatus(
        "open" if live else "closed",
        places,
        taken=places - int(hit["NumberOfAssignmentsAvailable"]),
        at_work=int(hit["NumberOfAssignmentsPending"]),
    )


def extend(
    api: MTurkApi, posting: PostingRef, places: int, token: str, total: int | None, now: datetime
) -> None:
    """Add places (see Channel.extend). The HIT is reopened if its time is over."""
    hit = hit_of(api, posting)
    has = int(hit["MaxAssignments"])
    more = places if total is None else min(places, total - has)
    if more > 0:
        if total is not None:
            _require_same_fee(has, more)
        _add_places(api, posting, more, token)
    reopen(api, posting, hit, now)


def _require_same_fee(has: int, more: int) -> None:
    if has < MANY <= has + more:
        raise ChannelRefused(
            f"This task has {has} places. MTurk does not let it grow to ten or more, because its "
            "fee would change. Publish another task instead.",
            "AWS.MechanicalTurk.InvalidMaximumAssignmentsIncrease",
        )


def _add_places(api: MTurkApi, posting: PostingRef, more: int, token: str) -> None:
    try:
        api.tell(
            "create_additional_assignments_for_hit",
            HITId=posting.external_id,
            NumberOfAdditionalAssignments=more,
            UniqueRequestToken=token,
        )
    except ChannelRefused as error:
        if not token_known(error, token):
            raise


def close(api: MTurkApi, posting: PostingRef, now: datetime) -> None:
    """End the HIT's time, because MTurk can neither pause nor stop a HIT. The end is an hour ago,
    in case the clocks differ."""
    _set_end(api, posting, now - timedelta(hours=1))


def reopen(api: MTurkApi, posting: PostingRef, hit: dict[str, Any], now: datetime) -> None:
    """Reopen the HIT until its original end. If that is less than an hour away, it gets its whole
    time again."""
    if hit["Expiration"] > now:
        return
    settings: MTurkSettings = posting.settings
    end = datetime.fromisoformat(posting.details["expires_at"])
    if end < now + timedelta(hours=1):
        end = now + timedelta(hours=settings.lifetime_hours)
    # If MTurk receives the same end again within a day, it treats it as a repetition and does
    # nothing, even after a pause in between (Dallinger's issue 3109).
    for minutes in range(10):
        if _set_end(api, posting, min(end, now + FARTHEST) + timedelta(minutes=minutes)):
            return
    raise ChannelRefused("MTurk does not open this task again.")


def _set_end(api: MTurkApi, posting: PostingRef, end: datetime) -> bool:
    """Set the end of the HIT. Return False if MTurk treats this as a repetition."""
    try:
        api.tell("update_expiration_for_hit", HITId=posting.external_id, ExpireAt=end)
    except ChannelRefused as error:
        if not (has_code(error, "DuplicateRequest") or "already been processed" in str(error)):
            raise
        return False
    return True
