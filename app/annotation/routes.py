"""The annotators' API."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy.orm import Session

from app.annotation import answers, leases, practice, sessions
from app.annotation.bundles import BUNDLE_TYPE, bundle_of, images_at
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
    PracticeFeedback,
    PracticeIn,
    PracticeOut,
    PracticeProgress,
    RemarkIn,
    ReturnIn,
    SessionOut,
    StageOut,
    StepIn,
)
from app.annotation.sessions import AnnotatorSession
from app.annotation.settings import annotation_of
from app.campaigns.models import Campaign, Grid
from app.campaigns.service import KINDS, campaign_of_link
from app.collections.images import SIZES
from app.collections.media import image_url
from app.core.errors import NotFound
from app.core.markdown import render_markdown
from app.core.security import pseudonym
from app.core.web import DatabaseSession

api = APIRouter(prefix="/api/annotate", tags=["annotation"])
bearer = HTTPBearer(auto_error=False)
N_COLOURS = 10


def _who(
    session: DatabaseSession,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
) -> AnnotatorSession:
    return sessions.session_of_token(session, credentials.credentials if credentials else "")


Who = Annotated[AnnotatorSession, Depends(_who, scope="function")]


@api.post("/sessions", status_code=201)
def open_session(body: OpenSession, session: DatabaseSession) -> SessionOut:
    campaign = campaign_of_link(session, body.link)
    who = sessions.open_session(session, campaign, body.annotator_key)
    state = _stage_out(who)
    ready = state.stage == "work"
    handout = _handout_out(session, who, leases.lease_next_grid(session, who)) if ready else None
    answered, target = leases.assignment_progress(who.assignment)
    return SessionOut(
        **state.model_dump(),
        token=sessions.token_of(who),
        campaign=_for_annotators(campaign),
        answered=answered,
        target=target,
        seconds_spent=sessions.seconds_spent(session, who.assignment),
        next=handout,
    )


@api.post("/steps")
def take_step(body: StepIn, session: DatabaseSession, who: Who) -> StageOut:
    """Agreed to the consent text; read the instructions or the warning."""
    sessions.take_step(who, body.step)
    return _stage_out(who)


@api.get("/practice")
def current_practice(session: DatabaseSession, who: Who) -> PracticeOut:
    number, grid, tries = practice.current_practice(session, who)
    images = _leased_images(session, who.campaign, grid)
    return PracticeOut(number=number, images=images, tries=tries)


@api.post("/practice")
def try_practice(body: PracticeIn, session: DatabaseSession, who: Who) -> PracticeFeedback:
    value, truth = practice.try_practice(session, who, body.images, body.groups)
    passed = round(value, 4) >= who.settings.practice_pass
    return PracticeFeedback(agreement=value, passed=passed, truth=truth, state=_stage_out(who))


@api.post("/leases")
def lease_next_grid(session: DatabaseSession, who: Who) -> HandoutOut:
    return _handout_out(session, who, leases.lease_next_grid(session, who))


@api.post("/leases/ahead")
def lease_ahead(session: DatabaseSession, who: Who) -> HandoutOut:
    """The grid after the one at work, to fetch its images; POST /leases hands it out."""
    return _handout_out(session, who, leases.lease_ahead(session, who))


@api.get("/leases/{lease_id}/images/{size}", response_class=Response)
def lease_images(lease_id: UUID, size: str, session: DatabaseSession, who: Who) -> Response:
    """All images of a grid in one reply, so that a slow line waits once (docs/annotator-api.md)."""
    if size not in SIZES:
        raise NotFound(f"Sizes are {', '.join(SIZES)}.")
    lease = leases.own_lease(session, who, lease_id)
    found = images_at(session, who.campaign, session.get_one(Grid, lease.grid_id).images)
    headers = {"Cache-Control": "private, max-age=86400"}
    return Response(bundle_of(found, size), media_type=BUNDLE_TYPE, headers=headers)


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
    session.flush()
    answered, target = leases.assignment_progress(assignment)
    return AnswerOut(
        status="surplus" if answer.state == "surplus" else "stored",
        answered=answered,
        target=target,
        seconds_spent=sessions.seconds_spent(session, assignment),
    )


@api.post("/leases/{lease_id}/return", status_code=204)
def return_lease(
    lease_id: UUID, session: DatabaseSession, who: Who, body: ReturnIn | None = None
) -> Response:
    leases.return_lease(session, who, lease_id, body.why if body else "")
    return Response(status_code=204)


@api.post("/remarks", status_code=204)
def remark(body: RemarkIn, session: DatabaseSession, who: Who) -> Response:
    lease = leases.own_lease(session, who, body.lease_id) if body.lease_id else None
    grid_id = lease.grid_id if lease else None
    leases.remark(session, who, body.kind, body.text, grid_id=grid_id, image=body.image)
    return Response(status_code=204)


def _stage_out(who: AnnotatorSession) -> StageOut:
    progress = PracticeProgress(
        done=min(sessions.practice_number(who), who.settings.practice), total=who.settings.practice
    )
    return StageOut(stage=sessions.stage(who), practice=progress)


def _for_annotators(campaign: Campaign) -> CampaignForAnnotators:
    settings = annotation_of(campaign.annotation)
    is_grid = campaign.kind == "grid"
    by_kind = "required" if is_grid else "none"
    return CampaignForAnnotators(
        id=campaign.id,
        name=campaign.name,
        kind="grid" if is_grid else "bins",
        question=campaign.question,
        max_groups=campaign.max_groups,
        grid_size=campaign.grid_size,
        columns=KINDS[campaign.kind]["columns"],
        descriptions=by_kind if settings.descriptions == "auto" else settings.descriptions,
        consent_html=render_markdown(settings.consent),
        instructions_html=render_markdown(settings.instructions),
        thanks_html=render_markdown(settings.thanks),
        completion=settings.completion,
        completion_url=settings.completion_url,
        reward_cents=campaign.reward_cents,
        currency=campaign.currency,
    )


def _handout_out(session: Session, who: AnnotatorSession, handout: leases.Handout) -> HandoutOut:
    answered, target = leases.assignment_progress(who.assignment)
    has_ended = handout.status in ("done", "stopped")
    return HandoutOut(
        status=handout.status,
        answered=answered,
        target=target,
        lease=_lease_out(session, who.campaign, handout),
        retry_after_seconds=handout.retry_after_seconds,
        completion_code=who.assignment.completion_code if has_ended and answered else None,
    )


def _lease_out(session: Session, campaign: Campaign, handout: leases.Handout) -> LeaseOut | None:
    lease, grid = handout.lease, handout.grid
    if lease is None or grid is None:
        return None
    return LeaseOut(
        id=lease.id,
        grid_id=pseudonym("grid", str(grid.id))[:16],
        images=_leased_images(session, campaign, grid),
        expires_at=lease.lease_expires_at,
        first_colour=lease.id.int % N_COLOURS,
        draft=DraftOut.model_validate(lease.draft) if lease.draft else None,
        draft_version=lease.draft_version,
    )


def _leased_images(session: Session, campaign: Campaign, grid: Grid) -> list[LeasedImage]:
    return [
        LeasedImage(image=image.position, url=image_url(image), large_url=image_url(image, "large"))
        for image in images_at(session, campaign, grid.images)
    ]
