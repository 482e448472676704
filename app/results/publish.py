"""Publishes a trained model: the one transaction that ends a learning job.

Model and embedding are written first. Then, under the campaign's row lock and the job's epoch, come
the end of the job and the grids of the next round. Nothing remains of a trainer that lost its
lease.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, insert, select, update
from sqlalchemy.orm import Session

from app.campaigns.locks import locked_campaign
from app.campaigns.models import Campaign, Round
from app.campaigns.rounds import Batch, end_campaign, open_next, schedule_round
from app.core.database import advisory_lock
from app.core.events import campaign_changed
from app.core.settings import get_settings
from app.jobs.service import SPLIT_HALF, complete_job, request_job, require_held
from app.results.attribute_names import carry_names
from app.results.carried import NewClustering
from app.results.ending import end_after_asking_again, end_when_enough
from app.results.merged_attributes import carry_merges
from app.results.models import Clustering, EmbeddedImage, Model
from app.results.own_clusters import OwnClusters, store_own_clusters
from app.strategies import get_strategy
from app.strategies.settling import settling

# Halves of fewer answers say little.
FEWEST_ANSWERS = 40


@dataclass(frozen=True)
class TrainedModel:
    """The result of a learning job.

    embedding:    (N, d) float64;  map_positions: (N, 2) float64 in [0, 1]
    round_number: the last round whose answers are all in the data, at least 1
    n_full:       number of rounds whose answers are all in the data
    batches:      grids for the next rounds
    n_answers:    number of finished answers in the data
    insight:      what the requester sees about attributes and annotators
    notes:        for the next fit
    clusters:     those that the model itself learned
    carried:      clusterings of the previous model that the requester named
    ask_about:    number of images that the campaign asked about; 0 for all
    enough:       whether the campaign may end before its last round, under these settings
    """

    embedding: NDArray[np.float64]
    map_positions: NDArray[np.float64]
    metrics: dict[str, float]
    artifact_key: str
    round_number: int
    n_full: int
    batches: list[Batch]
    n_answers: int
    insight: dict[str, Any] | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    clusters: OwnClusters | None = None
    carried: list[NewClustering] = field(default_factory=list)
    enough: bool = False
    settings: dict[str, Any] = field(default_factory=dict)
    ask_about: int = 0


def publish_model(
    session: Session, campaign_id: UUID, job_id: UUID, epoch: int, trained: TrainedModel
) -> Model:
    """Write everything that a learning job produces; raises LostLease if it was taken over."""
    # Annotators wait for the campaign's row, so everything possible is written before it is locked:
    # a trainer has low priority, and is slow when there are many. One trainer at a time.
    session.execute(select(advisory_lock(job_id)))
    require_held(session, job_id, epoch)
    model = _store_model(session, session.get_one(Campaign, campaign_id), job_id, trained)
    campaign = locked_campaign(session, campaign_id)
    is_outdated = complete_job(
        session, job_id, epoch, n_learned=trained.n_answers, n_answers=campaign.n_finished
    )
    closes_round = _mark_rounds(session, campaign, model.version, trained)
    _move_on(session, campaign, trained, is_outdated)
    if closes_round or campaign.state == "finished" or _has_lost_answers(session, model):
        _ask_how_settled(session, campaign, trained.n_answers)
    campaign_changed(session, campaign.id)
    return model


def _store_model(
    session: Session, campaign: Campaign, job_id: UUID, trained: TrainedModel
) -> Model:
    latest = session.scalar(select(func.max(Model.version)).where(Model.campaign_id == campaign.id))
    insight = trained.insight
    if insight is not None:
        embedding = np.nan_to_num(trained.embedding)
        insight = carry_names(session, campaign, insight, embedding)
        insight = carry_merges(session, campaign, insight, embedding, trained.artifact_key)
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
        insight=insight,
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
    own = None if trained.clusters is None else store_own_clusters(session, model, trained.clusters)
    _store_carried(session, trained.carried, model, own)
    return model


def _store_carried(
    session: Session, carried: list[NewClustering], model: Model, own: Clustering | None
) -> None:
    """Keep their order, newest first: times are those of a transaction."""
    now = datetime.now(UTC)
    for age, clustering in enumerate(reversed(carried)):
        stored = clustering.stored(model, own)
        stored.created_at = now + age * timedelta(microseconds=1)
        session.add(stored)


def _is_enough(campaign: Campaign, trained: TrainedModel, is_outdated: bool) -> bool:
    """Tell whether the campaign may end: not if more was requested, images were added, or an
    annotator was left out while the model was fitted."""
    is_current = (
        trained.settings == campaign.settings
        and trained.ask_about == campaign.ask_about
        and len(trained.embedding) == campaign.n_images
    )
    return trained.enough and trained.n_full > 0 and is_current and not is_outdated


def _has_lost_answers(session: Session, model: Model) -> bool:
    """Tell whether a model was measured with more answers: somebody has been left out since."""
    measured = select(Model.id).where(
        Model.campaign_id == model.campaign_id,
        Model.settled.is_not(None),
        Model.n_answers > model.n_answers,
    )
    return session.scalar(measured.limit(1)) is not None


def _ask_how_settled(session: Session, campaign: Campaign, n_answers: int) -> None:
    if not get_settings().compare_halves or n_answers < FEWEST_ANSWERS:
        return
    if settling(get_strategy(campaign.strategy)) is not None:
        request_job(session, campaign.id, n_answers, SPLIT_HALF)


def _mark_rounds(session: Session, campaign: Campaign, version: int, trained: TrainedModel) -> bool:
    """Note the model in rounds of which it is the first to know all answers. Returns whether there
    are any."""
    if campaign.state == "finished":
        return False
    marked = session.scalars(
        update(Round)
        .where(
            Round.campaign_id == campaign.id,
            # The round of imported answers is not a round that ends.
            Round.number.between(1, trained.n_full),
            Round.model_version.is_(None),
        )
        .values(model_version=version)
        .returning(Round.id)
    )
    return bool(marked.all())


def _move_on(
    session: Session, campaign: Campaign, trained: TrainedModel, is_outdated: bool
) -> None:
    """Create the next rounds and open one, or finish the campaign after its last round, or when it
    is good enough."""
    if campaign.state == "finished":
        return
    if campaign.reopened_only or trained.n_full >= campaign.rounds:
        # Places that are asked again belong to rounds that were full.
        if not campaign.n_reopened:
            end = end_after_asking_again if campaign.reopened_only else end_campaign
            end(session, campaign)
        return
    if _is_enough(campaign, trained, is_outdated):
        end_when_enough(session, campaign, trained.n_answers)
        return
    # The round that is open comes last, because its grids stay locked until the end.
    for batch in reversed(trained.batches):
        # Rounds may have been removed while the model was fitted.
        if batch.number <= campaign.rounds:
            schedule_round(session, campaign, batch)
    open_next(session, campaign)
