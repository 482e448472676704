"""The participants' pages: studies, taking part, coming back and earnings."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

import nh3
from fastapi import APIRouter, Depends, Form, Request, Response
from fastapi.responses import RedirectResponse
from markupsafe import Markup

from emulators.kit.pages import templates
from emulators.prolific.api.wire import TheWorld
from emulators.prolific.errors import Refused
from emulators.prolific.market import COOKIE, came_back, the_study, the_submission, up_to_date
from emulators.prolific.objects import Participant, Study, Submission
from emulators.prolific.rules import money
from emulators.prolific.rules import taking_part as rules
from emulators.prolific.world import World

TAGS = {"b", "i", "em", "strong", "s", "u", "h1", "h2", "ol", "ul", "li", "p"}
SIGNS = {"GBP": "£", "USD": "$", "EUR": "€"}

router = APIRouter(dependencies=[Depends(up_to_date)], default_response_class=Response)
_templates = templates(Path(__file__).parent / "templates")


def _money(cents: int, currency: str) -> str:
    return f"{SIGNS.get(currency, currency + ' ')}{cents / 100:,.2f}"


def _hourly(study: Study) -> str:
    settings = study.settings
    cents = round(settings.reward * 60 / settings.estimated_completion_time)
    return _money(cents, study.workspace.currency) + "/hr"


def _description(text: str) -> Markup:
    """Keep the tags that Prolific supports; remove the others but not their text."""
    return Markup(nh3.clean(text, tags=TAGS, attributes={}))  # noqa: S704 -- cleaned


_templates.env.filters["money"] = _money
_templates.env.filters["description"] = _description
_templates.env.filters["hourly"] = _hourly


def _person(request: Request, world: World, chosen: str | None) -> Participant | None:
    """The participant in `?participant=…`, or the last one in this browser."""
    if chosen:
        return world.participant(chosen)
    return world.participants.get(request.cookies.get(COOKIE, ""))


def _page(
    request: Request, name: str, person: Participant | None, status: int = 200, **values: object
) -> Response:
    world: World = request.app.state.world
    shown = {"person": person, "people": list(world.participants.values()), **values}
    reply = _templates.TemplateResponse(request, name, shown, status)
    if person:
        reply.set_cookie(COOKIE, person.id, samesite="lax")
    return reply


@router.get("/")
async def studies(request: Request, world: TheWorld, participant: str | None = None) -> Response:
    person = _person(request, world, participant)
    offers = rules.open_studies(world, person) if person else []
    places = {
        s.id: s.settings.total_available_places - money.places_taken(world, s) for s in offers
    }
    going = [
        s
        for s in world.submissions.values()
        if s.participant is person and s.status in money.GOING_ON and not s.submitted
    ]
    return _page(request, "studies.html", person, studies=offers, places=places, going=going)


@router.get("/studies/{id}")
async def study(
    request: Request, world: TheWorld, id: str, participant: str | None = None
) -> Response:
    shown, person = the_study(world, id), _person(request, world, participant)
    why_not = rules.obstacle(world, shown, person) if person else None
    places = shown.settings.total_available_places - money.places_taken(world, shown)
    return _page(request, "study.html", person, study=shown, why_not=why_not, places=places)


@router.post("/studies/{id}/take-part")
async def take_part(
    request: Request, world: TheWorld, id: str, participant: Annotated[str, Form()]
) -> Response:
    person = world.participant(participant)
    try:
        submission = rules.reserve(world, the_study(world, id), person)
        url = rules.start(world, submission)
    except Refused as refused:
        return _page(request, "notice.html", person, refused.status, text=refused.detail)
    reply = RedirectResponse(url, 303)
    reply.set_cookie(COOKIE, person.id, samesite="lax")
    return reply


@router.post("/submissions/{id}/continue")
async def go_on(request: Request, world: TheWorld, id: str) -> Response:
    submission = the_submission(world, id)
    return _after(request, submission, partial(rules.start, world, submission))


@router.post("/submissions/{id}/return")
async def give_back(request: Request, world: TheWorld, id: str) -> Response:
    submission = the_submission(world, id)
    return _after(request, submission, partial(rules.give_back, world, submission))


@router.post("/submissions/{id}/no-code")
async def no_code(request: Request, world: TheWorld, id: str) -> Response:
    submission = the_submission(world, id)
    return _after(request, submission, partial(rules.complete, world, submission, None))


def _after(request: Request, submission: Submission, step: Callable[[], str | None]) -> Response:
    """Go to the address that the step returns, by default to the earnings; or say what it lacks."""
    person = submission.participant
    try:
        address = step() or f"/earnings?{urlencode({'participant': person.id})}"
    except Refused as refused:
        return _page(request, "notice.html", person, refused.status, text=refused.detail)
    return RedirectResponse(address, 303)


@router.get("/submissions/complete")
async def complete(
    request: Request, world: TheWorld, cc: str | None = None, participant: str | None = None
) -> Response:
    """The page to which studies send people with a completion code."""
    person = _person(request, world, participant)
    if person is None:
        return _page(request, "notice.html", None, 400, text="Choose a participant first.")
    try:
        submission = came_back(world, person, cc)
        rules.complete(world, submission, cc)
    except Refused as refused:
        return _page(request, "notice.html", person, refused.status, text=refused.detail)
    code = submission.study.code(cc)
    known = code is not None and code.actor == "participant"
    return _page(request, "complete.html", person, submission=submission, known=known, code=cc)


@router.get("/earnings")
async def earnings(request: Request, world: TheWorld, participant: str | None = None) -> Response:
    person = _person(request, world, participant)
    mine = [s for s in world.submissions.values() if s.participant is person]
    messages = [m for m in world.messages if person and m.recipient == person.id]
    paid: dict[str, int] = {}
    totals: dict[str, int] = {}
    for submission in mine:
        paid[submission.id] = -sum(
            entry.amount
            for entry in world.wallet.journal
            if entry.submission == submission.id and entry.part == "money"
        )
        currency = submission.study.workspace.currency
        totals[currency] = totals.get(currency, 0) + paid[submission.id]
    return _page(
        request,
        "earnings.html",
        person,
        submissions=list(reversed(mine)),
        paid=paid,
        totals=totals,
        messages=list(reversed(messages)),
    )
