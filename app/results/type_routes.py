"""API of types and groups of annotators."""

from typing import Annotated
from uuid import UUID

from fastapi import Query

from app.accounts.api import api_router
from app.accounts.routes import SignedIn
from app.annotation.bundles import images_at
from app.campaigns.service import get_campaign
from app.core.heavy import heavy
from app.core.web import DatabaseSession
from app.results import annotator_types
from app.results.annotator_types import By
from app.results.routes import Version
from app.results.service import get_model
from app.results.type_schemas import AnnotatorTypesOut, GroupComparisonOut

api = api_router("/campaigns/{campaign_id}/models/{version}", "results")
Name = Annotated[str, Query(max_length=200)]


@api.get("/annotator-types")
@heavy
def read_annotator_types(
    campaign_id: UUID, version: Version, session: DatabaseSession, account: SignedIn
) -> AnnotatorTypesOut:
    """Return the types into which annotators fall by their answers, and all ways to divide them:
    by type, by link, and by answers to questions."""
    campaign = get_campaign(session, account, campaign_id)
    model = get_model(session, campaign, version)
    divisions = annotator_types.read_divisions(session, campaign, model)
    return AnnotatorTypesOut.of(annotator_types.read_types(model), divisions)


@api.get("/group-comparison")
@heavy
def compare_annotator_groups(
    campaign_id: UUID,
    version: Version,
    session: DatabaseSession,
    account: SignedIn,
    by: By,
    group: Name,
    key: Name = "",
    against: Annotated[
        str | None, Query(max_length=200, description="Default: everyone in another group.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
) -> GroupComparisonOut:
    """Compare two groups of annotators: the images as each group sees them on aligned maps,
    neighbours and distances, and the pairs of images about which they differ."""
    campaign = get_campaign(session, account, campaign_id)
    model = get_model(session, campaign, version)
    compared = annotator_types.compare_groups(
        session, campaign, model, by, key, group, against, limit
    )
    items = compared.differences.items
    positions = sorted({image for item in items for image in item.images})
    images = dict(zip(positions, images_at(session, campaign, positions), strict=True))
    return GroupComparisonOut.of(compared, images)
