"""What a requester decides about a link, and the settings of every channel."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from app.core.fields import checked_fields
from app.recruitment.channels.registry import LINK, get_channel
from app.recruitment.link_fields import (
    CODE,
    MOST_FRAMES,
    MOST_PARAMETERS,
    PERSON,
    KeptParameter,
    Origin,
    Returns,
    placeholders_of,
)

# With these kinds of access, people use personal addresses, and the link's own address lets nobody
# in.
PERSONAL = ("listed", "single_use")


# What an id may look like (app.recruitment.parameters).
PersonForm = Literal["any", "word", "digits", "hex", "uuid"]


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
        description="How many one browser, or one person who is known by a list or an ID, can do. "
        "0: no limit.",
    )
    parameters: list[KeptParameter] = Field(
        default=[],
        max_length=MOST_PARAMETERS,
        title="Parameters to keep",
        description="Parameters of the address that are kept with each assignment. Others are "
        "ignored.",
    )
    person: str = Field(
        default="",
        max_length=60,
        title="Person's ID",
        description="The parameter that identifies the person, in every browser. Empty: none.",
    )
    person_required: bool = Field(
        default=True,
        title="ID is required",
        description="Otherwise, people without an ID are known by their browser.",
    )
    person_form: PersonForm = Field(
        default="any",
        title="Form of the ID",
        description="any: letters, digits and . _ ~ @ + : = - in any order. digits: digits only. "
        "word: letters, digits, - and _. hex: digits and a to f. uuid: as in RFC 9562.",
    )
    returns: Returns = Field(
        default=Returns(),
        title="Return addresses",
        description="Where people are sent back to. {id}, {code} and {parameter} are replaced.",
    )
    framed_by: list[Origin] = Field(
        default=[],
        max_length=MOST_FRAMES,
        title="Sites that can show the page in a frame",
        description="Such as https://survey.example.org. Empty: none.",
    )

    @field_validator("framed_by")
    @classmethod
    def _each_site_once(cls, origins: list[str]) -> list[str]:
        return list(dict.fromkeys(origins))

    @model_validator(mode="after")
    def _parameters_fit(self) -> "LinkSettings":
        names = [parameter.name for parameter in self.parameters]
        if len(set(names)) < len(names):
            raise ValueError("each parameter can be kept only once")
        if self.person and self.person not in names:
            raise ValueError(f"the ID “{self.person}” is not among the parameters to keep")
        if self.person and self.access in PERSONAL:
            raise ValueError("personal addresses already identify people; leave the ID out")
        if self.person and self.access == "password":
            raise ValueError(
                "an ID in the address lets people in without the password; leave one of them out"
            )
        if self.person not in ("", PERSON) and PERSON in names:
            raise ValueError(f"a parameter called {PERSON} can only be the person's ID")
        self._require_known_placeholders(names)
        return self

    def _require_known_placeholders(self, names: list[str]) -> None:
        known = [CODE, *names, *([PERSON] if self.person else [])]
        for outcome, template in self.returns.model_dump().items():
            for name in placeholders_of(template):
                if name not in known:
                    raise ValueError(
                        f"return address “{outcome}”: unknown placeholder {{{name}}}; choose from "
                        + ", ".join(f"{{{choice}}}" for choice in dict.fromkeys(known))
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
