"""Bodies of the campaigns API."""

from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from app.annotation.settings import AnnotationSettings
from app.campaigns.models import Campaign
from app.campaigns.service import CampaignPlan, annotator_link
from app.core.settings import get_settings


class NewCampaign(BaseModel):
    """Left out: the default of the kind or the strategy."""

    name: str
    collection_id: UUID
    kind: str = "grid"
    strategy: str = "cen"
    question: str = "Which of these images belong together?"
    budget: int = Field(default=100, description="Answers wanted in all.")
    rounds: int | None = None
    grid_size: int | None = None
    max_groups: int | None = None
    answers_per_grid: int = 1
    grids_per_assignment: int = 10
    learn_every: int = 50
    ready_share: float = Field(
        default=1.0,
        description="Part of a round's grids held ready while the round before is learned, so that "
        "nobody waits; 0 makes annotators wait for the newest model.",
    )
    annotation: dict[str, Any] = Field(
        default_factory=dict, description="The annotators' pages: see AnnotationSettings."
    )
    reward_cents: int = Field(
        default=0, description="For a whole assignment, in hundredths of the currency."
    )
    currency: str = "USD"
    settings: dict[str, Any] = Field(default_factory=dict)
    seed: int | None = None

    def plan(self) -> CampaignPlan:
        return CampaignPlan(**self.model_dump())


class ShareIn(BaseModel):
    email: str = Field(max_length=320)
    access: Literal["view", "edit"]


class ShareOut(BaseModel):
    account_id: UUID
    email: str
    access: str


class CampaignOut(BaseModel):
    id: UUID
    name: str
    collection_id: UUID
    kind: str
    strategy: str
    question: str
    state: str
    budget: int
    rounds: int
    grid_size: int
    max_groups: int
    answers_per_grid: int
    grids_per_assignment: int
    learn_every: int
    ready_share: float
    annotation: AnnotationSettings
    reward_cents: int
    currency: str
    settings: dict[str, Any]
    seed: int
    n_answers: int
    annotator_link: str

    @classmethod
    def of(cls, campaign: Campaign) -> "CampaignOut":
        columns = {name: getattr(campaign, name) for name in cls.model_fields if name != LINK}
        link = annotator_link(campaign, get_settings().base_url)
        return cls(**columns, annotator_link=link)


LINK = "annotator_link"
