"""Results of a campaign: live progress, models, map, neighbours."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query
from sse_starlette import EventSourceResponse

from app.accounts.routes import SignedIn
from app.campaigns.service import get_campaign
from app.core.web import DatabaseSession
from app.results import insight, service
from app.results.live import progress_events
from app.results.schemas import FocusIn, InsightOut, MapOut, NeighboursOut, ProgressOut

api = APIRouter(prefix="/api/campaigns/{campaign_id}", tags=["results"])
Version = Annotated[int, Path(ge=1, le=2**31 - 1)]


@api.get("/progress")
def read_progress(campaign_id: UUID, session: DatabaseSession, account: SignedIn) -> ProgressOut:
    campaign = get_campaign(session, account, campaign_id)
    return ProgressOut.of(service.read_progress(session, campaign))


@api.get("/events", response_class=EventSourceResponse)
def follow_progress(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn
) -> EventSourceResponse:
    campaign = get_campaign(session, account, campaign_id)
    return EventSourceResponse(progress_events(campaign.id), ping=15)


@api.get("/models/{version}/map")
def read_map(
    campaign_id: UUID, version: Version, session: DatabaseSession, account: SignedIn
) -> MapOut:
    campaign = get_campaign(session, account, campaign_id)
    model = service.get_model(session, campaign, version)
    return MapOut.of(version, service.read_map(session, campaign, model))


@api.get("/models/{version}/neighbours")
def nearest_neighbours(
    campaign_id: UUID,
    version: Version,
    session: DatabaseSession,
    account: SignedIn,
    image: Annotated[int, Query(ge=0, le=2**31 - 1)],
    k: Annotated[int, Query(ge=1, le=200)] = 10,
) -> NeighboursOut:
    campaign = get_campaign(session, account, campaign_id)
    model = service.get_model(session, campaign, version)
    found = service.nearest_neighbours(session, campaign, model, image, k)
    return NeighboursOut.of(image, found)


@api.get("/models/{version}/insight")
def read_insight(
    campaign_id: UUID, version: Version, session: DatabaseSession, account: SignedIn
) -> InsightOut:
    campaign = get_campaign(session, account, campaign_id)
    model = service.get_model(session, campaign, version)
    return InsightOut.of(insight.read_insight(session, campaign, model))


@api.post("/focus", status_code=204)
def set_focus(
    campaign_id: UUID, body: FocusIn, session: DatabaseSession, account: SignedIn
) -> None:
    campaign = get_campaign(session, account, campaign_id, edit=True)
    if body.images is not None:
        insight.set_focus_images(session, campaign, body.images)
    else:
        insight.set_focus(session, campaign, body.attribute)
