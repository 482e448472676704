"""What requesters decide about recruiting on any platform. Forms are made from these models."""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from app.core.fields import MONEY

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

    @property
    def failed_practice_cents(self) -> int | None:
        """Return what people are paid who fail all practice grids and are sent back, or None if
        they continue."""
        return None
