"""Publishing a trained model: the one transaction that ends a learning job.

Model, embedding, the next round's grids and the job's end are written together, under the
campaign's row lock and the job's epoch; a trainer that lost its lease writes nothing.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign, Round
from app.campaigns.rounds import close_round, open_round, open_round_of
from app.core.database import locked
from app.core.events import campaign_changed
from app.jobs.service import complete_job
from app.results.models import EmbeddedImage, Model
from app.strategies.grids import NextGrids


@dataclass(frozen=True)
class TrainedModel:
    """What a learning job hands over.

    embedding:    (N, d) float64;  map_positions: (N, 2) float64 in [0, 1]
    round_number: the round whose answers were learned last
    full_round:   that round had all its answers in the data
    next_grids:   for the round after it, None when there is none to open
    locality:     of next_grids under this embedding
    n_answers:    finished answers in the data
    insight:      what the requester is told of attributes and annotators
    notes:        for the next fit
    """

    embedding: NDArray[np.float64]
    map_positions: NDArray[np.float64]
    metrics: dict[str, float]
    artifact_key: str
    round_number: int
    full_round: bool
    next_grids: NextGrids | None
    locality: float | None
    n_answers: int
    insight: dict[str, Any] | None = None
    notes: dict[str, Any] = field(default_factory=dict)


def publish_model(
    session: Session, campaign_id: UUID, job_id: UUID, epoch: int, trained: TrainedModel
) -> Model:
    """Write everything a learning job brings; raises LostLease when it was taken over."""
    campaign = locked(session, Campaign, campaign_id)
    n_answers = campaign.n_answers + campaign.n_surplus
    complete_job(session, job_id, epoch, n_learned=trained.n_answers, n_answers=n_answers)
    model = _store_model(session, campaign, job_id, trained)
    if trained.full_round:
        _move_on(session, campaign, model.version, trained)
    campaign_changed(session, campaign.id)
    return model


def _store_model(
    session: Session, campaign: Campaign, job_id: UUID, trained: TrainedModel
) -> Model:
    latest = session.scalar(select(func.max(Model.version)).where(Model.campaign_id == campaign.id))
    model = Model(
        campaign_id=campaign.id,
        job_id=job_id,
        version=(latest or 0) + 1,
        round_number=trained.round_number,
        strategy=campaign.strategy,
        settings=campaign.settings,
        metrics=trained.metrics,
        n_answers=trained.n_answers,
        artifact_key=trained.artifact_key,
        insight=trained.insight,
        notes=trained.notes,
    )
    session.add(model)
    session.flush()
    session.execute(
        insert(EmbeddedImage),
        [
            {
                "model_id": model.id,
                "position": position,
                "vector": vector.astype(np.float32),
                "x": float(place[0]),
                "y": float(place[1]),
            }
            for position, (vector, place) in enumerate(
                zip(trained.embedding, trained.map_positions, strict=True)
            )
        ],
    )
    return model


def _move_on(session: Session, campaign: Campaign, version: int, trained: TrainedModel) -> None:
    current: Round | None = open_round_of(session, campaign, lock=True)
    if current is None or current.number != trained.round_number:
        return
    close_round(session, current, version)
    if trained.next_grids is not None and campaign.state != "finished":
        open_round(session, campaign, current.number + 1, trained.next_grids, trained.locality)
    elif campaign.state != "finished":
        campaign.state, campaign.finished_at = "finished", datetime.now(UTC)
