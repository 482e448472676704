"""The channels on which people can be recruited. A new one is a new folder here and one more line
below."""

import re

from app.campaigns.platforms import LINK, add_platform
from app.core.errors import LikewiseError
from app.recruitment.channel import Channel
from app.recruitment.channels.mturk.spec import MTurkSpec
from app.recruitment.channels.prolific.spec import ProlificSpec
from app.recruitment.channels.spec import ChannelSpec, Credentials

__all__ = ["LINK", "all_channels", "get_channel", "open_channel", "register"]


class UnknownChannel(LikewiseError):
    """There is no such channel."""

    code = "unknown_channel"
    status = 422


# Addresses contain it, and logs are cleaned of what comes after it (app/core/redaction.py).
NAME = re.compile(r"[a-z][a-z_]{0,19}")
_channels: dict[str, ChannelSpec] = {}


def register(channel: ChannelSpec) -> None:
    """Add a channel. Its addresses are served by applications that are created later."""
    if not NAME.fullmatch(channel.name) or channel.name == LINK:
        raise ValueError(f"{channel.name!r} cannot be the name of a channel")
    _channels[channel.name] = channel
    add_platform(channel.name, channel.title)


def all_channels() -> list[ChannelSpec]:
    return list(_channels.values())


def get_channel(name: str) -> ChannelSpec:
    """Return the description of a channel. Raises UnknownChannel."""
    if name not in _channels:
        known = " or ".join(_channels)
        raise UnknownChannel(f"You can't recruit on {name}: there is no such channel. Use {known}.")
    return _channels[name]


def open_channel(name: str, credentials: Credentials) -> Channel:
    """Return the channel for these credentials. Raises UnknownChannel, and ChannelRefused if they
    cannot be used."""
    return get_channel(name).open(credentials)


# In the order in which requesters see them.
register(ProlificSpec())
register(MTurkSpec())
