"""A requester's assumptions about people and prices while planning a campaign."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from app.campaigns.platforms import LINK, known_platform, offer_platforms
from app.core.fields import SHARE, checked_fields

Platform = Annotated[str, AfterValidator(known_platform)]


class PlanSettings(BaseModel):
    """Settings for planning. Prices are estimates; the platform's invoice counts."""

    model_config = ConfigDict(extra="forbid")

    platform: Platform = Field(
        default=LINK,
        title="Where annotators come from",
        description="Used to estimate the cost. A plain link costs no fee. Recruiting starts after "
        "the launch.",
        json_schema_extra=offer_platforms,
    )
    fee_percent: float | None = Field(
        default=None,
        ge=0,
        le=200,
        title="Platform fee (%)",
        description="Percentage of the rewards. Empty: the platform's list price. Your contract "
        "may differ.",
    )
    seconds_per_grid: float | None = Field(
        default=None,
        ge=1,
        le=3600,
        title="Seconds per grid",
        description="Empty: the median of your campaigns of this kind, or a typical value.",
    )
    target: float = Field(
        default=0.6,
        gt=0,
        lt=1,
        title="Target quality",
        description="Share of each image's ten nearest neighbours that are right. If people vote: "
        "share of labels that are right.",
        json_schema_extra=SHARE,
    )


def checked_plan(values: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with defaults filled in. Raises InvalidInput with the field that is
    wrong."""
    return checked_fields(PlanSettings, values, name="plan", code="bad_plan")
