"""API of the annotators' page."""

from datetime import UTC, datetime
from functools import partial
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from app.annotation import answers, held, leases, practice, replies, sessions
from app.annotation.bundles import BUNDLE_TYPE, bundle_of, pictures_at
from app.annotation.even_pace import EvenRoute, keep_even_pace
from app.annotation.presenters import leased_images
from app.annotation.responses import handout_out, questions_out, stage_out
from app.annotation.schemas import (
    AnswerIn,
    AnswerOut,
    DraftIn,
    DraftSaved,
    HandoutOut,
    PracticeFeedback,
    PracticeIn,
    PracticeOut,
    PresenceIn,
    QuestionsOut,
    RemarkIn,
    ReplyIn,
    ReturnIn,
    StageOut,
    StepIn,
)
from app.annotation.sessions import assignment_of_token, session_of
from app.campaigns.models import Grid
from app.campaigns.questions import Place
from app.collections.images import SIZES
from app.core.errors import NotFound
from app.core.quick import AfterCommit
from app.core.web import AnnotatorsSession

api = APIRouter(prefix="/api/v1/annotate", tags=["annotation"], route_class=EvenRoute)
bearer = HTTPBearer(auto_error=False)


async def _assignment_id(
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
) -> UUID:
    return assignment_of_token(credentials.credentials if credentials else "")


# The assignment of the bearer token. The route itself reads it from the database, in its thread:
# see app.core.web.
AssignmentId = Annotated[UUID, Depends(_assignment_id)]


@api.post("/steps")
def take_step(body: StepIn, session: AnnotatorsSession, assignment_id: AssignmentId) -> StageOut:
    """Record that the annotator agreed to the consent text, or read the instructions or the
    warning. If the text is no longer the one that the page shows, nothing is recorded
    (`consent_changed`)."""
    who = session_of(session, assignment_id)
    sessions.take_step(session, who, body.step, body.consent_key)
    return stage_out(session, who)


@api.get("/questions/{place}")
def asked_questions(
    place: Place, session: AnnotatorsSession, assignment_id: AssignmentId
) -> QuestionsOut:
    """Return the questions before or after the grids that the annotator has yet to answer."""
    return questions_out(session, session_of(session, assignment_id), place)


@api.post("/questions/{place}")
def reply_to_questions(
    place: Place, body: ReplyIn, session: AnnotatorsSession, assignment_id: AssignmentId
) -> StageOut:
    """Answer the questions before or after the grids. Sending the answers again changes nothing.
    If the questions are no longer those on the page, nothing is recorded (`questions_changed`)."""
    who = session_of(session, assignment_id)
    replies.take_reply(session, who, place, body.key, body.answers)
    return stage_out(session, who)


@api.get("/practice")
def current_practice(session: AnnotatorsSession, assignment_id: AssignmentId) -> PracticeOut:
    """Return the next practice grid."""
    who = session_of(session, assignment_id)
    number, grid, tries = practice.current_practice(session, who)
    images = leased_images(session, who.campaign, grid.images)
    return PracticeOut(number=number, images=images, tries=tries)


@api.post("/practice")
def try_practice(
    body: PracticeIn, session: AnnotatorsSession, assignment_id: AssignmentId
) -> PracticeFeedback:
    """Submit a try of a practice grid. The response contains the known answer."""
    who = session_of(session, assignment_id)
    page_state = None
    if body.number is not None and body.tries is not None:
        page_state = body.number, body.tries
    value, truth = practice.try_practice(session, who, body.images, body.groups, page_state)
    passed = round(value, 4) >= who.settings.practice_pass
    return PracticeFeedback(
        agreement=value, passed=passed, truth=truth, state=stage_out(session, who)
    )


@api.post("/leases")
def lease_next_grid(
    request: Request, session: AnnotatorsSession, assignment_id: AssignmentId
) -> HandoutOut:
    """Lease the next grid, or find out why there is none now."""
    who = session_of(session, assignment_id, lock=True)
    keep_even_pace(request, who)
    return handout_out(session, who, leases.lease_next_grid(session, who))


@api.post("/presence", status_code=204)
def presence(body: PresenceIn, session: AnnotatorsSession, assignment_id: AssignmentId) -> Response:
    """Report that the page is still open or is being closed. Pages on platforms send this every 20
    seconds."""
    who = session_of(session, assignment_id)
    who.assignment.seen_at = None if body.left else datetime.now(UTC)
    return Response(status_code=204)


@api.post("/leases/ahead")
def lease_ahead(
    request: Request, session: AnnotatorsSession, assignment_id: AssignmentId
) -> HandoutOut:
    """Lease the grid after the current one in order to prefetch its images. POST /leases then
    assigns it."""
    who = session_of(session, assignment_id, lock=True)
    keep_even_pace(request, who)
    return handout_out(session, who, leases.lease_ahead(session, who))


@api.get("/leases/{lease_id}/images/{size}", response_class=Response, response_model=None)
def lease_images(
    lease_id: UUID, size: str, session: AnnotatorsSession, assignment_id: AssignmentId
) -> AfterCommit:
    """Return all images of a grid in one response, so that a slow connection waits only once
    (docs/annotator-api.md)."""
    who = session_of(session, assignment_id)
    if size not in SIZES:
        raise NotFound(f"There is no such size. Choose one of {', '.join(SIZES)}.")
    lease = held.own_lease(session, who, lease_id)
    images = pictures_at(session, who.campaign, session.get_one(Grid, lease.grid_id).images)
    headers = {"Cache-Control": "private, max-age=86400"}
    return AfterCommit(
        lambda: Response(bundle_of(images, size), media_type=BUNDLE_TYPE, headers=headers)
    )


@api.put("/leases/{lease_id}/draft")
def save_draft(
    lease_id: UUID, body: DraftIn, session: AnnotatorsSession, assignment_id: AssignmentId
) -> DraftSaved:
    """Save an unfinished grouping. This also extends the lease."""
    who = session_of(session, assignment_id)
    draft = body.model_dump(include={"groups", "descriptions"})
    lease = leases.save_draft(session, who, lease_id, body.version, draft)
    return DraftSaved(version=lease.draft_version, expires_at=lease.lease_expires_at)


@api.post("/leases/{lease_id}/answer")
def submit_answer(
    lease_id: UUID,
    body: AnswerIn,
    request: Request,
    session: AnnotatorsSession,
    assignment_id: AssignmentId,
    idempotency_key: Annotated[str, Header(min_length=8, max_length=100)],
) -> AnswerOut:
    """Submit the grouping of a leased grid, and lease the next one with `next`."""
    lease = held.locked_with_all(session, assignment_id, lease_id)
    keep_even_pace(request, lease.who)
    submission = answers.Submission(**body.model_dump(exclude={"next"}))
    # What comes next would come in the lease's assignment.
    goes_on = body.next and lease.assignment.id == assignment_id
    show = partial(handout_out, session) if goes_on else None
    stored = answers.submit_answer(session, lease, submission, idempotency_key, show_next=show)
    answer = stored.answer
    answered, target = leases.assignment_progress(stored.who.assignment)
    return AnswerOut(
        # An answer that has lost its place since is acknowledged as before.
        status="surplus" if answer.state == "surplus" and not answer.reopened_at else "stored",
        answered=answered,
        target=target,
        seconds_spent=stored.seconds_on_others + (answer.elapsed_ms or 0) / 1000,
        next=stored.next,
    )


@api.post("/leases/{lease_id}/return", status_code=204)
def return_lease(
    lease_id: UUID,
    session: AnnotatorsSession,
    assignment_id: AssignmentId,
    body: ReturnIn | None = None,
) -> Response:
    """Return a leased grid without an answer."""
    who = session_of(session, assignment_id)
    leases.return_lease(session, who, lease_id, body.why if body else "")
    return Response(status_code=204)


@api.post("/remarks", status_code=204)
def remark(body: RemarkIn, session: AnnotatorsSession, assignment_id: AssignmentId) -> Response:
    """Leave a comment, or report an image that is not displayed."""
    who = session_of(session, assignment_id)
    lease = held.own_lease(session, who, body.lease_id) if body.lease_id else None
    grid_id = lease.grid_id if lease else None
    leases.remark(session, who, body.kind, body.text, grid_id=grid_id, image=body.image)
    return Response(status_code=204)
