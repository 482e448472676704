"""The worker site: HITs, preview, accepted HIT, queue and earnings, and the answers' endpoint."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.datastructures import FormData

from emulators.kit.pages import templates
from emulators.mturk import market, question
from emulators.mturk.market import NotPossible
from emulators.mturk.market_api import (
    accepted_document,
    assignment_of,
    earnings,
    hit_of,
    of_worker,
    site_of,
    worker_of,
)
from emulators.mturk.records import Assignment, Worker
from emulators.mturk.state import State

COOKIE = "emulator_worker"


def _span(length: timedelta) -> str:
    minutes = round(length.total_seconds() / 60)
    hours, days = minutes / 60, minutes / 1440
    if days >= 2:
        return f"{days:.0f} days"
    return f"{hours:.0f} hours" if hours >= 2 else f"{max(minutes, 1)} minutes"


_templates = templates(Path(__file__).parent / "templates")
_templates.env.filters["span"] = _span
_templates.env.filters["money"] = lambda amount: f"${amount:.2f}"


class Site:
    """Renders pages for the worker whom the address or a cookie names."""

    def __init__(self, state: State, request: Request) -> None:
        self.state, self.request = state, request
        self.origin = site_of(state, request)
        asked = request.query_params.get("worker") or request.cookies.get(COOKIE, "")
        self.worker: Worker | None = state.workers.get(asked)

    def page(self, template: str, status: int = 200, **values: object) -> HTMLResponse:
        shown = {
            "worker": self.worker,
            "workers": list(self.state.workers.values()),
            "now": self.state.clock.now(),
            **values,
        }
        response = _templates.TemplateResponse(self.request, template, shown, status)
        if self.worker:
            response.set_cookie(COOKIE, self.worker.worker_id, httponly=True, samesite="lax")
        return response

    def chosen(self) -> Worker:
        if self.worker is None:
            raise NotPossible("Choose a worker first.", 400)
        return self.worker


def refusal_page(state: State, request: Request, error: NotPossible) -> HTMLResponse:
    # The response to a form is shown inside the frame, so its page has no header.
    bare = request.url.path == "/mturk/externalSubmit"
    template = "submitted.html" if bare else "refused.html"
    return Site(state, request).page(template, error.status, message=error.message, ok=False)


def router(state: State) -> APIRouter:
    site = APIRouter(include_in_schema=False)
    _add_reading(site, state)
    _add_working(site, state)
    return site


def _add_reading(site: APIRouter, state: State) -> None:
    @site.get("/")
    def show_list(request: Request) -> HTMLResponse:
        with market.settled(state):
            here = Site(state, request)
            hits = market.open_to(state, here.worker) if here.worker else []
            return here.page("list.html", hits=hits, left=market.places_left)

    @site.get("/hits/{hit_id}")
    def show_preview(hit_id: str, request: Request) -> HTMLResponse:
        with market.settled(state):
            here, hit = Site(state, request), hit_of(state, hit_id)
            market.check_may(state, here.chosen(), hit, "preview")
            return here.page("hit.html", hit=hit, frame=question.preview_url(hit.url, hit_id))

    @site.get("/work/{assignment_id}")
    def show_work(assignment_id: str, request: Request) -> HTMLResponse:
        with market.settled(state):
            here = Site(state, request)
            assignment = assignment_of(state, assignment_id, here.chosen().worker_id)
            if assignment.state != "Accepted":
                raise NotPossible(f"This assignment is {assignment.state.lower()}.", 410)
            frame = accepted_document(assignment, here.origin)["frame_url"]
            return here.page("hit.html", hit=assignment.hit, assignment=assignment, frame=frame)

    @site.get("/queue")
    def show_queue(request: Request) -> HTMLResponse:
        with market.settled(state):
            here = Site(state, request)
            mine = of_worker(state, here.chosen().worker_id)
            held = [assignment for assignment in mine if assignment.state == "Accepted"]
            return here.page("queue.html", assignments=held)

    @site.get("/earnings")
    def show_earnings(request: Request) -> HTMLResponse:
        with market.settled(state):
            here = Site(state, request)
            worker_id = here.chosen().worker_id
            mine = [
                assignment for assignment in of_worker(state, worker_id) if assignment.submitted
            ]
            bonuses = [bonus for bonus in state.bonuses if bonus.worker_id == worker_id]
            totals = earnings(state, worker_id)
            return here.page("earnings.html", assignments=mine, bonuses=bonuses, totals=totals)


def _add_working(site: APIRouter, state: State) -> None:
    @site.post("/hits/{hit_id}/accept")
    def accept(hit_id: str, worker: Annotated[str, Form()]) -> Response:
        with market.settled(state):
            assignment = market.accept(state, worker_of(state, worker), hit_of(state, hit_id))
            return _go(f"/work/{assignment.assignment_id}?worker={worker}")

    @site.post("/work/{assignment_id}/return")
    def give_back(assignment_id: str, worker: Annotated[str, Form()]) -> Response:
        with market.settled(state):
            market.give_back(state, assignment_of(state, assignment_id, worker))
            return _go(f"/?worker={worker}")

    @site.post("/mturk/externalSubmit")
    async def external_submit(request: Request) -> HTMLResponse:
        form = await request.form(max_fields=10_000)
        with market.settled(state):
            if state.faults.refuses_submission():
                raise NotPossible("The service is unavailable. Try again.", 503)
            assignment = _submitting(state, request, form)
            texts = [(name, value) for name, value in form.multi_items() if isinstance(value, str)]
            market.submit(state, assignment, texts)
            here = Site(state, request)
            return here.page("submitted.html", ok=True, assignment=assignment)


def _submitting(state: State, request: Request, form: FormData) -> Assignment:
    """The assignment to which a form belongs: the current one with its assignmentId.

    MTurk knows the worker by the session. Here the frame has no cookie, so a form from an earlier
    holder of the id is only recognised if a cookie or the form names the worker.
    """
    identifier = str(form.get("assignmentId") or "")
    if identifier in ("", question.PREVIEW):
        raise NotPossible("The form has no assignment. Accept the HIT first.", 400)
    assignment = state.assignments.get(identifier)
    if assignment is None:
        raise NotPossible("This assignment does not exist.", 404)
    named = {str(form.get("workerId") or ""), request.cookies.get(COOKIE, "")} - {""}
    if named - {assignment.worker_id}:
        raise NotPossible("This assignment is not yours.", 403)
    if str(form.get("hitId") or assignment.hit.hit_id) != assignment.hit.hit_id:
        raise NotPossible("This assignment belongs to another HIT.", 403)
    if assignment.state in ("Returned", "Abandoned"):
        raise NotPossible(
            f"This assignment was {assignment.state.lower()}. Nothing was stored.", 410
        )
    return assignment


def _go(path: str) -> RedirectResponse:
    return RedirectResponse(path, 303)
