"""API for people's identities: how many are stored, and deleting them."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field, model_validator

from app.accounts.api import api_router
from app.accounts.routes import SignedIn
from app.core.fields import StrictInt
from app.core.web import DatabaseSession
from app.recruitment import erasure

api = api_router("/campaigns/{campaign_id}", "recruitment")


class KnownOut(BaseModel):
    people: int = Field(
        description="People whose ID on a platform or panel, name on a link's list, or answers to "
        "questions are stored, or what a link's address said of them."
    )
    unsettled: int = Field(
        description="How many of these people have payments or work that are not settled."
    )
    until: datetime | None = Field(description="When the stored identities are deleted.")


class ForgetIn(BaseModel):
    platform_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="One person's ID on the platform or panel. Null: everyone.",
    )
    annotator: StrictInt | None = Field(
        default=None,
        ge=0,
        le=2**31 - 1,
        description="One person's number, for people who came through a link.",
    )

    @model_validator(mode="after")
    def _names_one_person(self) -> "ForgetIn":
        if self.platform_id is not None and self.annotator is not None:
            raise ValueError("name a person by platform_id or by annotator, not by both")
        return self


class ForgottenOut(BaseModel):
    forgotten: int
    kept: int = Field(description="People who were kept because payments or work are not settled.")


@api.get("/people")
def get_known_people(campaign_id: UUID, session: DatabaseSession, account: SignedIn) -> KnownOut:
    """Count the people whose platform ID, name or answers to questions are stored."""
    known = erasure.known_people(session, account, campaign_id)
    return KnownOut(people=known.people, unsettled=known.unsettled, until=known.until)


@api.post("/people/forget")
def forget_people(
    campaign_id: UUID, body: ForgetIn, session: DatabaseSession, account: SignedIn
) -> ForgottenOut:
    """Delete the identity of one person or of everyone, with their answers to questions. Answers to
    grids and models stay as they are."""
    person = body.platform_id if body.annotator is None else body.annotator
    if person is None:
        forgotten = erasure.forget_people(session, account, campaign_id)
    else:
        forgotten = erasure.forget_person(session, account, campaign_id, person)
    return ForgottenOut(forgotten=forgotten.people, kept=forgotten.kept)
