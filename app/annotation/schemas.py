"""Bodies of the annotation API."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

Description = Annotated[str, Field(max_length=500)]
Groups = Annotated[list[int], Field(max_length=100)]


class OpenSession(BaseModel):
    link: str = Field(max_length=500)
    annotator_key: str = Field(min_length=16, max_length=128)


class CampaignForAnnotators(BaseModel):
    id: UUID
    name: str
    kind: Literal["grid", "bins"]
    question: str
    max_groups: int
    grid_size: int
    columns: int
    descriptions_required: bool


class SessionOut(BaseModel):
    token: str
    campaign: CampaignForAnnotators
    answered: int
    target: int


class LeasedImage(BaseModel):
    image: int
    url: str
    large_url: str


class DraftOut(BaseModel):
    groups: list[int]
    descriptions: list[str]


class LeaseOut(BaseModel):
    id: UUID
    grid_id: int
    images: list[LeasedImage]
    expires_at: datetime
    draft: DraftOut | None
    draft_version: int


class HandoutOut(BaseModel):
    status: Literal["leased", "wait", "done", "paused"]
    answered: int
    target: int
    lease: LeaseOut | None = None
    retry_after_seconds: int | None = None
    completion_code: str | None = None


class DraftIn(BaseModel):
    version: int = Field(ge=1, le=2**31 - 1)
    groups: Groups
    descriptions: list[Description] = Field(default_factory=list, max_length=10)


class DraftSaved(BaseModel):
    version: int
    expires_at: datetime


class AnswerIn(BaseModel):
    images: Groups
    groups: Groups
    descriptions: list[Description] = Field(default_factory=list, max_length=10)
    elapsed_ms: int | None = Field(default=None, ge=0, le=2**31 - 1)
    trace: list[Any] = Field(default_factory=list, max_length=5000)


class AnswerOut(BaseModel):
    status: Literal["stored", "surplus"]
    answered: int
    target: int
