"""The annotators' API and page."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.responses import HTMLResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.annotation import answers, leases, sessions
from app.annotation.models import Answer
from app.annotation.schemas import (
    AnswerIn,
    AnswerOut,
    CampaignForAnnotators,
    DraftIn,
    DraftOut,
    DraftSaved,
    HandoutOut,
    LeasedImage,
    LeaseOut,
    OpenSession,
    SessionOut,
)
from app.annotation.sessions import AnnotatorSession
from app.campaigns.models import Campaign, Grid
from app.campaigns.service import KINDS, campaign_of_link
from app.collections.media import image_url
from app.collections.models import Image
from app.core.web import DatabaseSession, templates

api = APIRouter(prefix="/api/annotate", tags=["annotation"])
pages = APIRouter(include_in_schema=False)
bearer = HTTPBearer(auto_error=False)


def _who(
    session: DatabaseSession,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
) -> AnnotatorSession:
    return sessions.session_of_token(session, credentials.credentials if credentials else "")


Who = Annotated[AnnotatorSession, Depends(_who, scope="function")]


@pages.get("/a/{link}", response_class=HTMLResponse)
def annotator_page(request: Request, link: str, session: DatabaseSession) -> HTMLResponse:
    campaign = campaign_of_link(session, link)
    context = {"link": link, "campaign": campaign}
    return templates.TemplateResponse(request, "annotation/page.html", context)


@api.post("/sessions", status_code=201)
def open_session(body: OpenSession, session: DatabaseSession) -> SessionOut:
    campaign = campaign_of_link(session, body.link)
    opened = sessions.open_session(session, campaign, body.annotator_key)
    answered, target = leases.assignment_progress(opened.assignment)
    return SessionOut(
        token=sessions.token_of(opened),
        campaign=_for_annotators(campaign),
        answered=answered,
        target=target,
    )


@api.post("/leases")
def lease_next_grid(session: DatabaseSession, who: Who) -> HandoutOut:
    handout = leases.lease_next_grid(session, who)
    answered, target = leases.assignment_progress(who.assignment)
    lease = (
        _lease_out(session, who.campaign, handout.lease, handout.grid)
        if handout.lease and handout.grid
        else None
    )
    return HandoutOut(
        status=handout.status,
        answered=answered,
        target=target,
        lease=lease,
        retry_after_seconds=handout.retry_after_seconds,
        completion_code=who.assignment.completion_code if handout.status == "done" else None,
    )


@api.put("/leases/{lease_id}/draft")
def save_draft(lease_id: UUID, body: DraftIn, session: DatabaseSession, who: Who) -> DraftSaved:
    draft = body.model_dump(include={"groups", "descriptions"})
    lease = leases.save_draft(session, who, lease_id, body.version, draft)
    return DraftSaved(version=lease.draft_version, expires_at=lease.lease_expires_at)


@api.post("/leases/{lease_id}/answer")
def submit_answer(
    lease_id: UUID,
    body: AnswerIn,
    session: DatabaseSession,
    who: Who,
    idempotency_key: Annotated[str, Header(min_length=8, max_length=100)],
) -> AnswerOut:
    submission = answers.Submission(**body.model_dump())
    answer, assignment = answers.submit_answer(session, who, lease_id, submission, idempotency_key)
    answered, target = leases.assignment_progress(assignment)
    return AnswerOut(
        status="surplus" if answer.state == "surplus" else "stored",
        answered=answered,
        target=target,
    )


@api.post("/leases/{lease_id}/return", status_code=204)
def return_lease(lease_id: UUID, session: DatabaseSession, who: Who) -> Response:
    leases.return_lease(session, who, lease_id)
    return Response(status_code=204)


def _for_annotators(campaign: Campaign) -> CampaignForAnnotators:
    return CampaignForAnnotators(
        id=campaign.id,
        name=campaign.name,
        kind="grid" if campaign.kind == "grid" else "bins",
        question=campaign.question,
        max_groups=campaign.max_groups,
        grid_size=campaign.grid_size,
        columns=KINDS[campaign.kind]["columns"],
        descriptions_required=campaign.kind == "grid",
    )


def _lease_out(session: Session, campaign: Campaign, lease: Answer, grid: Grid) -> LeaseOut:
    rows = session.scalars(
        select(Image).where(
            Image.collection_id == campaign.collection_id, Image.position.in_(grid.images)
        )
    )
    images = {image.position: image for image in rows}
    return LeaseOut(
        id=lease.id,
        grid_id=grid.id,
        images=[
            LeasedImage(
                image=position,
                url=image_url(images[position]),
                large_url=image_url(images[position], "large"),
            )
            for position in grid.images
        ],
        expires_at=lease.lease_expires_at,
        draft=DraftOut.model_validate(lease.draft) if lease.draft else None,
        draft_version=lease.draft_version,
    )
