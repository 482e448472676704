"""The base of all models, errors and lists."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class Strict(BaseModel):
    """A model that refuses unknown fields and coerces no value."""

    model_config = ConfigDict(extra="forbid", strict=True)


Number = int | float
ObjectId = Annotated[str, Field(pattern=r"^[0-9a-f]{24}$")]
Moment = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$")]
Text = Annotated[str, Field(min_length=1)]
Email = Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+\.[^@\s]+$")]


def stamp(moment: datetime) -> str:
    """A time in the API's format: `2021-05-20T11:03:00.457000Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class ErrorDetail(Strict):
    status: int
    error_code: int
    title: str
    detail: str | list[str] | dict[str, list[str]]
    additional_information: str = ""
    traceback: str = ""
    interactive: bool = False


class Error(Strict):
    error: ErrorDetail


class Link(Strict):
    href: str | None
    title: str


class Links(Strict):
    self: Link
    last: Link
    next: Link
    previous: Link


class Meta(Strict):
    count: int


class Listed(Strict):
    """A page of a list. Prolific describes `_links` and `meta` only for filters; all lists have."""

    links: Annotated[Links, Field(alias="_links")]
    meta: Meta


class Done(Strict):
    """A response without content."""


Yes = Literal["1", "true", "yes", "t", "0", "false", "no", "f"]
