"""The available channels, and opening an account's channel."""

from collections.abc import Callable
from dataclasses import dataclass

from app.core.errors import LikewiseError
from app.recruitment.channel import Channel
from app.recruitment.channels.mturk import open_mturk
from app.recruitment.channels.prolific import open_prolific
from app.recruitment.channels.prolific_review import LEAST_MESSAGE, REJECTION_CATEGORIES


@dataclass(frozen=True)
class Credentials:
    """What a channel needs to act for an account. This is never logged.

    environment: `production`, `sandbox` or `custom` (the endpoint in the operator's settings).
    secret: for `prolific` {"token"}; for `mturk` {"access_key_id", "secret_access_key"}, or None to
        use the server's own environment or the AWS profile `profile`.
    """

    environment: str
    secret: dict[str, str] | None
    profile: str = ""


@dataclass(frozen=True)
class RejectionRules:
    """What a platform requires for a rejection.

    categories: descriptions by the platform's own names; empty if it has no categories.
    least: the minimum length of the reason in characters.
    """

    categories: dict[str, str]
    least: int


TITLES = {"mturk": "Mechanical Turk", "prolific": "Prolific"}
REJECTIONS = {
    "mturk": RejectionRules({}, 1),
    "prolific": RejectionRules(REJECTION_CATEGORIES, LEAST_MESSAGE),
}


class UnknownChannel(LikewiseError):
    """There is no such channel."""

    code = "unknown_channel"
    status = 422


_OPENERS: dict[str, Callable[[Credentials], Channel]] = {
    "mturk": open_mturk,
    "prolific": open_prolific,
}


def open_channel(name: str, credentials: Credentials) -> Channel:
    """Return the channel for these credentials. Raises ChannelRefused if they cannot be used."""
    if name not in _OPENERS:
        raise UnknownChannel(f"You can't recruit on {name}: there is no such channel.")
    return _OPENERS[name](credentials)
