"""API of a model's own clusters."""

from typing import Annotated, Literal
from uuid import UUID

from fastapi import Query

from app.accounts.api import api_router
from app.accounts.routes import SignedIn
from app.campaigns.service import get_campaign
from app.core.heavy import heavy
from app.core.paging import Page, Paged
from app.core.web import DatabaseSession
from app.results import own_clusters
from app.results.membership_schemas import MembershipOut, OwnClustersOut
from app.results.routes import Version
from app.results.service import get_model
from app.results.visitors import without_annotators

api = api_router("/campaigns/{campaign_id}/models/{version}", "clusters")
Order = Annotated[
    Literal["position", "uncertain"],
    Query(description="uncertain: the least certain memberships first."),
]
Asked = Annotated[
    bool | None,
    Query(description="true: only images that occur in answers; false: only the others."),
]


@api.get("/own-clusters")
@heavy
def read_own_clusters(
    campaign_id: UUID, version: Version, session: DatabaseSession, account: SignedIn
) -> OwnClustersOut:
    """Return the clusters that the model itself learned, and the estimated reliability of each
    annotator."""
    campaign = get_campaign(session, account, campaign_id)
    model = get_model(session, campaign, version)
    insight = own_clusters.cluster_insight(model)
    images = own_clusters.examples_of(session, campaign, insight)
    stored = own_clusters.stored_clusters(session, model)
    return without_annotators(account, OwnClustersOut.of(model, insight, images, stored))


@api.get("/memberships")
@heavy
def list_memberships(
    campaign_id: UUID,
    version: Version,
    session: DatabaseSession,
    account: SignedIn,
    paging: Paged,
    order: Order = "position",
    cluster: Annotated[int | None, Query(ge=0, le=2**31 - 1)] = None,
    asked: Asked = None,
) -> Page[MembershipOut]:
    """List every image of the campaign with its cluster in the model, and the probability of that.
    The export memberships.csv has all of them in one file."""
    campaign = get_campaign(session, account, campaign_id)
    memberships = own_clusters.read_memberships(campaign, get_model(session, campaign, version))
    positions = own_clusters.chosen_positions(memberships, order, cluster, asked)
    part = paging.slice(0, lambda start, n: positions[start : start + n].tolist())
    members = own_clusters.members_at(session, campaign, memberships, part)
    return paging.page([MembershipOut.of_row(member) for member in members])
