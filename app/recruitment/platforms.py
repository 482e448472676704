"""Annotators' pages on platforms: they turn an address into a session.

These routes contact platforms, so they open their own transactions before and after that.
"""

import logging
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response
from sqlalchemy.orm import Session

from app.annotation.pages import page_context
from app.annotation.preview import preview_of
from app.annotation.responses import session_out
from app.annotation.schemas import HandIn, OpenMTurkSession, OpenProlificSession, SessionOut
from app.campaigns.models import Campaign
from app.core.security import pseudonym
from app.core.web import AnnotatorsSession, BriefRoute, templates
from app.recruitment import entry
from app.recruitment.channels.mturk_sites import BadSubmitAddress, submit_address
from app.recruitment.channels.prolific import completion_address
from app.recruitment.entry import Arrival
from app.recruitment.identity_check import require_accepted, require_participant
from app.recruitment.models import ChannelAccount, Recruitment

logger = logging.getLogger(__name__)
api = APIRouter(prefix="/api/v1/annotate", tags=["annotation"], route_class=BriefRoute)
pages = APIRouter(include_in_schema=False)
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
# The parts of an address that identify one person's assignment.
TELLING = {"mturk": ("assignment_id", "worker_id"), "prolific": ("session", "participant")}


def _address(session: Session, recruitment: Recruitment, turk_submit_to: str) -> str:
    """Return the address that answers are posted to. Raises BadSubmitAddress after logging it."""
    try:
        return submit_address(turk_submit_to, environment_of(session, recruitment))
    except BadSubmitAddress:
        logger.warning("refused on mturk, recruitment %s: unknown turkSubmitTo", recruitment.id)
        raise


def environment_of(session: Session, recruitment: Recruitment) -> str:
    """Return the environment of the account that pays: production, sandbox or custom."""
    return session.get_one(ChannelAccount, recruitment.channel_account_id).environment


@pages.get("/a/mturk/{link}", response_class=HTMLResponse)
def mturk_page(
    request: Request,
    link: str,
    session: AnnotatorsSession,
    assignment_id: Annotated[str, Query(alias="assignmentId")] = PREVIEW,
    hit_id: Annotated[str, Query(alias="hitId")] = "",
    worker_id: Annotated[str, Query(alias="workerId")] = "",
    turk_submit_to: Annotated[str, Query(alias="turkSubmitTo")] = "",
    lang: str = "",
) -> Response:
    """Show the page in MTurk's frame. Before the task is accepted, it is only a preview."""
    recruitment = entry.recruitment_of_link(session, link, "mturk")
    if turk_submit_to:
        _address(session, recruitment, turk_submit_to)
    campaign = session.get_one(Campaign, recruitment.campaign_id)
    if assignment_id == PREVIEW:
        return _preview(request, session, campaign, lang, "mturk")
    given = {
        "assignment_id": assignment_id,
        "hit_id": hit_id,
        "worker_id": worker_id,
        "turk_submit_to": turk_submit_to,
    }
    return _page(request, campaign, lang, link, "mturk", given)


@pages.get("/a/mturk/{link}/thanks", response_class=HTMLResponse)
def thanks_page(
    request: Request,
    link: str,
    session: AnnotatorsSession,
    assignment_id: Annotated[str, Query(alias="assignmentId")] = PREVIEW,
    turk_submit_to: Annotated[str, Query(alias="turkSubmitTo")] = "",
) -> Response:
    """Show the page of a task that pays one person for earlier work. It has a button that
    submits."""
    recruitment = entry.recruitment_of_link(session, link, "mturk")
    accepted = assignment_id != PREVIEW
    address = ""
    if accepted:
        address = _address(session, recruitment, turk_submit_to)
    campaign = session.get_one(Campaign, recruitment.campaign_id)
    context = {"campaign": campaign, "assignment": assignment_id, "address": address}
    return templates.TemplateResponse(request, "annotation/thanks.html", context)


@pages.get("/a/prolific/{link}", response_class=HTMLResponse)
def prolific_page(
    request: Request,
    link: str,
    session: AnnotatorsSession,
    participant: Annotated[str, Query(alias="PROLIFIC_PID")] = "",
    study: Annotated[str, Query(alias="STUDY_ID")] = "",
    submission: Annotated[str, Query(alias="SESSION_ID")] = "",
    prolific_token: str = "",
    lang: str = "",
) -> Response:
    """Show the page to which Prolific sends people."""
    recruitment = entry.recruitment_of_link(session, link, "prolific")
    campaign = session.get_one(Campaign, recruitment.campaign_id)
    if not submission:
        return _preview(request, session, campaign, lang, "prolific")
    given = {
        "participant": participant,
        "study": study,
        "session": submission,
        "token": prolific_token,
    }
    return _page(request, campaign, lang, link, "prolific", given)


def _preview(
    request: Request, session: AnnotatorsSession, campaign: Campaign, lang: str, channel: str
) -> HTMLResponse:
    shown = preview_of(session, campaign, whole=False)
    context = {
        **page_context(request, campaign, lang),
        "link": f"look-{campaign.id}",
        "channel": channel,
        "preview": {**shown.model_dump(mode="json"), "locked": True},
    }
    return templates.TemplateResponse(request, "annotation/page.html", context)


def _page(
    request: Request, campaign: Campaign, lang: str, link: str, channel: str, given: dict[str, str]
) -> HTMLResponse:
    context: dict[str, Any] = {
        **page_context(request, campaign, lang),
        "link": link,
        "channel": channel,
        "entry": given,
        "place": place_of(channel, given),
    }
    headers = {"Vary": "Accept-Language", "Cache-Control": "no-store"}
    return templates.TemplateResponse(request, "annotation/page.html", context, headers=headers)


def place_of(channel: str, given: dict[str, str]) -> str:
    """Return the key under which a browser stores data of one person's assignment, so that platform
    ids do not stay in browsers (ASVS 14.3.3)."""
    return pseudonym(f"place:{channel}", "\0".join(given[name] for name in TELLING[channel]))[:32]


@api.post("/sessions/mturk", status_code=201)
def open_mturk_session(
    body: OpenMTurkSession,
    _: Annotated[None, Depends(require_accepted)],
    session: AnnotatorsSession,
) -> SessionOut:
    """Start or continue an MTurk assignment. It is refused, and logged, if its ids do not match
    what exists on MTurk."""
    recruitment = entry.recruitment_of_link(session, body.link, "mturk")
    address = _address(session, recruitment, body.turk_submit_to)
    arrival = Arrival(body.assignment_id, body.hit_id, body.worker_id)
    posting = entry.posting_of_arrival(session, recruitment, arrival)
    who = entry.enter(session, recruitment, posting, arrival)
    fields = {"assignmentId": body.assignment_id, "likewise": str(who.assignment.id)}
    return session_out(
        session, who, {"hand_in": HandIn(kind="form", address=address, fields=fields)}
    )


@api.post("/sessions/prolific", status_code=201)
def open_prolific_session(
    body: OpenProlificSession,
    _: Annotated[None, Depends(require_participant)],
    session: AnnotatorsSession,
) -> SessionOut:
    """Start or continue a Prolific submission, after Prolific has confirmed whose it is."""
    recruitment = entry.recruitment_of_link(session, body.link, "prolific")
    arrival = Arrival(body.session, body.study, body.participant)
    posting = entry.posting_of_arrival(session, recruitment, arrival)
    who = entry.enter(session, recruitment, posting, arrival)
    environment, codes = environment_of(session, recruitment), posting.details["codes"]
    ways = {"hand_in": "complete", "declined": "no_consent", "screened_out": "screened_out"}
    return session_out(
        session,
        who,
        {
            way: HandIn(kind="address", address=completion_address(environment, codes[code]))
            for way, code in ways.items()
            if code in codes
        },
    )
