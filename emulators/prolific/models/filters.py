"""Filters, which decide who can take part."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from emulators.prolific.models.common import Listed, Number, Strict, Text

Bound = int | float | str


class SelectFilter(Strict):
    filter_id: Text
    selected_values: Annotated[list[str], Field(min_length=1)]
    weightings: dict[str, Number] | None = None


class Range(Strict):
    lower: Bound | None = None
    upper: Bound | None = None

    @model_validator(mode="after")
    def _require_bound(self) -> "Range":
        if self.lower is None and self.upper is None:
            raise ValueError("lower or upper must be given")
        return self


class RangeWeight(Strict):
    selected_range: Range
    weighting: Number


class RangeFilter(Strict):
    filter_id: Text
    selected_range: Range
    weightings: dict[str, RangeWeight] | None = None


class CompositeFilter(Strict):
    filter_id: Literal["and", "or"]
    selected_filters: "list[AnyFilter]"


AnyFilter = SelectFilter | RangeFilter | CompositeFilter


class _Described(Strict):
    filter_id: str
    title: str
    description: str
    question: str
    researcher_help_text: str | None = None
    participant_help_text: str | None = None
    category: str | None = None
    subcategory: str | None = None
    display_order: int | None = None
    tags: list[str] | None = None


class SelectDescription(_Described):
    type: Literal["select"]
    choices: dict[str, str]
    data_type: Literal["ChoiceID", "ParticipantID", "StudyID", "ParticipantGroupID"]


class RangeDescription(_Described):
    type: Literal["range"]
    min: Bound
    max: Bound
    data_type: Literal["date", "integer", "float"]
    min_max: Bound | None = None
    max_min: Bound | None = None


class FilterList(Listed):
    results: list[SelectDescription | RangeDescription]


class EligibilityQuestion(Strict):
    filters: list[AnyFilter]
    workspace_id: str | None = None
    organisation_id: str | None = None


class EligibilityCount(Strict):
    count: Number
