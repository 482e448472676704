"""API of the clusterings of a model."""

from typing import Annotated, Literal
from uuid import UUID

from fastapi import Path, Query
from fastapi.responses import Response
from sqlalchemy.orm import Session

from app.accounts.api import api_router
from app.accounts.models import Account
from app.accounts.routes import SignedIn
from app.annotation.bundles import images_at
from app.campaigns.models import Campaign
from app.campaigns.service import get_campaign
from app.campaigns.sharing import MayNotChange, access_of
from app.core.attachments import attachment
from app.core.bodies import long_lists, takes
from app.core.heavy import heavy
from app.core.paging import Page, Paged
from app.core.web import DatabaseSession
from app.results import clusterings, selected_clusters
from app.results.cluster_members import members_of
from app.results.cluster_schemas import ClusterImage, ClusterImagesPage, SelectedClusterIn
from app.results.explore_schemas import (
    Algorithm,
    ClusteringIn,
    ClusteringOut,
    ClusteringSummary,
    MergeIn,
    RenameIn,
    SuggestionOut,
)
from app.results.models import Clustering, Model
from app.results.routes import Version
from app.results.service import get_model

api = api_router("/campaigns/{campaign_id}/models/{version}", "clusters")


def _campaign_and_model(
    session: Session, account: Account, campaign_id: UUID, version: int, *, edit: bool = False
) -> tuple[Campaign, Model]:
    campaign = get_campaign(session, account, campaign_id)
    # The campaign's row is not locked: clustering takes a while, and answers arrive in the
    # meantime.
    if edit and access_of(session, account, campaign) == "view":
        raise MayNotChange("This campaign is shared with you to view only. You cannot change it.")
    return campaign, get_model(session, campaign, version)


def _whole(session: Session, campaign: Campaign, clustering: Clustering) -> ClusteringOut:
    wanted = [position for cluster in clustering.clusters for position in cluster["images"]]
    images = {image.position: image for image in images_at(session, campaign, wanted)}
    return ClusteringOut.whole(clustering, images)


@api.get("/clusterings")
@heavy
def list_clusterings(
    campaign_id: UUID, version: Version, session: DatabaseSession, account: SignedIn
) -> Page[ClusteringSummary]:
    """List all clusterings of the model, newest first."""
    _, model = _campaign_and_model(session, account, campaign_id, version)
    listed = clusterings.list_clusterings(session, model)
    return Page(items=[ClusteringSummary.of(clustering) for clustering in listed], next=None)


@api.post("/clusterings", status_code=201)
@heavy
def make_clustering(
    campaign_id: UUID,
    version: Version,
    body: ClusteringIn,
    session: DatabaseSession,
    account: SignedIn,
) -> ClusteringOut:
    """Cluster the images by their positions in the model."""
    campaign, model = _campaign_and_model(session, account, campaign_id, version, edit=True)
    clustering = clusterings.make_clustering(
        session, account, campaign, model, body.algorithm, body.n_clusters, body.name
    )
    return _whole(session, campaign, clustering)


@api.post("/clusterings/selection", status_code=201)
@takes(long_lists)
@heavy
def separate_images(
    campaign_id: UUID,
    version: Version,
    body: SelectedClusterIn,
    session: DatabaseSession,
    account: SignedIn,
) -> ClusteringOut:
    """Create a clustering in which these images are a cluster of their own."""
    campaign, model = _campaign_and_model(session, account, campaign_id, version, edit=True)
    base = (
        clusterings.get_clustering(session, model, body.clustering_id)
        if body.clustering_id is not None
        else None
    )
    clustering = selected_clusters.separate_images(
        session, account, campaign, model, body.images, body.name, base
    )
    return _whole(session, campaign, clustering)


@api.get("/clusterings/{clustering_id}/clusters/{index}/images")
@heavy
def list_cluster_images(
    campaign_id: UUID,
    version: Version,
    clustering_id: UUID,
    index: Annotated[int, Path(ge=0, le=2**15 - 1, description="Number of the cluster.")],
    session: DatabaseSession,
    account: SignedIn,
    paging: Paged,
    order: Annotated[
        Literal["typical", "doubtful", "position"],
        Query(description="By silhouette, the largest or the smallest first, or by position."),
    ] = "typical",
) -> ClusterImagesPage:
    """List all images of a cluster with their silhouettes. `total` counts them."""
    campaign, model = _campaign_and_model(session, account, campaign_id, version)
    clustering = clusterings.get_clustering(session, model, clustering_id)
    members = members_of(clustering, index, order)
    rows = paging.slice(0, lambda start, limit: members[start : start + limit])
    shown = {image.position: image for image in images_at(session, campaign, rows)}
    page = paging.page(
        [
            ClusterImage.of_member(shown[position], clustering.silhouettes[position])
            for position in rows
        ]
    )
    return ClusterImagesPage(items=page.items, next=page.next, total=len(members))


@api.get("/cluster-suggestion")
@heavy
def suggest_clusters(
    campaign_id: UUID,
    version: Version,
    session: DatabaseSession,
    account: SignedIn,
    algorithm: Algorithm = "k-means",
) -> SuggestionOut:
    """Suggest the number of clusters, 2 to 20, that has the largest mean silhouette."""
    campaign, model = _campaign_and_model(session, account, campaign_id, version)
    return SuggestionOut.of(clusterings.suggest(session, campaign, model, algorithm))


@api.get("/clusterings/{clustering_id}")
@heavy
def read_clustering(
    campaign_id: UUID,
    version: Version,
    clustering_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
) -> ClusteringOut:
    """Return one clustering: the cluster of every image, and statistics and descriptions of each
    cluster."""
    campaign, model = _campaign_and_model(session, account, campaign_id, version)
    clustering = clusterings.get_clustering(session, model, clustering_id)
    return _whole(session, campaign, clustering)


@api.patch("/clusterings/{clustering_id}")
@heavy
def rename_clustering(
    campaign_id: UUID,
    version: Version,
    clustering_id: UUID,
    body: RenameIn,
    session: DatabaseSession,
    account: SignedIn,
) -> ClusteringOut:
    """Rename the clustering or some of its clusters."""
    campaign, model = _campaign_and_model(session, account, campaign_id, version, edit=True)
    clustering = clusterings.get_clustering(session, model, clustering_id, edit=True)
    clusterings.rename(clustering, body.name, body.names)
    return _whole(session, campaign, clustering)


@api.post("/clusterings/{clustering_id}/merge", status_code=201)
@heavy
def merge_clusters(
    campaign_id: UUID,
    version: Version,
    clustering_id: UUID,
    body: MergeIn,
    session: DatabaseSession,
    account: SignedIn,
) -> ClusteringOut:
    """Create a clustering in which these clusters are merged into one. The original is kept."""
    campaign, model = _campaign_and_model(session, account, campaign_id, version, edit=True)
    clustering = clusterings.get_clustering(session, model, clustering_id)
    merged = clusterings.merge_clusters(
        session, account, campaign, model, clustering, body.clusters, body.name
    )
    return _whole(session, campaign, merged)


@api.delete("/clusterings/{clustering_id}", status_code=204)
@heavy
def delete_clustering(
    campaign_id: UUID,
    version: Version,
    clustering_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
) -> None:
    """Delete a clustering and the names given in it."""
    campaign, model = _campaign_and_model(session, account, campaign_id, version, edit=True)
    clustering = clusterings.get_clustering(session, model, clustering_id, edit=True)
    clusterings.delete_clustering(session, account, campaign, clustering)


@api.get("/clusterings/{clustering_id}/clusters.csv", response_class=Response)
@heavy
def export_clusters(
    campaign_id: UUID,
    version: Version,
    clustering_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
) -> Response:
    """Download one line per image: image, filename, cluster, cluster_name, silhouette."""
    campaign, model = _campaign_and_model(session, account, campaign_id, version)
    clustering = clusterings.get_clustering(session, model, clustering_id)
    lines = "".join(clusterings.clusters_csv(session, campaign, clustering))
    headers = attachment(campaign.name, "clusters.csv")
    return Response(lines.encode(), media_type="text/csv", headers=headers)
