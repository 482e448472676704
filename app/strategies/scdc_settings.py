"""Settings of semi-crowdsourced clustering."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from app.features.sources import check_source, offered
from app.strategies.base import StrategySettings

Effort = Literal["quick", "normal", "thorough"]


class ScdcSettings(StrategySettings):
    features: Annotated[str, AfterValidator(check_source)] = Field(
        default="appearance",
        title="Features",
        description="What the images that nobody is asked about are placed by. The better these "
        "tell what people see, the more the answers reach.",
        json_schema_extra=offered(),
    )
    n_annotated: int | None = Field(
        default=None,
        ge=2,
        le=1_000_000,
        title="Images to ask about",
        description="So many, drawn at random (at least a grid of them); the others are placed "
        "by their features. Empty: all.",
    )
    variant: Literal["bayesian", "scdc"] = Field(
        default="bayesian",
        title="Variant",
        description="bayesian: finds the number of clusters, up to the most allowed, and says how "
        "sure it is of each annotator; scdc: uses exactly so many clusters.",
    )
    max_clusters: int = Field(
        default=20,
        ge=2,
        le=50,
        title="Clusters at most",
        description="More than you expect (bayesian), or their number (scdc).",
    )
    n_latent: int = Field(
        default=8,
        ge=2,
        le=32,
        title="Dimensions",
        description="Of the embedding in which the clusters lie.",
    )
    effort: Effort = Field(
        default="normal",
        title="Effort",
        description="Of learning: thorough takes many times as long as quick, and may find more "
        "in many or rich features.",
    )
    uncertain_share: float = Field(
        default=0.35,
        ge=0.0,
        le=1.0,
        title="Share of grids of uncertain images",
        description="Of the later rounds' grids: images that could belong to several clusters, "
        "next to sure ones of these.",
    )
    between_share: float = Field(
        default=0.2,
        ge=0.0,
        le=1.0,
        title="Share of grids between clusters",
        description="Two clusters side by side that might be one.",
    )
    random_share: float = Field(
        default=0.1,
        ge=0.0,
        le=1.0,
        title="Share of random grids",
        description="A control. What remains covers the images: those not shown yet first, with "
        "some of every cluster.",
    )

    @model_validator(mode="after")
    def _shares_leave_room(self) -> Self:
        total = self.uncertain_share + self.between_share + self.random_share
        if total > 1.0 + 1e-9:
            raise ValueError(
                "uncertain_share, between_share and random_share are "
                f"{total:g} together; at most 1 can be"
            )
        return self
