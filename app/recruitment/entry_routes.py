"""Addresses that people and platforms use: pages behind links and on platforms, the annotators' API
where it depends on a link or on a platform's terms, and platforms' signed notifications.

Opening a session on a platform contacts the platform first, while no transaction is open.
"""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response
from sqlalchemy.orm import Session

from app.annotation import leases
from app.annotation.even_pace import EvenRoute, keep_even_pace
from app.annotation.pages import page_context
from app.annotation.preview import preview_of
from app.annotation.responses import handout_out, session_out
from app.annotation.routes import AssignmentId
from app.annotation.schemas import HandoutOut, OpenSession, SessionOut
from app.annotation.sessions import session_of
from app.campaigns.models import Campaign
from app.core import openapi
from app.core.errors import LikewiseError, NotFound
from app.core.security import pseudonym
from app.core.web import AnnotatorsSession, BriefRoute, DatabaseSession, templates
from app.recruitment import entry, extras, link_entry, parameters
from app.recruitment.channels.registry import all_channels, get_channel
from app.recruitment.channels.spec import ChannelSpec, Entry, Place
from app.recruitment.link_entry import arrival_of
from app.recruitment.models import ChannelAccount, Recruitment
from app.recruitment.parameters import BadParameter, read_parameters
from app.recruitment.settings import LinkSettings, link_settings
from app.recruitment.steps import hook_secret, take_hook

logger = logging.getLogger(__name__)
api = APIRouter(prefix="/api/v1/annotate", tags=["annotation"], route_class=EvenRoute)
link_pages = APIRouter(include_in_schema=False)
platform_pages = APIRouter(include_in_schema=False)
# The address to which platforms send signed notifications.
hooks = APIRouter(include_in_schema=False)
Reply = TypeVar("Reply")


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
    return session_out(session, who, parameters.ways_out(session, who), body.language)


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


@link_pages.get("/a/{link}", response_class=HTMLResponse)
def annotator_page(
    request: Request, link: str, session: AnnotatorsSession, lang: str = ""
) -> HTMLResponse:
    arrival = arrival_of(session, link)
    settings = link_settings(arrival.link.settings)
    # The middleware reads it when it writes the policy of this page.
    request.state.framed_by = " ".join(settings.framed_by)
    context = {
        **page_context(request, arrival.campaign, lang),
        "link": link,
        "place": _place(arrival.link, settings, request.url.query),
    }
    headers = {"Vary": "Accept-Language"}
    return templates.TemplateResponse(request, "annotation/page.html", context, headers=headers)


def _place(link: Recruitment, settings: LinkSettings, query: str) -> str:
    """Return the key under which a browser stores data of the person with an id, so that people who
    share a browser don't see each other's work. "" if only the browser is known."""
    try:
        person = read_parameters(settings, query).person
    except BadParameter:
        # The page then asks for a session, and shows why it gets none.
        return ""
    return pseudonym(f"place:link:{link.id}", person)[:32] if person else ""


def environment_of(session: Session, recruitment: Recruitment) -> str:
    """Return the environment of the account that pays: production, sandbox or custom."""
    return session.get_one(ChannelAccount, recruitment.channel_account_id).environment


def _page_channel(request: Request, channel: str) -> ChannelSpec:
    """Return the channel of a page. Only its platform may frame the page and receive its form, and
    refusals as well, so this comes before a connection to the database."""
    if channel not in {spec.name for spec in all_channels()}:
        raise NotFound("There is no such page. Check that you copied the whole address.")
    spec = get_channel(channel)
    request.state.framed_by = request.state.forms = spec.framed_by()
    return spec


PageChannel = Annotated[ChannelSpec, Depends(_page_channel)]


@platform_pages.get("/a/{channel}/{link}", response_class=HTMLResponse)
def platform_page(
    request: Request, spec: PageChannel, link: str, session: AnnotatorsSession, lang: str = ""
) -> Response:
    """Show the page to which a platform sends people. Before they have a place, it is only a
    preview."""
    recruitment = entry.recruitment_of_link(session, link, spec.name)
    query, environment = request.query_params, environment_of(session, recruitment)
    given = _noted(recruitment, lambda: spec.claims(query, environment))
    campaign = session.get_one(Campaign, recruitment.campaign_id)
    if given is None:
        return _preview(request, session, campaign, lang, spec)
    context: dict[str, Any] = {
        **page_context(request, campaign, lang),
        "link": link,
        "channel": spec.name,
        "platform": spec.short_title,
        "entry": given,
        "place": place_of(spec, given),
    }
    headers = {"Vary": "Accept-Language", "Cache-Control": "no-store"}
    return templates.TemplateResponse(request, "annotation/page.html", context, headers=headers)


@platform_pages.get("/a/{channel}/{link}/thanks", response_class=HTMLResponse)
def thanks_page(
    request: Request, spec: PageChannel, link: str, session: AnnotatorsSession
) -> Response:
    """Show the page of a posting that pays one person for earlier work. It has a button that
    submits."""
    if not spec.compensates:
        raise NotFound("There is no such page.")
    recruitment = entry.recruitment_of_link(session, link, spec.name)
    query, environment = request.query_params, environment_of(session, recruitment)
    accepted = _noted(recruitment, lambda: spec.thanks(query, environment))
    assignment, address = accepted or ("", "")
    campaign = session.get_one(Campaign, recruitment.campaign_id)
    context = {"campaign": campaign, "assignment": assignment, "address": address}
    return templates.TemplateResponse(request, "annotation/thanks.html", context)


def _noted(recruitment: Recruitment, read: Callable[[], Reply]) -> Reply:
    """Read an address; log that it was refused."""
    try:
        return read()
    except LikewiseError as error:
        logger.warning(
            "refused on %s, recruitment %s: %s", recruitment.channel, recruitment.id, error.code
        )
        raise


def _preview(
    request: Request, session: AnnotatorsSession, campaign: Campaign, lang: str, spec: ChannelSpec
) -> HTMLResponse:
    page = page_context(request, campaign, lang)
    shown = preview_of(session, campaign, page["reading"], whole=False)
    context = {
        **page,
        "link": f"look-{campaign.id}",
        "channel": spec.name,
        "platform": spec.short_title,
        "look": spec.look,
        "preview": {**shown.model_dump(mode="json"), "locked": True},
    }
    return templates.TemplateResponse(request, "annotation/page.html", context)


def place_of(spec: ChannelSpec, given: dict[str, str]) -> str:
    """Return the key under which a browser stores data of one person's assignment, so that platform
    ids do not stay in browsers (ASVS 14.3.3)."""
    identity = "\0".join(given[name] for name in spec.tells_person)
    return pseudonym(f"place:{spec.name}", identity)[:32]


def session_routes(spec: ChannelSpec) -> APIRouter:
    """Return the address at which the annotators' page opens sessions on a platform."""
    api = APIRouter(prefix="/api/v1/annotate", tags=["annotation"], route_class=BriefRoute)
    Body = spec.entry  # noqa: N806 -- a type

    def confirmed(body: Body) -> Entry:  # type: ignore[valid-type]
        entry.confirm(spec, body)
        return body

    def open_session(
        body: Annotated[Entry, Depends(confirmed)], session: AnnotatorsSession
    ) -> SessionOut:
        recruitment = entry.recruitment_of_link(session, body.link, spec.name)
        environment, arrival = environment_of(session, recruitment), spec.arrival(body)
        posting = entry.posting_of_arrival(session, recruitment, arrival)
        who = entry.enter(session, recruitment, posting, arrival)
        place = Place(environment, posting.details, body, str(who.assignment.id))
        ways_back = _noted(recruitment, lambda: spec.ways_back(place))
        return session_out(session, who, ways_back, body.language)

    api.add_api_route(
        f"/sessions/{spec.name}",
        open_session,
        methods=["POST"],
        status_code=201,
        name=f"open_{spec.name}_session",
        description=f"Start or continue an assignment on {spec.title}. It is refused, and logged, "
        "if its ids do not match what exists there.",
    )
    return api


async def _body(request: Request) -> bytes:
    """Return the body as it was sent, because its bytes are signed."""
    return await request.body()


@hooks.post("/hooks/{channel}/{channel_account_id}")
def platform_hook(
    channel: str,
    channel_account_id: UUID,
    request: Request,
    body: Annotated[bytes, Depends(_body)],
    session: DatabaseSession,
) -> Response:
    """Process a notification that something changed on a platform. One with a wrong or old
    signature changes nothing."""
    secret = hook_secret(session, channel, channel_account_id)
    event = get_channel(channel).verified(request.headers, body, secret, datetime.now(UTC))
    fresh = take_hook(session, channel_account_id, event)
    return Response(status_code=202 if fresh else 200)
