"""API of labels in campaigns with classes."""

from typing import Annotated
from uuid import UUID

from fastapi import Query

from app.accounts.api import api_router
from app.accounts.routes import SignedIn
from app.campaigns.service import get_campaign
from app.core.heavy import heavy
from app.core.paging import Page, Paged
from app.core.web import DatabaseSession
from app.results import class_labels
from app.results.class_label_schemas import ClassifiedOut, ClassQualityOut
from app.results.label_routes import Asked, Contested
from app.results.routes import Version
from app.results.service import get_model
from app.results.visitors import without_annotators

api = api_router("/campaigns/{campaign_id}/models/{version}", "labels")
Order = Annotated[
    class_labels.Order,
    Query(
        description=(
            "surest: the most certain labels first, those of `label` if it is given; contested: "
            "the least certain first."
        )
    ),
]
Label = Annotated[
    str | None, Query(max_length=40, description="Only images with this class's label.")
]
Without = Annotated[
    bool, Query(description="true: only images without the label `label`, if it is given.")
]


@api.get("/classes")
@heavy
def list_classes(
    campaign_id: UUID,
    version: Version,
    session: DatabaseSession,
    account: SignedIn,
    paging: Paged,
    order: Order = "surest",
    label: Label = None,
    without: Without = False,
    asked: Asked = None,
    contested: Contested = None,
) -> Page[ClassifiedOut]:
    """List every image of a campaign with classes with its label or labels, their probabilities,
    and its votes. The export labels.csv has all of them in one file."""
    campaign = get_campaign(session, account, campaign_id)
    labels = class_labels.read_class_labels(campaign, get_model(session, campaign, version))
    number = None if label is None else class_labels.class_number(campaign, label)
    positions = class_labels.chosen_positions(
        labels, order, number, has_label=not without, asked=asked, contested=contested
    )
    part = paging.slice(0, lambda start, n: positions[start : start + n].tolist())
    images = class_labels.classified_at(session, campaign, labels, part)
    return paging.page([ClassifiedOut.of_classified(image, campaign.classes) for image in images])


@api.get("/class-quality")
@heavy
def read_class_quality(
    campaign_id: UUID, version: Version, session: DatabaseSession, account: SignedIn
) -> ClassQualityOut:
    """Return the expected quality of the labels and of each class, how well the classifier's
    probabilities are calibrated, how both do on known answers, and how well each annotator
    answers."""
    campaign = get_campaign(session, account, campaign_id)
    model = get_model(session, campaign, version)
    labels = class_labels.read_class_labels(campaign, model)
    gold = class_labels.read_gold_classes(session, campaign, labels)
    insight = class_labels.class_insight(model)
    return without_annotators(account, ClassQualityOut.of(campaign, model, insight, labels, gold))
