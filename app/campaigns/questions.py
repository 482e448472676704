"""Questions that annotators answer before or after the grids: their types, limits and rules.

Every type says what annotators see of it, whether an answer fits, and whether it screens a person
out. Answers are JSON: a text, a number, or a list of texts.
"""

import hashlib
import json
import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from app.core.fields import StrictBool, StrictInt

Place = Literal["before", "after"]
PLACES: tuple[Place, ...] = ("before", "after")
MOST_QUESTIONS = 30
SEPARATOR = ";"
# What annotators are not shown of a question.
RULES = {"screen_out", "screen_out_below", "screen_out_above"}
Text = Annotated[str, Field(min_length=1, max_length=200)]


class _Asked(BaseModel):
    """What all questions have. `key` names the question in exports."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    key: str = Field(min_length=1, max_length=40)
    title: str = Field(min_length=1, max_length=1000)
    help: str = Field(default="", max_length=1000)
    required: StrictBool = True

    @field_validator("key")
    @classmethod
    def _is_a_name(cls, key: str) -> str:
        plain = key.isascii() and key.replace("_", "").isalnum() and key == key.lower()
        if not plain or not key[0].isalpha():
            raise ValueError(
                "a key has only lower-case letters, digits and _ and begins with a letter, such as "
                f"age_group; {key!r} is not one"
            )
        return key

    @property
    def rules(self) -> dict[str, Any]:
        """Return the screening rules that are set."""
        return {name: value for name in RULES if (value := getattr(self, name, None))}

    def shown(self) -> dict[str, Any]:
        """Return what annotators see."""
        return self.model_dump(exclude=RULES)

    def screens_out(self, answer: Any) -> bool:
        """Return whether an answer that fits screens the person out."""
        return False


class AskedChoice(_Asked):
    """One of several texts or, if `multiple`, any number of them."""

    type: Literal["choice"]
    choices: list[Text] = Field(min_length=2, max_length=50)
    multiple: StrictBool = False


class AskedNumber(_Asked):
    """A number within limits."""

    type: Literal["number"]
    min: float | None = Field(default=None, allow_inf_nan=False)
    max: float | None = Field(default=None, allow_inf_nan=False)
    whole: StrictBool = True


class ChoiceQuestion(AskedChoice):
    """`screen_out` are the choices that screen a person out."""

    screen_out: list[Text] = Field(default_factory=list, max_length=50)

    @model_validator(mode="after")
    def _fits_together(self) -> "ChoiceQuestion":
        if len(set(self.choices)) < len(self.choices):
            raise ValueError("every choice must be there only once")
        with_separator = [choice for choice in self.choices if SEPARATOR in choice]
        if with_separator:
            raise ValueError(
                f"a choice can't contain {SEPARATOR!r}, which separates choices in exports: "
                f"{with_separator[0]!r}"
            )
        unknown = [choice for choice in self.screen_out if choice not in self.choices]
        if unknown:
            raise ValueError(f"{unknown[0]!r} screens people out but is not a choice")
        if set(self.screen_out) == set(self.choices):
            raise ValueError("at least one choice must let people take part")
        return self

    def checked(self, answer: Any) -> Any:
        """Return an answer in its stored form. Raises ValueError with what is wrong."""
        chosen = answer if self.multiple else [answer]
        if not isinstance(chosen, list) or any(choice not in self.choices for choice in chosen):
            raise ValueError("choose from what is offered")
        return [c for c in self.choices if c in chosen] if self.multiple else answer

    def screens_out(self, answer: Any) -> bool:
        chosen = answer if self.multiple else [answer]
        return any(choice in self.screen_out for choice in chosen)


class NumberQuestion(AskedNumber):
    """Numbers below `screen_out_below` or above `screen_out_above` screen a person out."""

    screen_out_below: float | None = Field(default=None, allow_inf_nan=False)
    screen_out_above: float | None = Field(default=None, allow_inf_nan=False)

    @property
    def rules(self) -> dict[str, Any]:
        return {name: value for name in RULES if (value := getattr(self, name, None)) is not None}

    @model_validator(mode="after")
    def _fits_together(self) -> "NumberQuestion":
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"the minimum {self.min:g} is above the maximum {self.max:g}")
        lowest, highest = self.screen_out_below, self.screen_out_above
        if lowest is not None and highest is not None and lowest > highest:
            raise ValueError(
                f"nobody could take part: all numbers are below {lowest:g} or above {highest:g}"
            )
        return self

    def checked(self, answer: Any) -> Any:
        """Return an answer in its stored form. Raises ValueError with what is wrong."""
        is_number = isinstance(answer, int | float) and not isinstance(answer, bool)
        if not is_number or not math.isfinite(answer):
            raise ValueError("enter a number")
        if self.whole and answer != int(answer):
            raise ValueError("enter a whole number")
        if self.min is not None and answer < self.min:
            raise ValueError(f"enter at least {self.min:g}")
        if self.max is not None and answer > self.max:
            raise ValueError(f"enter at most {self.max:g}")
        return int(answer) if self.whole else answer

    def screens_out(self, answer: Any) -> bool:
        lowest, highest = self.screen_out_below, self.screen_out_above
        return (lowest is not None and answer < lowest) or (
            highest is not None and answer > highest
        )


class TextQuestion(_Asked):
    """Free text."""

    type: Literal["text"]
    max_length: StrictInt = Field(default=500, ge=1, le=5000)

    def checked(self, answer: Any) -> Any:
        """Return an answer in its stored form. Raises ValueError with what is wrong."""
        if not isinstance(answer, str):
            raise ValueError("enter a text")
        # PostgreSQL does not store this character.
        text = answer.replace("\0", "").strip()
        if len(text) > self.max_length:
            raise ValueError(f"enter at most {self.max_length} characters")
        return text


class LikertQuestion(_Asked):
    """A point of a scale with labels at both ends."""

    type: Literal["likert"]
    points: StrictInt = Field(default=5, ge=3, le=9)
    low_label: str = Field(default="", max_length=100)
    high_label: str = Field(default="", max_length=100)

    def checked(self, answer: Any) -> Any:
        """Return an answer in its stored form. Raises ValueError with what is wrong."""
        is_whole = isinstance(answer, int) and not isinstance(answer, bool)
        if not is_whole or not 1 <= answer <= self.points:
            raise ValueError(f"choose a point from 1 to {self.points}")
        return answer


Question = Annotated[
    ChoiceQuestion | NumberQuestion | TextQuestion | LikertQuestion, Field(discriminator="type")
]
# What annotators see of a question.
AskedQuestion = Annotated[
    AskedChoice | AskedNumber | TextQuestion | LikertQuestion, Field(discriminator="type")
]
Questions = Annotated[list[Question], Field(max_length=MOST_QUESTIONS)]


def key_of(questions: Sequence[_Asked]) -> str:
    """Return the SHA-256 by which a questionnaire is recognised."""
    # Fields that later versions of Likewise add must not make a new questionnaire of an old one.
    content = [question.model_dump(exclude_defaults=True) for question in questions]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def is_empty(answer: Any) -> bool:
    """Return whether a question was left without an answer."""
    return answer is None or answer == [] or (isinstance(answer, str) and not answer.strip())


def fits(question: Question, answer: Any, asked: Sequence[dict[str, Any]]) -> bool:
    """Return whether an earlier answer, to the questions `asked` as they are stored, is an answer
    to a question. Points of a scale of another length are not."""
    if is_empty(answer) or not is_same_scale(question, asked):
        return False
    try:
        question.checked(answer)
    except ValueError:
        return False
    return True


def is_same_scale(question: Question, asked: Sequence[dict[str, Any]]) -> bool:
    """Return whether a question was among these stored ones with as many points as now, if it is a
    scale."""
    if question.type != "likert":
        return True
    return any(
        each.get("key") == question.key and each.get("points") == question.points for each in asked
    )


def check_questionnaires(before: Sequence[Question], after: Sequence[Question]) -> None:
    """Raise ValueError if keys are not unique, or if a question after the grids screens out."""
    keys = [question.key for question in (*before, *after)]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise ValueError(f"two questions have the key {twice!r}; every question needs its own")
    late = next((question for question in after if question.rules), None)
    if late is not None:
        raise ValueError(
            f"{late.key!r} screens people out after their work; only questions before the grids can"
        )
