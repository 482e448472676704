"""What a requester decides about recruiting on Prolific."""

from typing import Literal

from pydantic import Field

from app.core.fields import MONEY
from app.recruitment.channels.paid import Country, Paid


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

    @property
    def failed_practice_cents(self) -> int | None:
        return self.screen_out_cents
