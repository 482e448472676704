"""What a requester decides about recruiting on MTurk."""

from typing import Literal

from pydantic import Field

from app.recruitment.channels.paid import Country, Paid


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
