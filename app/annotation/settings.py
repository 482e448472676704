"""What a requester decides about the annotators' pages of a campaign."""

from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from app.core.errors import InvalidInput
from app.core.fields import field_title

Measure = Literal["warn", "stop", "leave_out"]
MEASURES: tuple[Measure, ...] = ("warn", "stop", "leave_out")
LONGEST_TEXT = 20_000


class AnnotationSettings(BaseModel):
    """Texts are Markdown; the form of the settings page is made from titles and descriptions."""

    model_config = ConfigDict(extra="forbid")

    language: Literal["auto", "en", "de", "ar"] = Field(
        default="auto",
        title="Language",
        description="Of buttons and hints; auto: what the annotator's browser asks for.",
    )
    consent: str = Field(
        default="",
        max_length=LONGEST_TEXT,
        title="Consent text",
        description="Shown first and must be agreed to. Empty: no such page. Markdown.",
    )
    instructions: str = Field(
        default="",
        max_length=LONGEST_TEXT,
        title="Instructions",
        description="Above the worked example. Empty: the built-in text. Markdown.",
    )
    show_instructions: bool = Field(
        default=True,
        title="Show instructions",
        description="Before the first grid; always at hand under Help.",
    )
    thanks: str = Field(
        default="",
        max_length=LONGEST_TEXT,
        title="Thanks",
        description="Shown at the end. Empty: the built-in text. Markdown.",
    )
    descriptions: Literal["auto", "required", "optional", "none"] = Field(
        default="auto",
        title="Descriptions of groups",
        description="auto: required for grids, none for bins.",
    )
    completion: Literal["code", "none"] = Field(
        default="code",
        title="Completion code",
        description="Whether the last page shows a code to copy.",
    )
    completion_url: str = Field(
        default="",
        max_length=2000,
        title="Completion address",
        description="A button of the last page leads there; {code} stands for the code.",
    )
    known_attribute: str = Field(
        default="",
        max_length=200,
        title="Known answers from attribute",
        description="Images with the same value of this attribute of the collection belong "
        "together, for everyone: practice and gold grids are made from it.",
    )
    known_value: str = Field(
        default="yes",
        max_length=200,
        title="Value to be ticked",
        description="Select campaigns: images with this value of the attribute show what is asked "
        "for, all others do not.",
    )
    practice: int = Field(
        default=0,
        ge=0,
        le=5,
        title="Practice grids",
        description="With known answers and feedback, before the first grid that counts.",
    )
    practice_pass: float = Field(
        default=0.7,
        ge=0,
        le=1,
        title="Agreement to pass practice",
        description="Below it the annotator is shown the known answer and tries again, once.",
    )
    gold_share: float = Field(
        default=0.0,
        ge=0,
        le=0.5,
        title="Share of gold grids",
        description="Of the grids of each annotator, on top of the budget; their answer is known.",
    )
    repeat_share: float = Field(
        default=0.0,
        ge=0,
        le=0.5,
        title="Share of repeats",
        description="An earlier grid again, in other places and colours, on top of the budget.",
    )
    measures: list[Measure] = Field(
        default=["warn"],
        title="If answers look random",
        description="Done by themselves once gold grids and repeats agree no better than chance. "
        "All can be taken back; what was done is always paid.",
    )

    @field_validator("completion_url")
    @classmethod
    def _is_web_address(cls, address: str) -> str:
        address = address.strip()
        if address and (urlsplit(address).scheme != "https" or not urlsplit(address).netloc):
            raise ValueError("it must start with https://")
        return address

    @field_validator("measures")
    @classmethod
    def _each_once(cls, measures: list[Measure]) -> list[Measure]:
        return [measure for measure in MEASURES if measure in measures]


def checked_annotation(values: dict[str, Any]) -> dict[str, Any]:
    """The settings with defaults filled in; raises InvalidInput with the field that is wrong."""
    try:
        return AnnotationSettings.model_validate(values).model_dump()
    except ValidationError as error:
        first = error.errors()[0]
        where = field_title(AnnotationSettings, first["loc"]) or "annotation"
        message = first["msg"].removeprefix("Value error, ")
        raise InvalidInput(f"{where}: {message}.", code="bad_annotation") from error


def annotation_of(stored: dict[str, Any]) -> AnnotationSettings:
    """Settings of a campaign; what it was made without has its default."""
    return AnnotationSettings.model_validate(stored)
