"""API for requesters: annotators, their answers and remarks, and decisions about them."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import File, Path, Query, UploadFile
from fastapi.responses import Response
from pydantic import BaseModel, Field
from sqlalchemy import select

from app.accounts.api import api_router
from app.accounts.routes import SignedIn
from app.annotation.asking_again import Price, asked_again_of, price_for_annotator
from app.annotation.models import Annotator, Answer, Remark
from app.annotation.quality import Decision, Score, decide, read_scores
from app.annotation.records import (
    AnswerRecord,
    Role,
    answer_with_replay,
    answers_of,
    replay_of,
)
from app.campaigns.annotation_settings import AnnotationSettings, annotation_of
from app.campaigns.changes import delete_known_list
from app.campaigns.service import add_known_list, get_campaign, set_annotation
from app.core.bodies import takes, uploads
from app.core.fields import StrictBool
from app.core.heavy import heavy
from app.core.paging import Page, Paged
from app.core.web import DatabaseSession
from learning.quality import Evidence, Verdict

api = api_router("/campaigns/{campaign_id}", "annotators")
Position = Annotated[int, Path(ge=0, le=2**31 - 1)]
Number = Annotated[int | None, Query(ge=0, le=2**31 - 1)]


class EvidenceOut(BaseModel):
    """The mean agreement (1 is perfect, 0 is chance), the value that random groups stay below, and
    the number of comparisons."""

    mean: float
    band: float
    n: int

    @classmethod
    def of(cls, evidence: Evidence | None) -> "EvidenceOut | None":
        return cls(mean=evidence.mean, band=evidence.band, n=evidence.n) if evidence else None


class AnnotatorScore(BaseModel):
    annotator: int
    simulated: bool = Field(description="Answered by `likewise simulate` or the demo.")
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
    asked_again_at: datetime | None = Field(
        description="When others were asked for the answers that are left out."
    )
    asked_again: int = Field(description="Answers whose places were opened for others.")
    asked_again_open: int = Field(description="Such places that have no new answer yet.")
    reviewed_at: datetime | None
    reason: str

    @classmethod
    def of(cls, score: Score, asked_again: tuple[int, int]) -> "AnnotatorScore":
        person = score.annotator
        return cls(
            annotator=person.position,
            simulated=score.simulated,
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
            asked_again_at=person.asked_again_at,
            asked_again=asked_again[0],
            asked_again_open=asked_again[1],
            reviewed_at=person.reviewed_at,
            reason=person.decision_reason,
        )


class DecisionIn(BaseModel, extra="forbid"):
    """The reason is stored with the annotator and in the audit log. People who can see the campaign
    can read it, but not the annotator."""

    reason: str = Field(default="", max_length=1000)
    ask_again: StrictBool = Field(
        default=True,
        description="Ask others for the answers that `leave_out` leaves out. The annotator then "
        "gets no more grids, and a finished campaign runs again until these places are filled.",
    )


class AskAgainOut(BaseModel):
    """What asking again would mean. `answers`: places that would be opened for others; `open`:
    places that were opened before and have no answer yet; `reopens`: the campaign has finished and
    would run again, for these and the open places; `cost_cents`: about what they cost, with fees,
    on top of what was paid."""

    answers: int
    open: int
    reopens: bool
    cost_cents: int
    currency: str

    @classmethod
    def of(cls, price: Price) -> "AskAgainOut":
        return cls(**vars(price))


class RemarkOut(BaseModel):
    at: datetime
    annotator: int
    kind: str
    text: str
    grid: int | None
    image: int | None

    @classmethod
    def of(cls, remark: Remark, annotator: int) -> "RemarkOut":
        return cls(
            at=remark.created_at,
            annotator=annotator,
            kind=remark.kind,
            text=remark.text,
            grid=remark.grid_id,
            image=remark.image,
        )


class KnownAnswersOut(BaseModel):
    added: int


@api.get("/annotators")
@heavy
def list_annotators(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn, paging: Paged
) -> Page[AnnotatorScore]:
    """List everyone with a finished answer, and how well they agree with known answers, with
    themselves and with others."""
    campaign = get_campaign(session, account, campaign_id)
    scores = paging.part(read_scores(session, campaign), lambda score: score.annotator.position)
    again = asked_again_of(session, campaign)
    return paging.page(
        [AnnotatorScore.of(score, again.get(score.annotator.id, (0, 0))) for score in scores]
    )


@api.get("/annotators/{position}/ask-again")
def price_of_asking_again(
    campaign_id: UUID, position: Position, session: DatabaseSession, account: SignedIn
) -> AskAgainOut:
    """Return how many answers would be asked again if you left the annotator out, and about what
    that costs."""
    campaign = get_campaign(session, account, campaign_id)
    return AskAgainOut.of(price_for_annotator(session, campaign, position))


@api.post("/annotators/{position}/actions/{decision}", status_code=204)
def decide_about_annotator(
    campaign_id: UUID,
    position: Position,
    decision: Decision,
    session: DatabaseSession,
    account: SignedIn,
    body: DecisionIn | None = None,
) -> Response:
    """Decide about an annotator: warn, stop, leave_out or restore. After that, no automatic rule
    changes it.

    `leave_out` asks others for the answers that it leaves out, unless `ask_again` is false; send it
    again to ask for them later. `restore` withdraws the places that nobody has claimed since.
    """
    campaign = get_campaign(session, account, campaign_id, edit=True)
    body = body or DecisionIn()
    decide(session, account, campaign, position, decision, body.reason, ask_again=body.ask_again)
    return Response(status_code=204)


@api.get("/answers")
@heavy
def list_answers(
    campaign_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
    paging: Paged,
    annotator: Number = None,
    round: Number = None,
    role: Role | None = None,
    order: Literal["oldest", "newest"] = "oldest",
    replay: Annotated[
        bool, Query(description="Include traces and the addresses of images.")
    ] = False,
) -> Page[AnswerRecord]:
    """List finished answers, including quality checks, in the order in which they were
    submitted."""
    campaign = get_campaign(session, account, campaign_id)
    query = answers_of(campaign, annotator, round, role)
    newest_first = order == "newest"
    keys = (Answer.submitted_at, Answer.id)
    rows = paging.rows(session, query, *keys, newest_first=newest_first)
    records = [AnswerRecord.of(*row) for row in rows]
    if replay:
        for record, (answer, grid, *_) in zip(records, rows, strict=True):
            record.replay = replay_of(session, campaign, answer, grid)
    return paging.page(records)


@api.get("/answers/{answer_id}")
def get_answer(
    campaign_id: UUID, answer_id: UUID, session: DatabaseSession, account: SignedIn
) -> AnswerRecord:
    """Return one finished answer with its trace."""
    campaign = get_campaign(session, account, campaign_id)
    return answer_with_replay(session, campaign, answer_id)


@api.get("/remarks")
@heavy
def list_remarks(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn, paging: Paged
) -> Page[RemarkOut]:
    """List annotators' remarks, the newest first: comments, skipped grids and broken images."""
    campaign = get_campaign(session, account, campaign_id)
    query = (
        select(Remark, Annotator.position)
        .join(Annotator, Remark.annotator_id == Annotator.id)
        .where(Remark.campaign_id == campaign.id)
    )
    rows = paging.rows(session, query, Remark.id, newest_first=True)
    return paging.page([RemarkOut.of(*row) for row in rows])


@api.patch("/annotation")
def change_annotation(
    campaign_id: UUID, body: dict[str, Any], session: DatabaseSession, account: SignedIn
) -> AnnotationSettings:
    """Change settings of the annotators' pages. Settings that you leave out don't change."""
    campaign = set_annotation(session, account, campaign_id, body)
    return annotation_of(campaign.annotation)


@api.delete("/known-answers", status_code=204)
def delete_known_answers(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn
) -> Response:
    """Delete the known answers of a draft, so that you can change its collection or grids."""
    delete_known_list(session, account, campaign_id)
    return Response(status_code=204)


@api.post("/known-answers", status_code=201)
@heavy
@takes(uploads)
def add_known_answers(
    campaign_id: UUID,
    file: Annotated[
        UploadFile, File(description="CSV file with the columns grid, filename and group.")
    ],
    session: DatabaseSession,
    account: SignedIn,
) -> KnownAnswersOut:
    """Add grids with your own known answers."""
    added = add_known_list(session, account, campaign_id, file.file.read())
    return KnownAnswersOut(added=added)
