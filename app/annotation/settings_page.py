"""The requester's page with the settings of the annotators' pages: texts, practice and quality
checks."""

import json
from functools import lru_cache
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, File, Request, UploadFile
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.routes import SignedIn
from app.campaigns.annotation_settings import AnnotationSettings, annotation_of
from app.campaigns.changes import delete_known_list
from app.campaigns.known import KNOWN_SETTINGS, frequent_values
from app.campaigns.models import Campaign, Grid
from app.campaigns.pages import frame_context
from app.campaigns.service import add_known_list, get_campaign, set_annotation
from app.collections.models import Collection
from app.collections.tables import attribute_names
from app.core.bodies import StrictRoute, takes, uploads
from app.core.errors import LikewiseError
from app.core.fields import SHARE
from app.core.heavy import heavy
from app.core.web import DatabaseSession, templates
from app.kinds import kind_of

pages = APIRouter(include_in_schema=False, route_class=StrictRoute)


async def _sent(request: Request) -> dict[str, Any]:
    """Return settings by name. What a form leaves out, such as an unticked box, is false or
    empty. Forms have shares in per cent."""
    form = await request.form()
    values: dict[str, Any] = {name: str(value) for name, value in form.items()}
    shares = [name for name in values if _fields().get(name, {}).get("unit") == SHARE["unit"]]
    values |= {name: _share_of(values[name]) for name in shares}
    values["measures"] = [str(measure) for measure in form.getlist("measures")]
    values["show_instructions"] = "show_instructions" in form
    for name in ("questions_before", "questions_after", "translations"):
        if name in values:
            values[name] = _json_of(values[name])
    return values


@lru_cache
def _fields() -> dict[str, Any]:
    """Return the JSON schema of each setting."""
    fields: dict[str, Any] = AnnotationSettings.model_json_schema()["properties"]
    return fields


def _share_of(percent: str) -> Any:
    """Return a share. What is no number stays as it is, to be refused and shown again."""
    try:
        return round(float(percent) / 100, 8)
    except ValueError:
        return percent


def _json_of(text: str) -> Any:
    """Return the JSON that a form sent. What is no JSON stays as it is, to be refused and shown
    again."""
    try:
        return json.loads(text)
    except ValueError:
        return text


@pages.get("/campaigns/{campaign_id}/annotation", response_class=HTMLResponse)
@heavy
def annotation_page(
    request: Request, campaign_id: UUID, session: DatabaseSession, account: SignedIn
) -> Response:
    campaign = get_campaign(session, account, campaign_id)
    known_values = _known_values(session, campaign)
    return _page(request, session, account, campaign, campaign.annotation, known_values)


@pages.post("/campaigns/{campaign_id}/annotation", response_class=HTMLResponse)
@heavy
def change_from_form(
    request: Request,
    campaign_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
    sent: Annotated[dict[str, Any], Depends(_sent)],
) -> Response:
    """Change the settings. After a mistake, the form is shown again with the entered values and
    what is wrong, and everything else is saved."""
    # Before anything is saved: annotators wait for the campaign's row from then on.
    known_values = _known_values(session, get_campaign(session, account, campaign_id))
    problems: dict[str, str] = {}
    while valid := {name: value for name, value in sent.items() if name not in problems}:
        try:
            with session.begin_nested():
                set_annotation(session, account, campaign_id, valid)
            break
        except LikewiseError as error:
            names = [field.removeprefix("annotation.") for field in error.fields]
            wrong = [name for name in names if name in valid]
            if not wrong:
                campaign = get_campaign(session, account, campaign_id)
                return _page(request, session, account, campaign, sent, known_values, error)
            # An attribute and its value belong together.
            refused = wrong if error.fields == KNOWN_SETTINGS else wrong[:1]
            problems |= dict.fromkeys(refused, error.words)
    if problems:
        campaign = get_campaign(session, account, campaign_id)
        return _page(request, session, account, campaign, sent, known_values, problems=problems)
    return RedirectResponse(f"/campaigns/{campaign_id}", status_code=303)


@pages.post("/campaigns/{campaign_id}/known-answers", response_class=HTMLResponse)
@heavy
@takes(uploads)
def add_from_form(
    request: Request,
    campaign_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
    file: Annotated[UploadFile, File()],
) -> Response:
    try:
        with session.begin_nested():
            add_known_list(session, account, campaign_id, file.file.read())
    except LikewiseError as error:
        campaign = get_campaign(session, account, campaign_id)
        known_values = _known_values(session, campaign)
        return _page(request, session, account, campaign, campaign.annotation, known_values, error)
    return RedirectResponse(f"/campaigns/{campaign_id}/annotation", status_code=303)


@pages.post("/campaigns/{campaign_id}/known-answers/delete")
def delete_from_form(campaign_id: UUID, session: DatabaseSession, account: SignedIn) -> Response:
    delete_known_list(session, account, campaign_id)
    return RedirectResponse(f"/campaigns/{campaign_id}/annotation", status_code=303)


def _page(
    request: Request,
    session: Session,
    account: Account,
    campaign: Campaign,
    values: dict[str, Any],
    known_values: dict[str, list[str]],
    error: LikewiseError | None = None,
    problems: dict[str, str] | None = None,
) -> Response:
    """Return the page. problems: what is wrong with each setting that was not saved."""
    collection = session.get_one(Collection, campaign.collection_id)
    attributes = attribute_names(session, collection)
    listed = select(func.count()).where(
        Grid.campaign_id == campaign.id, Grid.role.in_(("gold", "practice"))
    )
    context = {
        **frame_context(session, account, campaign, "annotation"),
        "error": error,
        "problems": problems or {},
        "values": {**AnnotationSettings().model_dump(), **campaign.annotation, **values},
        "fields": _fields(),
        "attributes": attributes,
        "known_values": known_values,
        "n_known": session.scalar(listed) or 0,
        "own_texts": _own_texts(campaign),
        "asked_in": _asked_in(campaign),
    }
    status = error.status if error else 422 if problems else 200
    template = "campaigns/annotation.html"
    return templates.TemplateResponse(request, template, context, status_code=status)


def _known_values(session: Session, campaign: Campaign) -> dict[str, list[str]]:
    """Return the values from which the one to be ticked is chosen, by attribute."""
    if not kind_of(campaign).needs_known_value:
        return {}
    collection = session.get_one(Collection, campaign.collection_id)
    return frequent_values(session, campaign, attribute_names(session, collection))


def _own_texts(campaign: Campaign) -> dict[str, Any]:
    """Return what can be translated, in the requester's own language."""
    settings = annotation_of(campaign.annotation)
    names = ("consent", "instructions", "thanks", "screen_out_text")
    texts = {name: getattr(settings, name) for name in names}
    return {"question": campaign.question, **texts, "classes": campaign.classes}


def _asked_in(campaign: Campaign) -> list[str]:
    """Return the languages in which a started campaign asks its question, which can't change."""
    if campaign.started_at is None:
        return []
    translations = annotation_of(campaign.annotation).translations
    return [code for code, translation in translations.items() if translation.question.strip()]
