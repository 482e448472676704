"""What a requester decides about the annotators' pages of a campaign."""

from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from app.campaigns.questions import Place, Question, Questions, check_questionnaires
from app.campaigns.translations import (
    LONGEST_TEXT,
    MOST_LANGUAGES,
    Translations,
    check_languages,
)
from app.core.fields import SHARE, checked_fields, labels
from app.core.languages import NAMES, titles

Measure = Literal["warn", "stop", "leave_out"]
ImageBackground = Literal["white", "grey", "black", "checker"]
MEASURES: tuple[Measure, ...] = ("warn", "stop", "leave_out")


class AnnotationSettings(BaseModel):
    """Settings of the annotators' pages. Texts are Markdown. The form of the settings page is made
    from titles and descriptions."""

    model_config = ConfigDict(extra="forbid")

    language: Literal["auto", "en", "de", "ar"] = Field(
        default="auto",
        title="Language",
        description="Language of buttons and hints. Automatic: that of the annotator's browser.",
        json_schema_extra=labels(auto="automatic", en="English", de="Deutsch", ar="العربية"),
    )
    consent: str = Field(
        default="",
        max_length=LONGEST_TEXT,
        title="Consent text",
        description="Shown first. Annotators must agree to it. If you change it, everyone is asked "
        "again before their next grid. Empty: no consent page. Supports Markdown.",
    )
    instructions: str = Field(
        default="",
        max_length=LONGEST_TEXT,
        title="Instructions",
        description="Shown above the worked example. Empty: the built-in text. Supports Markdown.",
    )
    show_instructions: bool = Field(
        default=True,
        title="Show instructions",
        description="Shown before the first grid. They are always available under Help.",
    )
    thanks: str = Field(
        default="",
        max_length=LONGEST_TEXT,
        title="Thank-you text",
        description="Shown at the end. Empty: the built-in text. Supports Markdown.",
    )
    descriptions: Literal["auto", "required", "optional", "none"] = Field(
        default="auto",
        title="Group descriptions",
        description="Automatic: required for grids, none for bins.",
        json_schema_extra=labels(auto="automatic"),
    )
    image_background: ImageBackground = Field(
        default="white",
        title="Image background",
        description="Behind transparent parts of images and next to images that are not square, "
        "for everyone, in light and dark mode. It is part of what people see: if you change it "
        "during a campaign, answers before and after may differ.",
        json_schema_extra=labels(
            white="white", grey="grey (#808080)", black="black", checker="checker pattern"
        ),
    )
    alt_text_attribute: str = Field(
        default="",
        max_length=200,
        title="Image descriptions from attribute",
        description="Screen readers read this collection attribute with the image's number, for "
        "example “Image 3: a red barn in snow”. It is not shown. A description can influence "
        "answers or give them away: describe what is visible, not what you ask about.",
    )
    text_language: str = Field(
        default="",
        title="Language of your texts",
        description="The language of the question and of the texts on this page. Browsers and "
        "screen readers then show and pronounce them correctly.",
        json_schema_extra={"enum": ["", *NAMES], **labels(**{"": "not stated"}, **titles())},
    )
    translations: Translations = Field(
        default_factory=dict,
        max_length=MOST_LANGUAGES,
        title="Translations",
        description="The question and your texts in other languages. People see those in their "
        "language, and your own text where there is no translation.",
    )
    completion: Literal["code", "none"] = Field(
        default="code",
        title="Completion code",
        description="Whether the last page shows a code to copy.",
    )
    completion_url: str = Field(
        default="",
        max_length=2000,
        title="Completion URL",
        description="A button on the last page opens this URL. {code} is replaced by the "
        "completion code.",
    )
    known_attribute: str = Field(
        default="",
        max_length=200,
        title="Known answers from attribute",
        description="Practice and gold grids are made from this attribute of the collection.",
    )
    known_value: str = Field(
        default="yes",
        max_length=200,
        title="Value to tick",
        description="Select campaigns: images with this value of the attribute show what you ask "
        "for, all others do not. Other kinds do not use it.",
    )
    questions_before: Questions = Field(
        default_factory=list,
        title="Questions before the grids",
        description="Asked after consent. People keep the answers they gave when you change the "
        "questions; they are asked again only what is new and required.",
    )
    questions_after: Questions = Field(
        default_factory=list,
        title="Questions after the grids",
        description="Asked before the completion code or the submission on the platform.",
    )
    screen_out_text: str = Field(
        default="",
        max_length=LONGEST_TEXT,
        title="Text for people who are screened out",
        description="Shown instead of grids to people whose answers screen them out. It is not "
        "said which answer did. Empty: the built-in text. Supports Markdown.",
    )
    practice: int = Field(
        default=0,
        ge=0,
        le=5,
        title="Practice grids",
        description="Shown with known answers and feedback before the first grid that counts.",
    )
    practice_pass: float = Field(
        default=0.7,
        ge=0,
        le=1,
        title="Agreement needed to pass practice",
        description="Below this, the annotator sees the known answer and tries again once.",
        json_schema_extra=SHARE,
    )
    gold_share: float = Field(
        default=0.0,
        ge=0,
        le=0.5,
        title="Share of gold grids",
        description="Grids whose answer is known, as a share of each annotator's grids. They come "
        "on top of the budget.",
        json_schema_extra=SHARE,
    )
    repeat_share: float = Field(
        default=0.0,
        ge=0,
        le=0.5,
        title="Share of repeats",
        description="Earlier grids shown again with different places and colours. They come on "
        "top of the budget.",
        json_schema_extra=SHARE,
    )
    most_skips: int = Field(
        default=0,
        ge=0,
        le=1000,
        title="Skips allowed",
        description="How many grids a person may skip in one assignment. 0: as many as they like.",
    )
    quick_pause: float = Field(
        default=0.3,
        ge=0,
        le=10,
        title="Pause quick answers",
        description="Seconds per image. Anyone who submits a grid faster is asked once whether "
        "they looked at every picture. They can still submit. 0: nobody is asked.",
    )
    measures: list[Measure] = Field(
        default=["warn"],
        title="If answers look random",
        description="Applied automatically once gold grids and repeats agree no better than "
        "chance. You can undo all of them. Finished work is always paid.",
        json_schema_extra=labels(
            warn="Warn: ask them to take more care",
            stop="Stop: give no more grids",
            leave_out="Leave out: do not learn from their answers",
        ),
    )

    @field_validator("completion_url")
    @classmethod
    def _is_web_address(cls, address: str) -> str:
        address = address.strip()
        if address and (urlsplit(address).scheme != "https" or not urlsplit(address).netloc):
            raise ValueError("it must start with https://")
        return address

    @field_validator("text_language")
    @classmethod
    def _is_language(cls, language: str) -> str:
        if language and language not in NAMES:
            raise ValueError(f"choose one of {', '.join(NAMES)}, or nothing")
        return language

    @field_validator("translations")
    @classmethod
    def _known_languages(cls, translations: Translations, info: ValidationInfo) -> Translations:
        check_languages(translations, info.data.get("text_language", ""))
        return translations

    @field_validator("measures")
    @classmethod
    def _each_once(cls, measures: list[Measure]) -> list[Measure]:
        return [measure for measure in MEASURES if measure in measures]

    @model_validator(mode="after")
    def _questions_fit(self) -> "AnnotationSettings":
        check_questionnaires(self.questions_before, self.questions_after)
        return self

    def questions(self, place: Place) -> list[Question]:
        """Return the questions before or after the grids."""
        return self.questions_before if place == "before" else self.questions_after


def checked_annotation(values: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with defaults filled in. Raises InvalidInput with the field that is
    wrong."""
    return checked_fields(AnnotationSettings, values, name="annotation", code="bad_annotation")


def annotation_of(stored: dict[str, Any]) -> AnnotationSettings:
    """Return a campaign's settings, with defaults for settings that did not exist when it was
    created."""
    return AnnotationSettings.model_validate(stored)
