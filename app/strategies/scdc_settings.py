"""Settings of the strategy “Semi-crowdsourced clustering”."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from app.core.fields import SHARE
from app.features.sources import check_features, objects_or, offered
from app.strategies.base import StrategySettings
from app.strategies.settling import SettledTarget

Effort = Literal["quick", "normal", "thorough"]
DEFAULT = objects_or("appearance")


class ScdcSettings(StrategySettings):
    # Campaigns of versions without the setting used these.
    before: ClassVar[dict[str, Any]] = {"features": "appearance"}
    unset: ClassVar[frozenset[str]] = frozenset({"settled_target"})

    features: Annotated[str, AfterValidator(check_features)] = Field(
        default_factory=DEFAULT,
        title="Features",
        description="Used to place the images that nobody is asked about. The better these "
        "features reflect what people see, the further the answers reach.",
        json_schema_extra=offered(default=DEFAULT),
    )
    n_annotated: int | None = Field(
        default=None,
        ge=2,
        le=1_000_000,
        title="Images to ask about",
        description="How many images to draw at random (at least one grid). The others are placed "
        "by their features. Empty: all images.",
    )
    variant: Literal["bayesian", "scdc"] = Field(
        default="bayesian",
        title="Variant",
        description="bayesian: finds the number of clusters, up to the maximum, and says how sure "
        "it is of each annotator. scdc: uses exactly the maximum number.",
    )
    max_clusters: int = Field(
        default=20,
        ge=2,
        le=50,
        title="Maximum number of clusters",
        description="bayesian: choose more than you expect. scdc: the number of clusters.",
    )
    n_latent: int = Field(
        default=8,
        ge=2,
        le=32,
        title="Dimensions",
        description="Dimensions of the embedding that holds the clusters.",
    )
    effort: Effort = Field(
        default="normal",
        title="Effort",
        description="Effort spent on learning: thorough takes many times as long as quick, and "
        "may find more in many or rich features.",
    )
    uncertain_share: float = Field(
        default=0.35,
        ge=0.0,
        le=1.0,
        title="Share of grids with uncertain images",
        json_schema_extra=SHARE,
        description="Share of the later rounds' grids that show images which could belong to "
        "several clusters, next to images that surely belong to them.",
    )
    between_share: float = Field(
        default=0.2,
        ge=0.0,
        le=1.0,
        title="Share of grids between clusters",
        json_schema_extra=SHARE,
        description="These grids show two clusters side by side that might be one.",
    )
    random_share: float = Field(
        default=0.1,
        ge=0.0,
        le=1.0,
        title="Share of random grids",
        json_schema_extra=SHARE,
        description="A control. The remaining grids cover the images: those not shown yet come "
        "first, with some from every cluster.",
    )
    settled_target: SettledTarget = None

    @model_validator(mode="after")
    def _shares_leave_room(self) -> Self:
        total = self.uncertain_share + self.between_share + self.random_share
        if total > 1.0 + 1e-9:
            raise ValueError(
                "uncertain_share, between_share and random_share add up to "
                f"{total:g}; the maximum is 1"
            )
        return self
