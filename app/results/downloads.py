"""The files that a campaign can be taken away in, by name."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import FileResponse, Response, StreamingResponse
from sqlalchemy.orm import Session
from starlette.background import BackgroundTask

from app.accounts.routes import SignedIn
from app.campaigns.models import Campaign
from app.campaigns.service import get_campaign
from app.core.database import transaction
from app.core.web import DatabaseSession
from app.results import exports, formats, insight, service
from app.results.models import Model

api = APIRouter(prefix="/api/campaigns/{campaign_id}/export", tags=["exports"])
Lines = Callable[[Session, Campaign], Iterator[str]]
OfModel = Callable[[Session, Campaign, Model], Iterator[str] | bytes]

PARQUET = "application/vnd.apache.parquet"
MEDIA = {
    "csv": "text/csv",
    "jsonl": "application/jsonl",
    "tsv": "text/tab-separated-values",
    "npz": "application/octet-stream",
    "parquet": PARQUET,
}


@dataclass(frozen=True)
class _Told:
    """Lines drawn from what a model tells of attributes and annotators."""

    lines: Callable[[dict[str, Any]], Iterator[str]]

    def __call__(self, session: Session, campaign: Campaign, model: Model) -> Iterator[str]:
        return self.lines(insight.all_told(model))


# Streamed from the answers, whatever their number.
OF_ANSWERS: dict[str, Lines] = {
    "answers.csv": exports.answers_csv,
    "answers.jsonl": exports.answers_jsonl,
    "traces.jsonl": exports.traces_jsonl,
    "quality.csv": exports.quality_csv,
    "pairs.csv": formats.pairs_csv,
}
OF_MODEL: dict[str, OfModel] = {
    "attributes.csv": _Told(exports.attributes_csv),
    "annotators.csv": _Told(exports.annotators_csv),
    "embedding.csv": exports.embedding_csv,
    "embedding.npz": exports.embedding_npz,
    "embedding.parquet": formats.embedding_parquet,
    "vectors.tsv": formats.vectors_tsv,
    "metadata.tsv": formats.metadata_tsv,
    "neighbours.csv": formats.neighbours_csv,
    "dissimilarities.npz": formats.dissimilarities_npz,
}
AnswersFile = Literal["answers.csv", "answers.jsonl", "traces.jsonl", "quality.csv", "pairs.csv"]
ModelFile = Literal[
    "attributes.csv",
    "annotators.csv",
    "embedding.csv",
    "embedding.npz",
    "embedding.parquet",
    "vectors.tsv",
    "metadata.tsv",
    "neighbours.csv",
    "dissimilarities.npz",
]


@api.get("/triplets.csv", response_class=Response)
def export_triplets(
    campaign_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
    per_answer: Annotated[int, Query(ge=1, le=100_000)] = 100,
) -> Response:
    """anchor, near, far: at most `per_answer` of each answer."""
    campaign = get_campaign(session, account, campaign_id)
    lines = partial(formats.triplets_csv, per_answer=per_answer)
    return _stream(campaign, lines, "triplets.csv")


@api.get("/answers.parquet", response_class=Response)
def export_answers_parquet(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn
) -> Response:
    campaign = get_campaign(session, account, campaign_id)
    folder = tempfile.mkdtemp(prefix="likewise-export-")
    path = Path(folder, "answers.parquet")
    formats.answers_parquet(session, campaign, path)
    tidy = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
    return FileResponse(path, media_type=PARQUET, filename="answers.parquet", background=tidy)


@api.get("/{file}", response_class=Response)
def export_file(
    campaign_id: UUID,
    file: AnswersFile | ModelFile,
    session: DatabaseSession,
    account: SignedIn,
    version: int | None = None,
) -> Response:
    """A file of the answers, or of the model `version` (the newest unless told)."""
    campaign = get_campaign(session, account, campaign_id)
    if file in OF_ANSWERS:
        return _stream(campaign, OF_ANSWERS[file], file)
    made = OF_MODEL[file](session, campaign, service.get_model(session, campaign, version))
    data = made if isinstance(made, bytes) else "".join(made).encode()
    return Response(data, media_type=_media(file), headers=_attachment(file))


def _stream(campaign: Campaign, export: Lines, file: str) -> Response:
    def lines() -> Iterator[str]:
        # The request's own transaction has ended when the body is sent.
        with transaction() as session:
            yield from export(session, campaign)

    return StreamingResponse(lines(), media_type=_media(file), headers=_attachment(file))


def _media(file: str) -> str:
    return MEDIA[file.rpartition(".")[2]]


def _attachment(file: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{file}"'}
