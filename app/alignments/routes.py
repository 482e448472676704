"""API of alignments: features aligned with a campaign's answers, and places of new images."""

from collections.abc import Iterator
from typing import Annotated
from uuid import UUID

from fastapi import File, Form, UploadFile
from fastapi.responses import Response
from sqlalchemy.orm import Session

from app.accounts.api import api_router
from app.accounts.models import VISITOR, Account
from app.accounts.routes import SignedIn
from app.alignments import placing, service
from app.alignments.downloads import places_csv, require_same_width
from app.alignments.schemas import (
    UPLOADED_FILE,
    AlignIn,
    AlignmentOut,
    AlignmentsOut,
    Neighbours,
    PlaceOut,
    PlacesOut,
    VectorsIn,
)
from app.alignments.service import NamedAlignment
from app.alignments.stored import read_export
from app.campaigns.models import Campaign
from app.campaigns.service import get_campaign
from app.campaigns.sharing import MayNotChange, access_of
from app.collections.models import Collection
from app.core.attachments import attachment
from app.core.bodies import long_lists, takes, uploads
from app.core.copying import in_pieces
from app.core.database import snapshot
from app.core.errors import InvalidInput
from app.core.heavy import heavy
from app.core.row_security import scope_to_account
from app.core.spool import Download
from app.core.web import DatabaseSession
from app.features.set_schemas import computed_sources
from app.features.sets import list_sets

api = api_router("/campaigns/{campaign_id}/alignments", "alignments")
CSV = "text/csv; charset=utf-8"


@api.get("")
def list_alignments(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn
) -> AlignmentsOut:
    """List the alignments of a campaign with their figures, and features that can be aligned."""
    campaign = get_campaign(session, account, campaign_id)
    collection = session.get_one(Collection, campaign.collection_id)
    reply = AlignmentsOut.of_campaign(
        service.list_alignments(session, campaign),
        list_sets(session, collection),
        computed_sources(),
        campaign.n_images,
        service.reason_against(session, campaign),
    )
    if account.role != VISITOR:
        return reply
    items = [_for_visitors(item) for item in reply.items]
    return reply.model_copy(update={"items": items, "others": []})


def _for_visitors(alignment: AlignmentOut) -> AlignmentOut:
    """Return it without its error, which is for those who run the campaign, and without the name
    of an uploaded file."""
    title = "uploaded features" if alignment.title.startswith(UPLOADED_FILE) else alignment.title
    return alignment.model_copy(update={"error": None, "title": title})


@api.post("", status_code=202)
def align_features(
    campaign_id: UUID, body: AlignIn, session: DatabaseSession, account: SignedIn
) -> AlignmentsOut:
    """Align features with all answers of the campaign. A worker does it; list the alignments to
    follow its progress."""
    campaign = get_campaign(session, account, campaign_id)
    # The campaign's row is not locked, because nothing of it is changed.
    if access_of(session, account, campaign) == "view":
        raise MayNotChange("This campaign is shared with you to view only. You cannot change it.")
    service.request_alignments(session, account, campaign, body.features)
    return list_alignments(campaign_id, session, account)


@api.get("/{alignment_id}")
def get_alignment(
    campaign_id: UUID, alignment_id: UUID, session: DatabaseSession, account: SignedIn
) -> AlignmentOut:
    """Return an alignment with its progress and figures."""
    alignment = AlignmentOut.of(_named(session, account, campaign_id, alignment_id)[1])
    return _for_visitors(alignment) if account.role == VISITOR else alignment


@api.get("/{alignment_id}/alignment.safetensors", response_class=Response)
@heavy
def download_alignment(
    campaign_id: UUID, alignment_id: UUID, session: DatabaseSession, account: SignedIn
) -> Response:
    """Download the alignment. It takes rows as they were uploaded; the documentation of learned
    alignments has a loader that needs only NumPy and safetensors."""
    campaign, named = _named(session, account, campaign_id, alignment_id)
    data = read_export(named.alignment)
    headers = attachment(campaign.name, "alignment.safetensors")
    return Response(data, media_type="application/octet-stream", headers=headers)


@api.get("/{alignment_id}/places.csv", response_class=Response)
@heavy
def download_places(
    campaign_id: UUID, alignment_id: UUID, session: DatabaseSession, account: SignedIn
) -> Response:
    """Download where the features place every image of the collection, also images that nobody was
    asked about: image, filename, sha256, asked, x0, …, deviation0, …"""
    campaign, named = _named(session, account, campaign_id, alignment_id)
    require_same_width(named)

    def lines() -> Iterator[bytes]:
        # The request's session ends before the body is sent.
        with snapshot() as own:
            scope_to_account(own, account.id)
            same = get_campaign(own, account, campaign_id)
            again = service.get_alignment(own, same, alignment_id)
            yield from in_pieces(line.encode() for line in places_csv(own, again))

    headers = attachment(campaign.name, "places.csv")
    return Download(account.id, lines, CSV, headers)


@api.post("/{alignment_id}/places")
@heavy
@takes(long_lists)
def place_vectors(
    campaign_id: UUID,
    alignment_id: UUID,
    body: VectorsIn,
    session: DatabaseSession,
    account: SignedIn,
) -> PlacesOut:
    """Place new images by their vectors: places with standard deviations, attributes, clusters, and
    the nearest images of the collection."""
    campaign, named = _named(session, account, campaign_id, alignment_id)
    width = placing.loaded(named.alignment).stored.n_features
    rows = placing.checked_vectors(body.vectors, named.feature_set.name, width)
    names = [str(number) for number in range(len(rows))]
    return _placed(session, campaign, named, names, rows, body.k)


@api.post("/{alignment_id}/image-places")
@heavy
@takes(uploads)
def place_images(
    campaign_id: UUID,
    alignment_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
    files: Annotated[list[UploadFile], File(description="New images.")],
    k: Annotated[Neighbours, Form()] = 10,
) -> PlacesOut:
    """Place new images, with features that the server computes. The images are not stored."""
    campaign, named = _named(session, account, campaign_id, alignment_id)
    if len(files) > placing.MOST_IMAGES:
        raise InvalidInput(
            f"You can place up to {placing.MOST_IMAGES} images at once, and sent {len(files)}.",
            code="too_many_images",
        )
    placing.check_sizes([(file.filename or "unnamed", file.size or 0) for file in files])
    placing.loaded(named.alignment)
    given = [(file.filename or "unnamed", file.file) for file in files]
    rows = placing.vectors_of_images(named, given)
    return _placed(session, campaign, named, [name for name, _ in given], rows, k)


def _placed(
    session: Session,
    campaign: Campaign,
    named: NamedAlignment,
    names: list[str],
    rows: placing.Float32,
    k: int,
) -> PlacesOut:
    placed = placing.place(session, campaign, named, names, rows, k)
    assert named.alignment.model_version is not None
    return PlacesOut(
        model_version=named.alignment.model_version, items=[PlaceOut.of(each) for each in placed]
    )


def _named(
    session: Session, account: Account, campaign_id: UUID, alignment_id: UUID
) -> tuple[Campaign, NamedAlignment]:
    campaign = get_campaign(session, account, campaign_id)
    return campaign, service.get_alignment(session, campaign, alignment_id)
