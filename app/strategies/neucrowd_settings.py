"""Settings of labels by votes."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from app.features.sources import check_source, offered
from app.strategies.base import StrategySettings

Effort = Literal["quick", "normal", "thorough"]


class NeuCrowdSettings(StrategySettings):
    features: Annotated[str, AfterValidator(check_source)] = Field(
        default="appearance",
        title="Features",
        description="What the classifier knows images by. The better these tell what is asked "
        "for, the fewer votes are needed; where they tell nothing, the votes decide alone.",
        json_schema_extra=offered(),
    )
    target: float = Field(
        default=0.95,
        ge=0.5,
        le=1.0,
        title="Share of labels right",
        description="The campaign ends by itself as soon as so many labels are expected to be "
        "right: of all, and on average of what shows it and of the rest. 1: only when the budget "
        "is spent, or votes tell no more.",
    )
    least_gain: float = Field(
        default=0.1,
        ge=0.0,
        le=10.0,
        title="Least gain of a grid",
        description="Labels that the most telling grid is expected to set right; with fewer the "
        "campaign ends. 0: never for this reason.",
    )
    most_votes: int = Field(
        default=9,
        ge=1,
        le=100,
        title="Votes on an image at most",
        description="What is contested after so many is asked no more, while others are left.",
    )
    random_share: float = Field(
        default=0.1,
        ge=0.0,
        le=1.0,
        title="Share of random images",
        description="Of the later rounds' grids: a control, so that what the model is wrongly sure "
        "of is found.",
    )
    effort: Effort = Field(
        default="normal",
        title="Effort",
        description="Of learning: thorough tries more ways of learning and takes longer.",
    )
