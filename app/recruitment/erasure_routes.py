"""What is kept of who people were, and forgetting it: API."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field

from app.accounts.api import api_router
from app.accounts.routes import SignedIn
from app.core.web import DatabaseSession
from app.recruitment import erasure

api = api_router("/campaigns/{campaign_id}", "recruitment")


class KnownOut(BaseModel):
    people: int = Field(description="Whose platform's id, or name on a list, is kept.")
    unsettled: int = Field(description="Of these: money or work is not settled yet.")
    until: datetime | None = Field(description="When they are forgotten by themselves.")


class ForgetIn(BaseModel):
    platform_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="Of one person, as the platform calls them; null: everybody.",
    )


class ForgottenOut(BaseModel):
    forgotten: int
    kept: int = Field(description="Whose money or work is not settled yet.")


@api.get("/people")
def get_known_people(campaign_id: UUID, session: DatabaseSession, account: SignedIn) -> KnownOut:
    """Of how many people the platform's id, or a name, is kept."""
    known = erasure.known_people(session, account, campaign_id)
    return KnownOut(people=known.people, unsettled=known.unsettled, until=known.until)


@api.post("/people/forget")
def forget_people(
    campaign_id: UUID, body: ForgetIn, session: DatabaseSession, account: SignedIn
) -> ForgottenOut:
    """Forget who people were, one or all; answers and what was learned stay as they are."""
    if body.platform_id is None:
        found = erasure.forget_people(session, account, campaign_id)
    else:
        found = erasure.forget_person(session, account, campaign_id, body.platform_id)
    return ForgottenOut(forgotten=found.people, kept=found.kept)
