"""Results other than the map: images along the axes, evidence for neighbours, and comparison of
models."""

from typing import Annotated
from uuid import UUID

from fastapi import Query

from app.accounts.api import api_router
from app.accounts.routes import SignedIn
from app.campaigns.service import get_campaign
from app.core.heavy import heavy
from app.core.paging import Page
from app.core.web import DatabaseSession
from app.results import answer_attributes, comparing, evidence, known_columns, service, strips
from app.results.attribute_schemas import AnswerAttributeOut, KnownColumnsOut
from app.results.explore_schemas import AxisOut, ComparisonOut, PairEvidenceOut
from app.results.routes import Version

api = api_router("/campaigns/{campaign_id}", "results")
Position = Annotated[int, Query(ge=0, le=2**31 - 1)]


@api.get("/models/{version}/axes")
@heavy
def read_axes(
    campaign_id: UUID, version: Version, session: DatabaseSession, account: SignedIn
) -> Page[AxisOut]:
    """Return the ordered attributes in use with images along them, or the main directions of the
    model if its strategy finds no attributes. Unordered attributes are in the insight."""
    campaign = get_campaign(session, account, campaign_id)
    model = service.get_model(session, campaign, version)
    axes = strips.read_axes(session, campaign, model)
    return Page(items=[AxisOut.of(axis) for axis in axes], next=None)


@api.get("/evidence")
@heavy
def read_evidence(
    campaign_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
    image: Position,
    other: Position,
) -> PairEvidenceOut:
    """List the answers in which two images were together or apart."""
    campaign = get_campaign(session, account, campaign_id)
    return PairEvidenceOut.of(evidence.read_evidence(session, campaign, image, other))


@api.get("/answers/{answer_id}/attribute")
@heavy
def read_answer_attribute(
    campaign_id: UUID, answer_id: UUID, session: DatabaseSession, account: SignedIn
) -> AnswerAttributeOut | None:
    """Return the attribute that an answer is about, by the newest model, and its probability. It is
    null if the model does not assign attributes to answers, or did not learn from this one."""
    campaign = get_campaign(session, account, campaign_id)
    reading = answer_attributes.read_answer_attribute(session, campaign, answer_id)
    return None if reading is None else AnswerAttributeOut.of(reading)


@api.get("/models/{version}/known-columns")
@heavy
def compare_with_columns(
    campaign_id: UUID,
    version: Version,
    session: DatabaseSession,
    account: SignedIn,
    column: Annotated[list[str], Query(max_length=known_columns.MOST_COLUMNS)] = [],  # noqa: B006 -- FastAPI copies it
) -> KnownColumnsOut:
    """Compare each attribute of a model, and its whole embedding, with columns of the collection's
    table: the named ones, or the first 12."""
    campaign = get_campaign(session, account, campaign_id)
    model = service.get_model(session, campaign, version)
    return KnownColumnsOut.of(known_columns.compare_with_columns(session, campaign, model, column))


@api.get("/models/{version}/comparison")
@heavy
def compare_models(
    campaign_id: UUID,
    version: Version,
    session: DatabaseSession,
    account: SignedIn,
    other_version: Annotated[int, Query(ge=1, le=2**31 - 1)],
    other_campaign: UUID | None = None,
    k: Annotated[int, Query(ge=1, le=50)] = 10,
) -> ComparisonOut:
    """Compare this model with another one, of this campaign by default. Images of different
    collections are matched by content, then by file name."""
    campaign = get_campaign(session, account, campaign_id)
    other = get_campaign(session, account, other_campaign or campaign_id)
    model = service.get_model(session, campaign, version)
    other_model = service.get_model(session, other, other_version)
    comparison = comparing.compare_models(session, campaign, model, other, other_model, k)
    return ComparisonOut.of(comparison)
