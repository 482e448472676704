"""Routes of the annotators' API that depend on a link or a platform's terms."""

from fastapi import APIRouter, Request, Response

from app.annotation import leases
from app.annotation.even_pace import EvenRoute, keep_even_pace
from app.annotation.responses import handout_out, session_out
from app.annotation.routes import AssignmentId
from app.annotation.schemas import HandoutOut, OpenSession, SessionOut
from app.annotation.sessions import session_of
from app.core import openapi
from app.core.web import AnnotatorsSession
from app.recruitment import extras, link_entry, returns

api = APIRouter(prefix="/api/v1/annotate", tags=["annotation"], route_class=EvenRoute)


@api.post(
    "/sessions",
    status_code=201,
    responses={429: openapi.problem("Too many wrong link passwords from this address.")},
)
def open_session(body: OpenSession, request: Request, session: AnnotatorsSession) -> SessionOut:
    """Start or continue through a link. The same key is the same annotator. The response is 403 if
    the link does not let this person in; docs/annotator-api.md lists the codes."""
    client = request.client.host if request.client else ""
    who = link_entry.enter(
        session, body.link, body.annotator_key, body.password, client, body.query
    )
    return session_out(session, who, returns.ways_out(session, who))


@api.post("/more")
def take_more(
    request: Request, session: AnnotatorsSession, assignment_id: AssignmentId
) -> HandoutOut:
    """Take on one extra grid for a bonus, if the requester offers extra grids."""
    who = session_of(session, assignment_id)
    keep_even_pace(request, who)
    extras.take_more(session, who)
    return handout_out(session, who, leases.lease_next_grid(session, who))


@api.post("/hand-in", status_code=204)
def hand_in(session: AnnotatorsSession, assignment_id: AssignmentId) -> Response:
    """Announce that the browser is about to submit the work on the platform. After that, no more
    grids are assigned."""
    who = session_of(session, assignment_id)
    extras.announce_submission(session, who)
    return Response(status_code=204)
