"""Request and response bodies of the annotation API."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field, model_validator

from app.campaigns.annotation_settings import ImageBackground
from app.campaigns.questions import MOST_QUESTIONS, AskedQuestion
from app.core.fields import StrictBool, StrictInt
from app.kinds.base import Descriptions

Description = Annotated[str, Field(max_length=500)]
Groups = Annotated[list[StrictInt], Field(max_length=100)]


# The language of the requester's texts, where they are translated.
Reading = Annotated[
    str,
    Field(
        max_length=20,
        description="The language (BCP 47) in which the annotator reads the question and the "
        "other texts of the requester, where they are translated; empty: as they were written.",
    ),
]


class OpenSession(BaseModel):
    link: str = Field(max_length=500)
    annotator_key: str = Field(min_length=16, max_length=128)
    # The link's password, sent by people who come for the first time.
    password: str | None = Field(default=None, max_length=1000)
    query: str = Field(
        default="",
        max_length=70_000,
        description="The part of the page's address after the “?”, from which the link keeps the "
        "parameters that its requester chose.",
    )
    language: Reading = ""


class TextLanguage(BaseModel):
    """The attributes `lang` and `dir` of a text's element. `lang` is null if the language is not
    known."""

    lang: str | None
    dir: Literal["ltr", "rtl", "auto"]


class TextLanguages(BaseModel):
    """In which language each of the requester's texts is."""

    question: TextLanguage
    consent: TextLanguage
    instructions: TextLanguage
    thanks: TextLanguage
    screen_out: TextLanguage


class CampaignForAnnotators(BaseModel):
    """What annotators see of a campaign. The requester's texts are safe HTML, in the annotator's
    language where they are translated (`languages`); the page uses its own text if one is empty.
    `consent_key` recognises the consent text as it is shown. `interface` is how the page
    lets people answer; several kinds may have the same. Groups of `select` are votes: 0 yes, 1 no,
    2 unsure. Groups of `classify` are numbers of `classes`, and -1 if the annotator can't tell.
    Groups of `labels` are bit masks: bit `k` is set if the image has label `k` of `classes`. Before
    an answer that took less than `quick_pause` seconds per image, the page asks whether the
    annotator looked at every picture."""

    id: UUID
    name: str
    kind: str
    interface: str
    question: str
    max_groups: int
    classes: list[str]
    grid_size: int
    columns: int
    descriptions: Descriptions
    image_background: ImageBackground
    quick_pause: float
    consent_html: str
    consent_key: str
    instructions_html: str
    thanks_html: str
    screen_out_html: str
    languages: TextLanguages
    completion: Literal["code", "none"]
    completion_url: str
    reward_cents: int
    currency: str


class PracticeProgress(BaseModel):
    done: int
    total: int


class StageOut(BaseModel):
    """What the annotator's page shows before or instead of grids. `screened_out_by_answers` tells
    answers to the questions before the grids from failed practice."""

    stage: Literal[
        "consent", "questions", "instructions", "practice", "warning", "work", "screened_out"
    ]
    practice: PracticeProgress
    screened_out_by_answers: bool = False


class HandIn(BaseModel):
    """How the annotator's page ends the work on the platform: the browser posts a form to
    `address`, or goes there."""

    kind: Literal["form", "address"]
    address: str
    fields: dict[str, str] = Field(default_factory=dict)


class MoreOut(BaseModel):
    """How many extra grids the annotator can do, and the bonus for each in cents."""

    left: int
    cents: int
    currency: str


class BonusOut(BaseModel):
    """How many extra grids are done, and their bonus so far in cents."""

    grids: int
    cents: int
    currency: str


class SessionOut(StageOut):
    """An opened session. `next` saves a request if work can begin immediately, and `seconds_spent`
    is the time spent on this assignment.

    On a platform, `hand_in` is how finished work is submitted (POST /hand-in first), `declined` is
    the way back without consent, and `screened_out` is the way back after failed practice or
    answers that screen people out. If one is null, people return the task on the platform. Through
    a link, `declined` and `screened_out` are set if the link sends people back.
    """

    token: str
    channel: str = Field(description="`link`, or the platform that people come from.")
    hand_in: HandIn | None = None
    declined: HandIn | None = None
    screened_out: HandIn | None = None
    campaign: CampaignForAnnotators
    answered: int
    target: int
    seconds_spent: float
    next: "HandoutOut | None"


class LeasedImage(BaseModel):
    image: int
    url: str
    large_url: str
    alt_text: str = Field(
        default="",
        description="What the image shows, for people who use screen readers; empty if the "
        "requester gives no description.",
    )


class DraftOut(BaseModel):
    groups: list[int]
    descriptions: list[str]


class LeaseOut(BaseModel):
    id: UUID
    grid_id: str = Field(
        description="A random-looking id. Everyone who gets the grid sees the same id."
    )
    images: list[LeasedImage]
    expires_at: datetime
    first_colour: int = Field(
        description="Colour of the first group. The order of colours differs between leases."
    )
    draft: DraftOut | None
    draft_version: int
    skips_left: int | None = Field(
        default=None, description="How many grids can still be skipped; null without a limit."
    )


class CodeOut(BaseModel):
    """The completion code of an assignment, and how many grids were answered for it."""

    code: str
    answered: int


class HandoutOut(BaseModel):
    """A grid, or why there is none. `questions`: the grids are done, and the questions after them
    come before the end. At the end of an assignment, `codes` are those of all assignments that the
    person has done, the newest first. At the end of one through a link, `earned_cents` is what was
    earned (null if nothing is paid), `again` tells whether another assignment is possible, and
    `return_address` is where the link sends the person (null: nowhere)."""

    status: Literal["leased", "wait", "done", "paused", "stopped", "warning", "questions"]
    answered: int
    target: int
    lease: LeaseOut | None = None
    retry_after_seconds: int | None = None
    completion_code: str | None = None
    more: MoreOut | None = None
    bonus: BonusOut | None = None
    earned_cents: int | None = None
    again: bool | None = None
    return_address: str | None = None
    codes: list[CodeOut] = Field(default_factory=list)


class PresenceIn(BaseModel):
    """`left` tells that the page is being closed."""

    left: StrictBool = False


class DraftIn(BaseModel):
    version: StrictInt = Field(ge=1, le=2**31 - 1)
    groups: Groups
    descriptions: list[Description] = Field(default_factory=list, max_length=10)


class DraftSaved(BaseModel):
    version: int
    expires_at: datetime


class AnswerIn(BaseModel):
    images: Groups
    groups: Groups
    descriptions: list[Description] = Field(default_factory=list, max_length=10)
    elapsed_ms: StrictInt | None = Field(default=None, ge=0, le=2**31 - 1)
    trace: list[Any] = Field(default_factory=list, max_length=5000)
    device: "Device | None" = None
    unseen: list[StrictInt] = Field(
        default_factory=list,
        max_length=100,
        description="Images that were not shown, or that the annotator reported as broken.",
    )
    next: StrictBool = Field(
        default=False, description="Whether the response should bring the next grid."
    )


class Device(BaseModel):
    """The size of the page in CSS pixels, pixels per CSS pixel, the main pointer, and the page's
    language. `question_language` is that of the question as it was shown, empty if not known."""

    width: StrictInt = Field(ge=0, le=100_000)
    height: StrictInt = Field(ge=0, le=100_000)
    ratio: float = Field(ge=0, le=100)
    pointer: Literal["fine", "coarse", "none"]
    language: str = Field(max_length=20)
    question_language: str = Field(default="", max_length=20, pattern="^[A-Za-z-]*$")


class AnswerOut(BaseModel):
    """`next` is the next grid, if it was requested and could be leased at once. Otherwise
    `POST /leases` tells what comes next."""

    status: Literal["stored", "surplus"]
    answered: int
    target: int
    seconds_spent: float
    next: HandoutOut | None = None


class StepIn(BaseModel):
    """`consent_key` is that of the consent text that the page shows."""

    step: Literal["consent", "instructions", "warning"]
    consent_key: str | None = Field(default=None, max_length=64)


class QuestionsOut(BaseModel):
    """The questions that the annotator is asked; none if they have answered. `key` recognises the
    questionnaire."""

    key: str
    questions: list[AskedQuestion]


class ReplyIn(BaseModel):
    """Answers by the keys of the questions: a text, a number, or a list of choices. `key` is that
    of the questionnaire on the page."""

    key: str = Field(max_length=64)
    answers: dict[Annotated[str, Field(max_length=40)], str | float | int | list[str] | None] = (
        Field(max_length=MOST_QUESTIONS)
    )


class ReturnIn(BaseModel):
    why: str = Field(default="", max_length=2000)


class RemarkIn(BaseModel):
    """A comment, or an image of the leased grid that is not displayed."""

    @model_validator(mode="after")
    def _fits_its_kind(self) -> "RemarkIn":
        if self.kind == "broken_image" and (self.image is None or self.lease_id is None):
            raise ValueError("a broken image needs its image number and lease")
        if self.kind == "comment" and self.image is not None:
            raise ValueError("a comment can't have an image")
        return self

    kind: Literal["comment", "broken_image"]
    text: str = Field(default="", max_length=2000)
    lease_id: UUID | None = None
    image: StrictInt | None = None


class PracticeOut(BaseModel):
    number: int
    images: list[LeasedImage]
    tries: int


class PracticeIn(BaseModel):
    """`number` and `tries` come from GET /practice, so that a try whose response was lost can be
    sent again without being counted twice."""

    images: Groups
    groups: Groups
    number: StrictInt | None = Field(default=None, ge=0, le=1000)
    tries: StrictInt | None = Field(default=None, ge=0, le=1000)


class PracticeFeedback(BaseModel):
    """The result of a practice try. `truth` is the known group of each image in the order sent, and
    `agreement` is 1 if perfect and 0 by chance."""

    agreement: float
    passed: bool
    truth: list[int]
    state: StageOut
