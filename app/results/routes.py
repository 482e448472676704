"""Results of a campaign: live progress, models, map, neighbours."""

from typing import Annotated
from uuid import UUID

from fastapi import Path, Query
from sse_starlette import EventSourceResponse

from app.accounts.api import api_router
from app.accounts.routes import SignedIn
from app.campaigns.service import get_campaign
from app.core.heavy import heavy
from app.core.paging import Page, Paged
from app.core.web import DatabaseSession
from app.jobs.models import Job
from app.jobs.service import jobs_of
from app.results import insight, neighbours, service
from app.results.evidence import count_evidence
from app.results.insight_schemas import FocusIn, InsightOut
from app.results.live import ProgressStream
from app.results.models import Model
from app.results.schemas import JobOut, MapOut, ModelOut, NeighboursOut, ProgressOut

api = api_router("/campaigns/{campaign_id}", "results")
Version = Annotated[int, Path(ge=1, le=2**31 - 1, examples=[1])]
Position = Annotated[
    int | None, Query(ge=0, le=2**31 - 1, description="Position of the image in the collection.")
]
HowMany = Annotated[int, Query(ge=1, le=200, description="Number of neighbours.")]


@api.get("/progress")
def read_progress(campaign_id: UUID, session: DatabaseSession, account: SignedIn) -> ProgressOut:
    """How far a campaign is: answers, rounds, trainings, models."""
    campaign = get_campaign(session, account, campaign_id)
    return ProgressOut.of(service.read_progress(session, campaign))


@api.get("/events", response_class=EventSourceResponse)
def follow_progress(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn
) -> EventSourceResponse:
    """The same whenever it changes, as server-sent events; after ten minutes connect again."""
    campaign = get_campaign(session, account, campaign_id)
    return ProgressStream(campaign.id, account.id)


@api.get("/jobs")
def list_jobs(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn, paging: Paged
) -> Page[JobOut]:
    """Trainings and dry runs of a campaign, the newest first; those that failed say why."""
    campaign = get_campaign(session, account, campaign_id)
    rows = paging.rows(session, jobs_of(campaign.id), Job.created_at, Job.id, newest_first=True)
    return paging.page([JobOut.of(job) for (job,) in rows])


@api.get("/models")
def list_models(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn, paging: Paged
) -> Page[ModelOut]:
    """Models of a campaign, the oldest first."""
    campaign = get_campaign(session, account, campaign_id)
    rows = paging.rows(session, service.models_of(campaign), Model.version)
    return paging.page([ModelOut.of(model) for (model,) in rows])


@api.get("/models/{version}/map")
@heavy
def read_map(
    campaign_id: UUID, version: Version, session: DatabaseSession, account: SignedIn
) -> MapOut:
    """Every image's place on the two main axes of a model."""
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
    """Nearest neighbours of an image in one model, by its position."""
    campaign = get_campaign(session, account, campaign_id)
    model = service.get_model(session, campaign, version)
    found = neighbours.nearest_neighbours(session, campaign, model, image, k)
    near = [one.position for one, _ in found]
    evidence = count_evidence(session, campaign, image, near)
    return NeighboursOut.of(model, image, found, evidence)


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
    """Nearest neighbours of an image, by position, hash or file name, in the newest model
    unless told. The service that a search for similar images calls."""
    campaign = get_campaign(session, account, campaign_id)
    model = service.get_model(session, campaign, version)
    position = neighbours.position_of(session, campaign, image, sha256, filename)
    found = neighbours.nearest_neighbours(session, campaign, model, position, k)
    near = [one.position for one, _ in found]
    evidence = count_evidence(session, campaign, position, near)
    return NeighboursOut.of(model, position, found, evidence)


@api.get("/models/{version}/insight")
@heavy
def read_insight(
    campaign_id: UUID, version: Version, session: DatabaseSession, account: SignedIn
) -> InsightOut:
    """What a model tells of attributes and annotators."""
    campaign = get_campaign(session, account, campaign_id)
    model = service.get_model(session, campaign, version)
    return InsightOut.of(insight.read_insight(session, campaign, model))


@api.post("/focus", status_code=204)
def set_focus(
    campaign_id: UUID, body: FocusIn, session: DatabaseSession, account: SignedIn
) -> None:
    """Choose what the rounds to come ask about."""
    campaign = get_campaign(session, account, campaign_id, edit=True)
    if body.images is not None:
        insight.set_focus_images(session, campaign, body.images)
    else:
        insight.set_focus(session, campaign, body.attribute)
