"""What requesters see and decide about annotators: the API."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, File, Path, UploadFile
from fastapi.responses import Response
from pydantic import BaseModel
from sqlalchemy import select

from app.accounts.routes import SignedIn
from app.annotation.models import Annotator, Remark
from app.annotation.quality import Decision, Score, decide, read_scores
from app.annotation.replay import ReplayOut, read_replays
from app.annotation.settings import AnnotationSettings, annotation_of
from app.campaigns.service import add_known_list, get_campaign, set_annotation
from app.core.web import DatabaseSession
from learning.quality import Evidence, Verdict

api = APIRouter(prefix="/api/campaigns/{campaign_id}", tags=["annotators"])
Position = Annotated[int, Path(ge=0, le=2**31 - 1)]
MOST_REMARKS = 500


class EvidenceOut(BaseModel):
    """Mean agreement (1 perfect, 0 chance), what random groups stay below, and of how many."""

    mean: float
    band: float
    n: int

    @classmethod
    def of(cls, found: Evidence | None) -> "EvidenceOut | None":
        return cls(mean=found.mean, band=found.band, n=found.n) if found else None


class AnnotatorScore(BaseModel):
    annotator: int
    n_answers: int
    gold: EvidenceOut | None
    repeat: EvidenceOut | None
    consensus: EvidenceOut | None
    n_one_group: int
    seconds: float | None
    hasty: bool
    verdict: Verdict
    warned_at: datetime | None
    stopped_at: datetime | None
    left_out_at: datetime | None
    reviewed_at: datetime | None

    @classmethod
    def of(cls, score: Score) -> "AnnotatorScore":
        person = score.annotator
        return cls(
            annotator=person.position,
            n_answers=score.n_answers,
            gold=EvidenceOut.of(score.gold),
            repeat=EvidenceOut.of(score.repeat),
            consensus=EvidenceOut.of(score.consensus),
            n_one_group=score.n_one_group,
            seconds=score.seconds,
            hasty=score.hasty,
            verdict=score.verdict,
            warned_at=person.warned_at,
            stopped_at=person.stopped_at,
            left_out_at=person.left_out_at,
            reviewed_at=person.reviewed_at,
        )


class RemarkOut(BaseModel):
    at: datetime
    annotator: int
    kind: str
    text: str
    grid: int | None
    image: int | None


class KnownAnswersOut(BaseModel):
    added: int


@api.get("/annotators")
def annotators(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn
) -> list[AnnotatorScore]:
    """Everybody with a finished answer: agreement with known answers, themselves and others."""
    campaign = get_campaign(session, account, campaign_id)
    return [AnnotatorScore.of(score) for score in read_scores(session, campaign)]


@api.post("/annotators/{position}/actions/{decision}", status_code=204)
def decide_about(
    campaign_id: UUID,
    position: Position,
    decision: Decision,
    session: DatabaseSession,
    account: SignedIn,
) -> Response:
    """warn, stop, leave_out, or restore; from then on no rule decides about this annotator."""
    campaign = get_campaign(session, account, campaign_id, edit=True)
    decide(session, campaign, position, decision)
    return Response(status_code=204)


@api.get("/annotators/{position}/answers")
def answers_of(
    campaign_id: UUID, position: Position, session: DatabaseSession, account: SignedIn
) -> list[ReplayOut]:
    """The annotator's newest answers with what was done when, to be played back."""
    campaign = get_campaign(session, account, campaign_id)
    return read_replays(session, campaign, position)


@api.get("/remarks")
def remarks(campaign_id: UUID, session: DatabaseSession, account: SignedIn) -> list[RemarkOut]:
    """What annotators told, the newest first: comments, skipped grids, broken images."""
    campaign = get_campaign(session, account, campaign_id)
    query = (
        select(Remark, Annotator.position)
        .join(Annotator, Remark.annotator_id == Annotator.id)
        .where(Remark.campaign_id == campaign.id)
        .order_by(Remark.created_at.desc())
        .limit(MOST_REMARKS)
    )
    return [
        RemarkOut(
            at=one.created_at,
            annotator=position,
            kind=one.kind,
            text=one.text,
            grid=one.grid_id,
            image=one.image,
        )
        for one, position in session.execute(query)
    ]


@api.patch("/annotation")
def change_annotation(
    campaign_id: UUID, body: dict[str, Any], session: DatabaseSession, account: SignedIn
) -> AnnotationSettings:
    campaign = set_annotation(session, account, campaign_id, body)
    return annotation_of(campaign.annotation)


@api.post("/known-answers", status_code=201)
def add_known_answers(
    campaign_id: UUID,
    file: Annotated[UploadFile, File(description="CSV: grid, filename, group")],
    session: DatabaseSession,
    account: SignedIn,
) -> KnownAnswersOut:
    added = add_known_list(session, account, campaign_id, file.file.read())
    return KnownAnswersOut(added=added)
