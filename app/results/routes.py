"""Results of a campaign: live progress, models, map, neighbours, exports."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path as FilePath
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query
from fastapi.responses import FileResponse, Response, StreamingResponse
from sqlalchemy.orm import Session
from sse_starlette import EventSourceResponse
from starlette.background import BackgroundTask

from app.accounts.routes import SignedIn
from app.campaigns.models import Campaign
from app.campaigns.service import get_campaign
from app.core.database import transaction
from app.core.web import DatabaseSession
from app.results import exports, formats, insight, service
from app.results.live import progress_events
from app.results.schemas import FocusIn, InsightOut, MapOut, NeighboursOut, ProgressOut

api = APIRouter(prefix="/api/campaigns/{campaign_id}", tags=["results"])
Version = Annotated[int, Path(ge=1, le=2**31 - 1)]


@api.get("/progress")
def read_progress(campaign_id: UUID, session: DatabaseSession, account: SignedIn) -> ProgressOut:
    campaign = get_campaign(session, account, campaign_id)
    return ProgressOut.of(service.read_progress(session, campaign))


@api.get("/events", response_class=EventSourceResponse)
def follow_progress(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn
) -> EventSourceResponse:
    campaign = get_campaign(session, account, campaign_id)
    return EventSourceResponse(progress_events(campaign.id), ping=15)


@api.get("/models/{version}/map")
def read_map(
    campaign_id: UUID, version: Version, session: DatabaseSession, account: SignedIn
) -> MapOut:
    campaign = get_campaign(session, account, campaign_id)
    model = service.get_model(session, campaign, version)
    return MapOut.of(version, service.read_map(session, campaign, model))


@api.get("/models/{version}/neighbours")
def nearest_neighbours(
    campaign_id: UUID,
    version: Version,
    session: DatabaseSession,
    account: SignedIn,
    image: Annotated[int, Query(ge=0, le=2**31 - 1)],
    k: Annotated[int, Query(ge=1, le=200)] = 10,
) -> NeighboursOut:
    campaign = get_campaign(session, account, campaign_id)
    model = service.get_model(session, campaign, version)
    found = service.nearest_neighbours(session, campaign, model, image, k)
    return NeighboursOut.of(image, found)


@api.get("/models/{version}/insight")
def read_insight(
    campaign_id: UUID, version: Version, session: DatabaseSession, account: SignedIn
) -> InsightOut:
    campaign = get_campaign(session, account, campaign_id)
    model = service.get_model(session, campaign, version)
    return InsightOut.of(insight.read_insight(session, campaign, model))


@api.post("/focus", status_code=204)
def set_focus(
    campaign_id: UUID, body: FocusIn, session: DatabaseSession, account: SignedIn
) -> None:
    campaign = get_campaign(session, account, campaign_id, edit=True)
    if body.images is not None:
        insight.set_focus_images(session, campaign, body.images)
    else:
        insight.set_focus(session, campaign, body.attribute)


@api.get("/export/attributes.csv", response_class=Response)
def export_attributes_csv(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn, version: int | None = None
) -> Response:
    campaign = get_campaign(session, account, campaign_id)
    told = insight.all_told(service.get_model(session, campaign, version))
    lines = "".join(exports.attributes_csv(told))
    return _download(lines.encode(), "text/csv", "attributes.csv")


@api.get("/export/annotators.csv", response_class=Response)
def export_annotators_csv(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn, version: int | None = None
) -> Response:
    campaign = get_campaign(session, account, campaign_id)
    told = insight.all_told(service.get_model(session, campaign, version))
    lines = "".join(exports.annotators_csv(told))
    return _download(lines.encode(), "text/csv", "annotators.csv")


@api.get("/export/answers.csv", response_class=Response)
def export_answers_csv(campaign_id: UUID, session: DatabaseSession, account: SignedIn) -> Response:
    campaign = get_campaign(session, account, campaign_id)
    return _stream(campaign, exports.answers_csv, "text/csv", "answers.csv")


@api.get("/export/answers.jsonl", response_class=Response)
def export_answers_jsonl(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn
) -> Response:
    campaign = get_campaign(session, account, campaign_id)
    return _stream(campaign, exports.answers_jsonl, "application/jsonl", "answers.jsonl")


@api.get("/export/pairs.csv", response_class=Response)
def export_pairs_csv(campaign_id: UUID, session: DatabaseSession, account: SignedIn) -> Response:
    campaign = get_campaign(session, account, campaign_id)
    return _stream(campaign, formats.pairs_csv, "text/csv", "pairs.csv")


@api.get("/export/triplets.csv", response_class=Response)
def export_triplets_csv(
    campaign_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
    per_answer: Annotated[int, Query(ge=1, le=100_000)] = 100,
) -> Response:
    """anchor, near, far: at most `per_answer` of each answer."""
    campaign = get_campaign(session, account, campaign_id)
    export = partial(formats.triplets_csv, per_answer=per_answer)
    return _stream(campaign, export, "text/csv", "triplets.csv")


@api.get("/export/answers.parquet", response_class=Response)
def export_answers_parquet(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn
) -> Response:
    campaign = get_campaign(session, account, campaign_id)
    folder = tempfile.mkdtemp(prefix="likewise-export-")
    path = FilePath(folder, "answers.parquet")
    formats.answers_parquet(session, campaign, path)
    return FileResponse(
        path,
        media_type="application/vnd.apache.parquet",
        filename="answers.parquet",
        background=BackgroundTask(shutil.rmtree, folder, ignore_errors=True),
    )


@api.get("/export/embedding.parquet", response_class=Response)
def export_embedding_parquet(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn, version: int | None = None
) -> Response:
    campaign = get_campaign(session, account, campaign_id)
    model = service.get_model(session, campaign, version)
    data = formats.embedding_parquet(session, campaign, model)
    return _download(data, "application/vnd.apache.parquet", "embedding.parquet")


@api.get("/export/{name}.tsv", response_class=Response)
def export_projector(
    campaign_id: UUID,
    name: Literal["vectors", "metadata"],
    session: DatabaseSession,
    account: SignedIn,
    version: int | None = None,
) -> Response:
    """The two files of the TensorFlow embedding projector."""
    campaign = get_campaign(session, account, campaign_id)
    model = service.get_model(session, campaign, version)
    export = {"vectors": formats.vectors_tsv, "metadata": formats.metadata_tsv}[name]
    lines = "".join(export(session, campaign, model))
    return _download(lines.encode(), "text/tab-separated-values", f"{name}.tsv")


@api.get("/export/neighbours.csv", response_class=Response)
def export_neighbours_csv(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn, version: int | None = None
) -> Response:
    campaign = get_campaign(session, account, campaign_id)
    model = service.get_model(session, campaign, version)
    lines = "".join(formats.neighbours_csv(session, campaign, model))
    return _download(lines.encode(), "text/csv", "neighbours.csv")


@api.get("/export/dissimilarities.npz", response_class=Response)
def export_dissimilarities(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn, version: int | None = None
) -> Response:
    campaign = get_campaign(session, account, campaign_id)
    model = service.get_model(session, campaign, version)
    data = formats.dissimilarities_npz(session, campaign, model)
    return _download(data, "application/octet-stream", "dissimilarities.npz")


@api.get("/export/traces.jsonl", response_class=Response)
def export_traces_jsonl(campaign_id: UUID, session: DatabaseSession, account: SignedIn) -> Response:
    campaign = get_campaign(session, account, campaign_id)
    return _stream(campaign, exports.traces_jsonl, "application/jsonl", "traces.jsonl")


@api.get("/export/quality.csv", response_class=Response)
def export_quality_csv(campaign_id: UUID, session: DatabaseSession, account: SignedIn) -> Response:
    campaign = get_campaign(session, account, campaign_id)
    return _stream(campaign, exports.quality_csv, "text/csv", "quality.csv")


@api.get("/export/embedding.csv", response_class=Response)
def export_embedding_csv(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn, version: int | None = None
) -> Response:
    campaign = get_campaign(session, account, campaign_id)
    model = service.get_model(session, campaign, version)
    lines = "".join(exports.embedding_csv(session, campaign, model))
    return _download(lines.encode(), "text/csv", "embedding.csv")


@api.get("/export/embedding.npz", response_class=Response)
def export_embedding_npz(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn, version: int | None = None
) -> Response:
    campaign = get_campaign(session, account, campaign_id)
    model = service.get_model(session, campaign, version)
    data = exports.embedding_npz(session, campaign, model)
    return _download(data, "application/octet-stream", "embedding.npz")


def _attachment(filename: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{filename}"'}


def _download(data: bytes, media_type: str, filename: str) -> Response:
    return Response(data, media_type=media_type, headers=_attachment(filename))


def _stream(
    campaign: Campaign,
    export: Callable[[Session, Campaign], Iterator[str]],
    media_type: str,
    filename: str,
) -> Response:
    def lines() -> Iterator[str]:
        # The request's own transaction has ended when the body is sent.
        with transaction() as session:
            yield from export(session, campaign)

    return StreamingResponse(lines(), media_type=media_type, headers=_attachment(filename))
