"""Settings of the strategy “Labels by votes”."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from app.core.fields import SHARE
from app.features.sources import check_features, objects_or, offered
from app.strategies.base import StrategySettings

Effort = Literal["quick", "normal", "thorough"]
DEFAULT = objects_or("appearance")


class NeuCrowdSettings(StrategySettings):
    # Campaigns of versions without the setting used these.
    before: ClassVar[dict[str, Any]] = {"features": "appearance"}

    features: Annotated[str, AfterValidator(check_features)] = Field(
        default_factory=DEFAULT,
        title="Features",
        description="What the classifier knows about the images. The better these features show "
        "what is asked for, the fewer votes are needed. If they show nothing, only the votes "
        "decide.",
        json_schema_extra=offered(default=DEFAULT),
    )
    target: float = Field(
        default=0.95,
        ge=0.5,
        le=1.0,
        title="Share of correct labels",
        description="The campaign ends automatically when this share of labels is expected to be "
        "correct: of all images, and on average of those that show it and those that do not. 1: "
        "it ends only when the budget is spent or more votes add nothing.",
        json_schema_extra=SHARE,
    )
    least_gain: float = Field(
        default=0.1,
        ge=0.0,
        le=10.0,
        title="Minimum gain of a grid",
        description="The campaign ends when even the most informative grid is expected to correct "
        "fewer labels than this. 0: it never ends for this reason.",
    )
    most_votes: int = Field(
        default=9,
        ge=1,
        le=100,
        title="Maximum votes per image",
        description="An image that is still contested after this many votes is not asked about "
        "again while others are left.",
    )
    random_share: float = Field(
        default=0.1,
        ge=0.0,
        le=1.0,
        title="Share of random images",
        description="Share of random images in the later rounds' grids. They are a control that "
        "finds what the model is wrongly sure of.",
        json_schema_extra=SHARE,
    )
    effort: Effort = Field(
        default="normal",
        title="Effort",
        description="Effort spent on learning: thorough tries more ways of learning and takes "
        "longer.",
    )
