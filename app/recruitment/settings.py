"""What a requester decides about recruiting on a channel. Forms are made from these models."""

import re
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from app.core.fields import MONEY, checked_fields
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

ChannelName = Literal["link", "mturk", "prolific"]
COUNTRY = r"^[A-Z]{2}(-[A-Z0-9]{1,3})?$"


def _country(value: object) -> object:
    """Return a country code as platforms write it. Raises ValueError with examples."""
    if not isinstance(value, str):
        return value
    written = value.strip().upper()
    if not re.match(COUNTRY, written):
        raise ValueError(f"“{value}” is not a country code such as US, GB or US-CA")
    return written


Country = Annotated[str, StringConstraints(pattern=COUNTRY), BeforeValidator(_country)]


class Paid(BaseModel):
    """Settings that all channels that pay have in common.

    `approve` is `automatic`, as soon as the work is complete here and submitted on the platform, or
    `review`, after the requester has approved it.
    """

    model_config = ConfigDict(extra="forbid")

    title: str = Field(
        default="",
        max_length=128,
        title="Title",
        description="What people see in the list of tasks. Empty: the campaign's question.",
    )
    description: str = Field(
        default="",
        max_length=2000,
        title="Description",
        description="One or two sentences about the task, shown before people accept it.",
    )
    approve: Literal["automatic", "review"] = Field(
        default="automatic",
        title="Pay the reward",
        description="Complete: all grids are done here and the work is submitted on the platform.",
    )
    extra_grids: int = Field(
        default=0,
        ge=0,
        le=100,
        title="Extra grids",
        description="How many grids beyond the assignment a person can do for a bonus.",
    )
    extra_cents: int = Field(
        default=0,
        ge=0,
        le=100_00,
        title="Bonus for each extra grid",
        description="On top of the reward.",
        json_schema_extra=MONEY,
    )
    quality_cents: int = Field(
        default=0,
        ge=0,
        le=1_000_00,
        title="Bonus for good work",
        description="Paid for each assignment if the person's gold grids and repeats agree better "
        "than chance.",
        json_schema_extra=MONEY,
    )
    exclude_former: bool = Field(
        default=True,
        title="One assignment per person",
        description="People who have submitted work for this campaign are not offered it again.",
    )

    @property
    def most_bonuses_cents(self) -> tuple[int, int]:
        """Return the most that one person can earn from extra grids and from the bonus for good
        work."""
        return self.extra_grids * self.extra_cents, self.quality_cents


class MTurkSettings(Paid):
    """Settings of a recruitment on MTurk. The limits are MTurk's own.

    guard: what people who don't qualify can do. `Accept`: they can see the task but not accept it.
        `PreviewAndAccept`: they can only find it in the list. `DiscoverPreviewAndAccept`: they
        can't see it at all.
    """

    keywords: str = Field(
        default="images, sort, group, categorize",
        max_length=1000,
        title="Keywords",
        description="Comma-separated.",
    )
    minutes_allowed: int = Field(
        default=60,
        ge=1,
        le=24 * 60,
        title="Minutes allowed",
        description="From accepting to submitting. After that, MTurk gives the place to someone "
        "else.",
    )
    lifetime_hours: int = Field(
        default=72,
        ge=1,
        le=365 * 24,
        title="Hours on the market",
        description="How long people can find the task. You can stop it earlier.",
    )
    auto_approval_hours: int = Field(
        default=72,
        ge=1,
        le=720,
        title="Hours until MTurk pays automatically",
        description="Work that nobody has approved or rejected by then is paid.",
    )
    keep_low_fee: bool = Field(
        default=True,
        title="Keep the lower fee",
        description="Publishes tasks (HITs) of at most nine places each. From ten places on, "
        "Mechanical Turk takes 40 % instead of 20 %.",
    )
    countries: list[Country] = Field(
        default=[],
        max_length=30,
        title="Countries",
        description="Two-letter codes such as US or GB, or US-CA. Empty: all.",
    )
    min_percent_approved: int = Field(
        default=0,
        ge=0,
        le=100,
        title="Minimum approval rate",
        description="Percentage of earlier work that was approved. 0: everyone.",
    )
    min_approved: int = Field(
        default=0,
        ge=0,
        le=1_000_000,
        title="Minimum number of approved tasks",
        description="New workers have an approval rate of 100 % until they have done about a "
        "hundred tasks, so set both.",
    )
    guard: Literal["Accept", "PreviewAndAccept", "DiscoverPreviewAndAccept"] = Field(
        default="PreviewAndAccept",
        title="People who don't qualify can",
        description="Applies to people who do not meet these conditions.",
    )


class ProlificSettings(Paid):
    """Settings of a recruitment on Prolific. The limits are Prolific's own."""

    minutes_estimated: int = Field(
        default=15,
        ge=1,
        le=600,
        title="Estimated minutes",
        description="Prolific shows this and the resulting pay per hour.",
    )
    minutes_allowed: int | None = Field(
        default=None,
        ge=2,
        le=24 * 60,
        title="Minutes allowed",
        description="After that, the place goes to someone else. Empty: Prolific's default.",
    )
    countries: list[Country] = Field(
        default=[],
        max_length=30,
        title="Countries of residence",
        description="Two-letter codes such as US or GB. Empty: all.",
    )
    min_percent_approved: int = Field(
        default=0,
        ge=0,
        le=100,
        title="Minimum approval rate",
        description="Percentage of earlier submissions that were approved. 0: everyone.",
    )
    min_approved: int = Field(
        default=0,
        ge=0,
        le=10_000,
        title="Minimum number of approved submissions",
        description="0: new participants too.",
    )
    devices: list[Literal["desktop", "tablet", "mobile"]] = Field(
        default=["desktop", "tablet", "mobile"],
        min_length=1,
        title="Devices",
        description="Devices that people can use to take part.",
    )
    screen_out_cents: int | None = Field(
        default=None,
        ge=1,
        le=100_00,
        title="Pay for failed practice",
        description="People who fail all practice grids are sent back with this amount. Empty: "
        "they continue.",
        json_schema_extra=MONEY,
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


SETTINGS: dict[str, type[BaseModel]] = {
    "link": LinkSettings,
    "mturk": MTurkSettings,
    "prolific": ProlificSettings,
}


def checked_settings(channel: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with defaults filled in. Raises InvalidInput with the field that is
    wrong."""
    return checked_fields(SETTINGS[channel], values, name="Settings", code="bad_recruitment")


def mturk_settings(stored: dict[str, Any]) -> MTurkSettings:
    return MTurkSettings.model_validate(stored)


def prolific_settings(stored: dict[str, Any]) -> ProlificSettings:
    return ProlificSettings.model_validate(stored)


def link_settings(stored: dict[str, Any]) -> LinkSettings:
    return LinkSettings.model_validate(stored)
