"""Request and response bodies of the campaigns API. A campaign's fields come from its plan."""

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.fields import FieldInfo

from app.campaigns.annotation_settings import AnnotationSettings
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign, ReadOnlyLink
from app.campaigns.plan import CHANGEABLE, RANGES, CampaignPlan, value_type
from app.campaigns.plan_settings import PlanSettings
from app.core.settings import get_settings
from app.features.sources import offered

LINK = "annotator_link"
# A change has only the fields that were sent, so these defaults are in the API's schema alone.
PLACEHOLDERS: dict[Any, Any] = {str: "", int: 0, float: 1.0, list[str]: []}
CHANGES = f"""Fields that you leave out don't change. Once a campaign has started, you can change
only {", ".join(CHANGEABLE)}.

`settings`, `annotation` and `plan` are changed field by field."""


class NewCampaign(CampaignPlan):
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


class ShareIn(BaseModel):
    email: str = Field(max_length=320, examples=["ada@example.org"])
    access: Literal["view", "edit"]


class ShareOut(BaseModel):
    account_id: UUID
    email: str
    access: str


class ReadOnlyLinkIn(BaseModel):
    """`note`: whom the link is for. `days`: how long it is valid, null for no end."""

    note: str = Field(max_length=200, examples=["Reviewer 2"])
    days: Literal[7, 30, 90] | None = None


class ReadOnlyLinkOut(BaseModel):
    id: UUID
    note: str
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None

    @classmethod
    def of(cls, link: ReadOnlyLink) -> Self:
        return cls(**{name: getattr(link, name) for name in ReadOnlyLinkOut.model_fields})


class NewReadOnlyLinkOut(ReadOnlyLinkOut):
    """`address`: to be sent to whom it is for; it is shown only once."""

    address: str


class StoredCampaign(BaseModel):
    """The base of CampaignOut."""

    @classmethod
    def of(cls, campaign: Campaign) -> Self:
        columns = {name: getattr(campaign, name) for name in cls.model_fields if name != LINK}
        link = annotator_link(campaign, get_settings().base_url)
        return cls(**columns, **{LINK: link})


def _described(field: FieldInfo, **more: Any) -> Any:
    return Field(title=field.title, description=field.description, **more)


def _change(field: FieldInfo) -> tuple[Any, Any]:
    kind = field.rebuild_annotation()
    if field.default_factory is not None:
        return kind, _described(field, default_factory=dict)
    if field.annotation is UUID:
        kind = kind | None
    return kind, _described(field, default=PLACEHOLDERS.get(field.annotation))


def _stored_fields() -> dict[str, Any]:
    """Return the fields of CampaignOut in the order of the response."""
    fields: dict[str, Any] = {"id": UUID}
    for name, field in CampaignPlan.model_fields.items():
        fields[name] = (value_type(field), _described(field))
        if name == "question":
            fields["state"] = str
    imported = Field(description="Imported answers. They don't count toward the budget.")
    return fields | {
        "annotation": AnnotationSettings,
        "plan": PlanSettings,
        "n_answers": int,
        "n_imported": (int, imported),
        "created_at": datetime,
        "archived_at": datetime | None,
        LINK: str,
    }


if TYPE_CHECKING:
    CampaignChanges = CampaignPlan
    CampaignOut = StoredCampaign
else:
    CampaignChanges = create_model(
        "CampaignChanges",
        __config__=ConfigDict(extra="forbid"),
        __doc__=CHANGES,
        __module__=__name__,
        **{name: _change(field) for name, field in CampaignPlan.model_fields.items()},
    )
    CampaignOut = create_model(
        "CampaignOut", __base__=StoredCampaign, __module__=__name__, **_stored_fields()
    )


def form_schema() -> dict[str, Any]:
    """Return the JSON schema of the fields that forms can show, with their ranges. `while_running`
    is the help for those that a started campaign can change."""
    described = CampaignOut.model_json_schema()["properties"]
    properties = {}
    for name, allowed in RANGES.items():
        field = described[name]
        suffix = {"string": "Length", "array": "Items"}.get(field["type"], "imum")
        ends = {f"min{suffix}": allowed.lowest, f"max{suffix}": allowed.highest}
        properties[name] = field | ends | allowed.form
        if name in CHANGEABLE:
            properties[name]["while_running"] = CHANGEABLE[name].effect or field["description"]
    offered()(properties["ask_by"])
    return {"properties": properties, "required": list(properties)}
