"""API of the map of a model, in tiles, so that a browser can show a hundred thousand images."""

import hashlib
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Path, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, FailFast, Field
from sqlalchemy.orm import Session

from app.accounts.api import api_router
from app.accounts.models import VISITOR
from app.accounts.routes import SignedIn
from app.annotation.bundles import BUNDLE_TYPE, bundle_of
from app.campaigns.models import Campaign
from app.campaigns.service import get_campaign
from app.collections.image_schemas import ImageOut, ImagePage
from app.core.attachments import attachment
from app.core.bodies import long_lists, takes
from app.core.errors import NotFound
from app.core.fields import StrictInt
from app.core.heavy import heavy
from app.core.paging import Page
from app.core.visits import NOT_SHOWN
from app.core.web import DatabaseSession
from app.maps import columns, learned, service
from app.maps.layout import LAYOUT_TYPE, METHOD, layout_bytes
from app.maps.levels import N_LEVELS
from app.maps.sheets import Tile
from app.results.attribute_names import name_of
from app.results.class_labels import read_class_labels, tells_class_labels
from app.results.insight import is_ordered
from app.results.labels import read_labels
from app.results.routes import Version
from app.results.service import get_model

api = api_router("/campaigns/{campaign_id}", "map")

# Models never change, and neither do the positions of their images. The cookie is part of the cache
# key, so that the next person at this browser is authenticated again.
FOR_GOOD = {"Cache-Control": "private, max-age=31536000, immutable", "Vary": "Cookie"}
MOST_AT_ONCE = 256
Positions = Annotated[list[int], Query(max_length=MOST_AT_ONCE)]
Level = Annotated[int, Path(ge=0, lt=N_LEVELS)]
Place = Annotated[int, Path(ge=0, lt=2**N_LEVELS)]
By = Annotated[
    str,
    Query(
        pattern=METHOD,
        description=(
            "`pca`: the two principal axes; `axes-2-0`: ordered attribute 2 to the right, 0 "
            "upwards; `tsne`: t-SNE, which keeps neighbours together, but large distances mean "
            "nothing. The first request for t-SNE takes several seconds, and gets 503 `busy` while "
            "the server computes another one."
        ),
    ),
]


class AnswersOf(BaseModel):
    annotator: int
    n_answers: int


class ColumnsOut(BaseModel):
    """What the map can be coloured by. `annotators`: at most 500, those with the most answers."""

    attributes: list[str]
    annotators: list[AnswersOf]


class ColumnOut(BaseModel):
    """`values[codes[k]]` belongs to the image at position k; code −1 means that it has no value."""

    values: list[str]
    codes: list[int]


class LearnedAttributeOut(BaseModel):
    """An attribute that the model learned. Only `ordered` ones can be axes of the map. `name`:
    given by a requester, or empty; `low`, `high`, `clusters`: the annotators' words for its two
    sides, or for its clusters."""

    index: int
    name: str
    overall: bool
    ordered: bool
    low: list[str]
    high: list[str]
    clusters: list[list[str]]


class ChosenIn(BaseModel, extra="forbid"):
    # Not all of a million invalid items are validated, only to report the first hundred errors.
    images: Annotated[list[StrictInt], Field(max_length=1_000_000), FailFast()]


@api.get("/models/{version}/map/layout", response_class=Response)
@heavy
def read_layout(
    campaign_id: UUID,
    version: Version,
    request: Request,
    session: DatabaseSession,
    account: SignedIn,
    method: By = "pca",
) -> Response:
    """Return the positions of all images, nine bytes each (docs/annotator-api.md)."""
    campaign = get_campaign(session, account, campaign_id)
    data = layout_bytes(session, get_model(session, campaign, version), method)
    headers = {**FOR_GOOD, "ETag": f'"{hashlib.sha256(data).hexdigest()[:32]}"'}
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(data, media_type=LAYOUT_TYPE, headers=headers)


@api.get("/models/{version}/map/sheets/{level}/{column}/{row}", response_class=Response)
@heavy
def read_sheet(
    campaign_id: UUID,
    version: Version,
    level: Level,
    column: Place,
    row: Place,
    session: DatabaseSession,
    account: SignedIn,
    method: By = "pca",
) -> Response:
    """Return the new pictures of a tile as 8 × 8 cells of 64 pixels; 404 if there are none."""
    campaign = get_campaign(session, account, campaign_id)
    model = get_model(session, campaign, version)
    data = service.read_sheet(session, campaign, model, Tile(level, column, row), method)
    return Response(data, media_type="image/webp", headers=FOR_GOOD)


@api.post("/models/{version}/map/selection.csv", response_class=Response)
@takes(long_lists)
@heavy
def export_selection(
    campaign_id: UUID,
    version: Version,
    body: ChosenIn,
    session: DatabaseSession,
    account: SignedIn,
    method: By = "pca",
) -> Response:
    """Download the selected images with their positions and attributes."""
    campaign = get_campaign(session, account, campaign_id)
    model = get_model(session, campaign, version)
    text = "".join(service.selection_csv(session, campaign, model, body.images, method))
    headers = attachment(campaign.name, "selection.csv")
    return Response(text, media_type="text/csv", headers=headers)


@api.get("/map/images")
@heavy
def some_images(
    campaign_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
    at: Positions = [],  # noqa: B006 -- FastAPI copies it
    find: Annotated[str, Query(max_length=500)] = "",
) -> ImagePage:
    """List the images at these positions, or at most 20 whose file name contains `find`; `total`
    counts all that match."""
    campaign = get_campaign(session, account, campaign_id)
    if find:
        images, total = service.find_images(session, campaign, find)
    else:
        images = service.some_images(session, campaign, at)
        total = len(images)
    return ImagePage(items=[ImageOut.of(image) for image in images], next=None, total=total)


@api.get("/map/pictures/{size}", response_class=Response)
@heavy
def some_pictures(
    campaign_id: UUID,
    size: Literal["small", "thumb"],
    session: DatabaseSession,
    account: SignedIn,
    at: Positions = [],  # noqa: B006
) -> Response:
    """Return the images at these positions in one response, in the same format as for annotators
    (docs/annotator-api.md)."""
    campaign = get_campaign(session, account, campaign_id)
    data = bundle_of(service.some_images(session, campaign, at), size)
    return Response(data, media_type=BUNDLE_TYPE, headers=FOR_GOOD)


@api.get("/map/columns")
@heavy
def list_columns(campaign_id: UUID, session: DatabaseSession, account: SignedIn) -> ColumnsOut:
    """List what the map can be coloured by: attributes, and annotators with the most answers."""
    campaign = get_campaign(session, account, campaign_id)
    return ColumnsOut(
        attributes=columns.attribute_names(session, campaign),
        annotators=[] if account.role == VISITOR else _busiest(session, campaign),
    )


def _busiest(session: Session, campaign: Campaign) -> list[AnswersOf]:
    return [
        AnswersOf(annotator=position, n_answers=count)
        for position, count in columns.busiest_annotators(session, campaign)
    ]


@api.get("/map/column")
@heavy
def read_column(
    campaign_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
    attribute: str = "",
    annotator: Annotated[int | None, Query(ge=0, le=2**31 - 1)] = None,
) -> ColumnOut:
    """Return for each image the value of an attribute, or the group that an annotator last put it
    into."""
    campaign = get_campaign(session, account, campaign_id)
    if annotator is not None and account.role == VISITOR:
        raise NotFound(NOT_SHOWN)
    if annotator is not None:
        column = columns.annotator_column(session, campaign, annotator)
    else:
        column = columns.attribute_column(session, campaign, attribute)
    return ColumnOut(values=column.values, codes=column.codes)


@api.get("/models/{version}/map/attributes")
@heavy
def list_learned_attributes(
    campaign_id: UUID, version: Version, session: DatabaseSession, account: SignedIn
) -> Page[LearnedAttributeOut]:
    """List the attributes that the model learned, the largest share of the answers first."""
    campaign = get_campaign(session, account, campaign_id)
    model = get_model(session, campaign, version)
    overall = (model.insight or {}).get("structure") == "pooled"
    items = [
        LearnedAttributeOut(
            index=attribute["index"],
            name=name_of(attribute),
            overall=overall,
            ordered=is_ordered(attribute),
            low=attribute["low"],
            high=attribute["high"],
            clusters=[cluster["words"] for cluster in attribute.get("clusters", [])],
        )
        for attribute in learned.learned_attributes(model)
    ]
    return Page(items=items, next=None)


@api.get("/models/{version}/map/attributes/{index}")
@heavy
def read_learned_attribute(
    campaign_id: UUID,
    version: Version,
    index: Annotated[int, Path(ge=0, le=999)],
    session: DatabaseSession,
    account: SignedIn,
) -> ColumnOut:
    """Return for each image its place on an ordered attribute, from 0 (low) to 100 (high), or its
    cluster in another one."""
    campaign = get_campaign(session, account, campaign_id)
    model = get_model(session, campaign, version)
    column = learned.learned_column(session, campaign, model, index)
    return ColumnOut(values=column.values, codes=column.codes)


@api.get("/models/{version}/map/settled")
@heavy
def read_settled_column(
    campaign_id: UUID, version: Version, session: DatabaseSession, account: SignedIn
) -> ColumnOut:
    """Return for each image how many per cent of its nearest neighbours would stay with as many
    other answers. Images that half of the answers do not show have no value. 404 if it is not
    measured for this model."""
    campaign = get_campaign(session, account, campaign_id)
    column = columns.settled_column(campaign, get_model(session, campaign, version))
    return ColumnOut(values=column.values, codes=column.codes)


@api.get("/models/{version}/map/labels")
@heavy
def read_label_column(
    campaign_id: UUID,
    version: Version,
    session: DatabaseSession,
    account: SignedIn,
    by: columns.LabelledBy = "label",
) -> ColumnOut:
    """Return for each image its label by votes, the label's probability, the classifier's own
    probability, or the number of votes."""
    campaign = get_campaign(session, account, campaign_id)
    model = get_model(session, campaign, version)
    if tells_class_labels(model):
        column = columns.class_column(campaign, read_class_labels(campaign, model), by)
    else:
        column = columns.label_column(read_labels(campaign, model), by)
    return ColumnOut(values=column.values, codes=column.codes)
