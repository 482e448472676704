"""Request and response bodies of the campaigns API."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from app.campaigns.annotation_settings import AnnotationSettings
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign
from app.campaigns.plan_settings import PlanSettings
from app.campaigns.service import CampaignPlan
from app.core.fields import StrictInt
from app.core.settings import get_settings


class NewCampaign(BaseModel):
    """A campaign to create. Fields that you leave out get the default of the kind or strategy."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "Which birds look similar?",
                    "collection_id": "019a8e8e-8a64-7ccc-a1b2-0242ac120002",
                    "kind": "bins",
                    "strategy": "crowdster",
                    "budget": 200,
                    "rounds": 4,
                }
            ]
        }
    )

    name: str
    collection_id: UUID
    kind: str = "grid"
    strategy: str = "cen"
    question: str = "Which of these images belong together?"
    budget: StrictInt = Field(default=100, description="Total number of answers.")
    rounds: StrictInt | None = None
    grid_size: StrictInt | None = None
    max_groups: StrictInt | None = None
    answers_per_grid: StrictInt = 1
    grids_per_assignment: StrictInt = 10
    learn_every: StrictInt = 50
    ready_share: float = Field(
        default=1.0,
        description="Share of a round's grids prepared while the previous round is being learned, "
        "so that nobody waits. 0 makes annotators wait for the newest model.",
    )
    annotation: dict[str, Any] = Field(
        default_factory=dict, description="Settings of the annotators' pages: AnnotationSettings."
    )
    plan: dict[str, Any] = Field(
        default_factory=dict, description="Assumptions for planning: PlanSettings."
    )
    reward_cents: StrictInt = Field(
        default=0, description="Payment for a whole assignment, in cents (minor units)."
    )
    currency: str = "USD"
    settings: dict[str, Any] = Field(default_factory=dict)
    seed: StrictInt | None = None

    def to_plan(self) -> CampaignPlan:
        return CampaignPlan(**self.model_dump())


class CampaignChanges(BaseModel, extra="forbid"):
    """Fields that you leave out don't change. Once a campaign has started, you can change only
    name, budget, rounds, settings, grids_per_assignment, learn_every, ready_share, reward_cents and
    plan.

    `settings`, `annotation` and `plan` are changed field by field.
    """

    name: str = ""
    collection_id: UUID | None = None
    kind: str = ""
    strategy: str = ""
    question: str = ""
    budget: StrictInt = 0
    rounds: StrictInt | None = None
    grid_size: StrictInt | None = None
    max_groups: StrictInt | None = None
    answers_per_grid: StrictInt = 0
    grids_per_assignment: StrictInt = 0
    learn_every: StrictInt = 0
    ready_share: float = 1.0
    annotation: dict[str, Any] = Field(default_factory=dict)
    plan: dict[str, Any] = Field(default_factory=dict)
    reward_cents: StrictInt = 0
    currency: str = ""
    settings: dict[str, Any] = Field(default_factory=dict)
    seed: StrictInt | None = None


class ShareIn(BaseModel):
    email: str = Field(max_length=320, examples=["ada@example.org"])
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
    plan: PlanSettings
    reward_cents: int
    currency: str
    settings: dict[str, Any]
    seed: int
    n_answers: int
    n_imported: int = Field(description="Imported answers. They don't count toward the budget.")
    created_at: datetime
    archived_at: datetime | None
    annotator_link: str

    @classmethod
    def of(cls, campaign: Campaign) -> "CampaignOut":
        columns = {name: getattr(campaign, name) for name in cls.model_fields if name != LINK}
        link = annotator_link(campaign, get_settings().base_url)
        return cls(**columns, annotator_link=link)


LINK = "annotator_link"
