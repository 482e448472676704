"""What a requester decides about a link, and the settings of every channel."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.core.fields import checked_fields
from app.recruitment.channels.registry import LINK, get_channel

# With these kinds of access, people use personal addresses, and the link's own address lets nobody
# in.
PERSONAL = ("listed", "single_use")


class LinkSettings(BaseModel):
    """Settings of a link. Likewise does not pay on this channel; it records what is owed."""

    model_config = ConfigDict(extra="forbid")

    access: Literal["open", "password", "listed", "single_use"] = Field(
        default="open",
        title="Who can take part",
        description="open: anyone with the link. password: anyone who also knows the password. "
        "listed: one address for each person on your list. single_use: addresses that each allow "
        "one assignment.",
    )
    per_device: int = Field(
        default=0,
        ge=0,
        le=1000,
        title="Assignments per device",
        description="How many one browser, or one person on a list, can do. 0: no limit.",
    )


def settings_model(channel: str) -> type[BaseModel]:
    """Return the settings model of a channel. Raises UnknownChannel."""
    return LinkSettings if channel == LINK else get_channel(channel).settings


def checked_settings(channel: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with defaults filled in. Raises InvalidInput with the field that is
    wrong."""
    model = settings_model(channel)
    return checked_fields(model, values, name="Settings", code="bad_recruitment")


def link_settings(stored: dict[str, Any]) -> LinkSettings:
    return LinkSettings.model_validate(stored)
