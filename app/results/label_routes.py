"""API of labels by votes."""

from typing import Annotated, Literal
from uuid import UUID

from fastapi import Query

from app.accounts.api import api_router
from app.accounts.routes import SignedIn
from app.campaigns.service import get_campaign
from app.core.heavy import heavy
from app.core.paging import Page, Paged
from app.core.web import DatabaseSession
from app.results import labels
from app.results.label_schemas import LabelOut, LabelQualityOut
from app.results.routes import Version
from app.results.service import get_model
from app.results.visitors import without_annotators

api = api_router("/campaigns/{campaign_id}/models/{version}", "labels")
Order = Annotated[
    labels.Order,
    Query(
        description=(
            "likeliest: the most certain yes first; unlikeliest: the most certain no first; "
            "contested: the least certain first."
        )
    ),
]
Label = Annotated[Literal["yes", "no"] | None, Query(description="Only images with this label.")]
Asked = Annotated[
    bool | None, Query(description="true: only images with votes; false: only images without.")
]
Contested = Annotated[
    bool | None,
    Query(
        description="true: only images with a label less than 90 % certain; false: only the others."
    ),
]


@api.get("/labels")
@heavy
def list_labels(
    campaign_id: UUID,
    version: Version,
    session: DatabaseSession,
    account: SignedIn,
    paging: Paged,
    order: Order = "likeliest",
    label: Label = None,
    asked: Asked = None,
    contested: Contested = None,
) -> Page[LabelOut]:
    """List every image of a select campaign with its label, the label's probability, and its votes.
    The export labels.csv has all of them in one file."""
    campaign = get_campaign(session, account, campaign_id)
    model_labels = labels.read_labels(campaign, get_model(session, campaign, version))
    positions = labels.chosen_positions(model_labels, order, label, asked, contested)
    part = paging.slice(0, lambda start, n: positions[start : start + n].tolist())
    labelled = labels.labelled_at(session, campaign, model_labels, part)
    return paging.page([LabelOut.of_labelled(image) for image in labelled])


@api.get("/label-quality")
@heavy
def read_label_quality(
    campaign_id: UUID, version: Version, session: DatabaseSession, account: SignedIn
) -> LabelQualityOut:
    """Return the expected quality of the labels, how well the classifier's probabilities are
    calibrated, how both do on known answers, and how well each annotator votes."""
    campaign = get_campaign(session, account, campaign_id)
    model = get_model(session, campaign, version)
    insight = labels.vote_insight(model)
    model_labels = labels.read_labels(campaign, model)
    gold = labels.read_gold(session, campaign, model_labels)
    reply = LabelQualityOut.of(model, insight, len(model_labels), gold)
    return without_annotators(account, reply)
