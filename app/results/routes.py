"""API of a campaign's results: live progress, models, map, neighbours."""

from typing import Annotated
from uuid import UUID

from fastapi import Path, Query
from sqlalchemy.orm import Session
from sse_starlette import EventSourceResponse

from app.accounts.api import api_router
from app.accounts.models import Account
from app.accounts.routes import SignedIn
from app.campaigns.models import Campaign
from app.campaigns.service import get_campaign
from app.campaigns.sharing import MayNotChange, access_of
from app.core.heavy import heavy
from app.core.paging import Page, Paged
from app.core.web import DatabaseSession
from app.jobs.models import Job
from app.jobs.service import jobs_of
from app.results import insight, merged_attributes, neighbours, service
from app.results.attribute_names import rename_attribute
from app.results.evidence import count_evidence
from app.results.insight_schemas import AttributeNameIn, FocusIn, InsightOut, MergedOut, MergeIn
from app.results.live import ProgressStream
from app.results.models import Model
from app.results.schemas import JobOut, MapOut, ModelOut, NeighboursOut, ProgressOut
from app.results.settled import kept_of_image
from app.results.uncertainties import distance_deviations
from app.results.visitors import shown_progress, without_annotators

api = api_router("/campaigns/{campaign_id}", "results")
Version = Annotated[int, Path(ge=1, le=2**31 - 1, examples=[1])]
Position = Annotated[
    int | None, Query(ge=0, le=2**31 - 1, description="Position of the image in the collection.")
]
AttributeNumber = Annotated[int, Path(ge=0, le=999, description="Number of the attribute.")]
HowMany = Annotated[int, Query(ge=1, le=200, description="Number of neighbours.")]


@api.get("/progress")
def read_progress(campaign_id: UUID, session: DatabaseSession, account: SignedIn) -> ProgressOut:
    """Return the progress of a campaign: answers, rounds, trainings, models."""
    campaign = get_campaign(session, account, campaign_id)
    progress = ProgressOut.of(service.read_progress(session, campaign))
    return shown_progress(account, progress)


@api.get("/events", response_class=EventSourceResponse)
def follow_progress(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn
) -> EventSourceResponse:
    """Stream the progress as server-sent events whenever it changes. Connect again after ten
    minutes."""
    campaign = get_campaign(session, account, campaign_id)
    return ProgressStream(campaign.id, account.id)


@api.get("/jobs")
def list_jobs(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn, paging: Paged
) -> Page[JobOut]:
    """List the trainings, dry runs and simulated crowds of a campaign, newest first. Failed ones
    say why."""
    campaign = get_campaign(session, account, campaign_id)
    rows = paging.rows(session, jobs_of(campaign.id), Job.created_at, Job.id, newest_first=True)
    return paging.page([JobOut.of(job) for (job,) in rows])


@api.get("/models")
@heavy
def list_models(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn, paging: Paged
) -> Page[ModelOut]:
    """List the models of a campaign, oldest first."""
    campaign = get_campaign(session, account, campaign_id)
    rows = paging.rows(session, service.models_of(campaign), Model.version)
    return paging.page([ModelOut.of(model) for (model,) in rows])


@api.get("/models/{version}/map")
@heavy
def read_map(
    campaign_id: UUID, version: Version, session: DatabaseSession, account: SignedIn
) -> MapOut:
    """Return every image's position on the two main axes of a model."""
    campaign = get_campaign(session, account, campaign_id)
    model = service.get_model(session, campaign, version)
    return MapOut.of(version, service.read_map(session, campaign, model))


@api.get("/models/{version}/neighbours")
@heavy
def nearest_neighbours(
    campaign_id: UUID,
    version: Version,
    session: DatabaseSession,
    account: SignedIn,
    image: Annotated[int, Query(ge=0, le=2**31 - 1)],
    k: HowMany = 10,
) -> NeighboursOut:
    """Find the nearest neighbours of an image in one model, by its position."""
    campaign = get_campaign(session, account, campaign_id)
    model = service.get_model(session, campaign, version)
    nearest = neighbours.nearest_neighbours(session, campaign, model, image, k)
    near = [neighbour.position for neighbour, _ in nearest]
    evidence = count_evidence(session, campaign, image, near)
    deviations = distance_deviations(session, campaign, model, image, near)
    kept = kept_of_image(campaign, model, image)
    return NeighboursOut.of(model, image, nearest, evidence, deviations, kept)


@api.get("/neighbours")
@heavy
def find_neighbours(
    campaign_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
    image: Position = None,
    sha256: Annotated[
        str | None, Query(pattern="^[0-9a-fA-F]{64}$", description="SHA-256 of the uploaded file.")
    ] = None,
    filename: Annotated[
        str | None, Query(max_length=500, description="File name, if only one image has it.")
    ] = None,
    k: HowMany = 10,
    version: Annotated[
        int | None,
        Query(ge=1, le=2**31 - 1, description="Version of the model; the newest by default."),
    ] = None,
) -> NeighboursOut:
    """Find the nearest neighbours of an image by position, hash or file name, in the newest model
    by default. A search for similar images calls this endpoint."""
    campaign = get_campaign(session, account, campaign_id)
    model = service.get_model(session, campaign, version)
    position = neighbours.position_of(session, campaign, image, sha256, filename)
    nearest = neighbours.nearest_neighbours(session, campaign, model, position, k)
    near = [neighbour.position for neighbour, _ in nearest]
    evidence = count_evidence(session, campaign, position, near)
    deviations = distance_deviations(session, campaign, model, position, near)
    kept = kept_of_image(campaign, model, position)
    return NeighboursOut.of(model, position, nearest, evidence, deviations, kept)


@api.get("/models/{version}/insight")
@heavy
def read_insight(
    campaign_id: UUID, version: Version, session: DatabaseSession, account: SignedIn
) -> InsightOut:
    """Return what a model has learned about attributes and annotators."""
    campaign = get_campaign(session, account, campaign_id)
    model = service.get_model(session, campaign, version)
    reply = InsightOut.of(insight.read_insight(session, campaign, model))
    return without_annotators(account, reply)


@api.put("/models/{version}/attributes/{index}/name", status_code=204)
@heavy
def name_attribute(
    campaign_id: UUID,
    version: Version,
    index: AttributeNumber,
    body: AttributeNameIn,
    session: DatabaseSession,
    account: SignedIn,
) -> None:
    """Name an attribute of a model. The attribute of the next models that orders the images in the
    same way keeps the name."""
    campaign = _changeable(session, account, campaign_id)
    model = service.get_model(session, campaign, version)
    rename_attribute(session, account, campaign, model, index, body.name)


@api.post("/models/{version}/attributes/merge")
@heavy
def merge_attributes(
    campaign_id: UUID, version: Version, body: MergeIn, session: DatabaseSession, account: SignedIn
) -> MergedOut:
    """Merge attributes of a model that are one and the same to you. It can be undone, and carries
    over to the next models. The model's own files do not change."""
    campaign = _changeable(session, account, campaign_id)
    model = service.get_model(session, campaign, version)
    number = merged_attributes.merge_attributes(
        session, account, campaign, model, body.attributes, body.name
    )
    return MergedOut(attribute=number)


@api.delete("/models/{version}/attributes/{index}/merge", status_code=204)
@heavy
def split_attribute(
    campaign_id: UUID,
    version: Version,
    index: AttributeNumber,
    session: DatabaseSession,
    account: SignedIn,
) -> None:
    """Split a merged attribute into its parts."""
    campaign = _changeable(session, account, campaign_id)
    model = service.get_model(session, campaign, version)
    merged_attributes.split_attribute(session, account, campaign, model, index)


def _changeable(session: Session, account: Account, campaign_id: UUID) -> Campaign:
    """Return a campaign that the account may change. Its row is not locked, because names and
    merges do not concern annotators. Raises NotFound, MayNotChange."""
    campaign = get_campaign(session, account, campaign_id)
    if access_of(session, account, campaign) == "view":
        raise MayNotChange("This campaign is shared with you to view only. You cannot change it.")
    return campaign


@api.post("/focus", status_code=204)
def set_focus(
    campaign_id: UUID, body: FocusIn, session: DatabaseSession, account: SignedIn
) -> None:
    """Choose what the next rounds ask about."""
    campaign = get_campaign(session, account, campaign_id, edit=True)
    if body.images is not None:
        insight.set_focus_images(session, campaign, body.images)
    else:
        insight.set_focus(session, campaign, body.attribute)
