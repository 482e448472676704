"""Which channels there are, and how an account becomes one that can be spoken to."""

from collections.abc import Callable
from dataclasses import dataclass

from app.core.errors import LikewiseError
from app.recruitment.channel import Channel
from app.recruitment.channels.mturk import open_mturk
from app.recruitment.channels.prolific import open_prolific
from app.recruitment.channels.prolific_review import LEAST_MESSAGE, REJECTION_CATEGORIES


@dataclass(frozen=True)
class Credentials:
    """What a channel needs to speak for an account. Never logged.

    environment: `production`, `sandbox`, or `custom` (the endpoint of the operator's settings)
    secret: of `prolific` {"token"}; of `mturk` {"access_key_id", "secret_access_key"}, or None for
            what the server's own environment or the AWS profile `profile` says
    """

    environment: str
    secret: dict[str, str] | None
    profile: str = ""


@dataclass(frozen=True)
class RejectionRules:
    """What a platform wants of a rejection. categories: by its own name, in plain words; empty
    where it asks for none. least: characters of the reason that the person reads."""

    categories: dict[str, str]
    least: int


TITLES = {"mturk": "Mechanical Turk", "prolific": "Prolific"}
REJECTIONS = {
    "mturk": RejectionRules({}, 1),
    "prolific": RejectionRules(REJECTION_CATEGORIES, LEAST_MESSAGE),
}


class UnknownChannel(LikewiseError):
    """There is no such channel to speak to."""

    code = "unknown_channel"
    status = 422


_OPENERS: dict[str, Callable[[Credentials], Channel]] = {
    "mturk": open_mturk,
    "prolific": open_prolific,
}


def open_channel(name: str, credentials: Credentials) -> Channel:
    """The channel of these credentials; raises ChannelRefused when they cannot be used."""
    if name not in _OPENERS:
        raise UnknownChannel(f"You can't recruit on {name}: there is no such channel.")
    return _OPENERS[name](credentials)
