"""One learning job, start to end: read answers, fit, choose the next grids, publish."""

import logging
import tempfile
from pathlib import Path
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from app.campaigns.models import Campaign
from app.campaigns.rounds import grids_in_round, open_round_of
from app.core.database import transaction
from app.core.storage import put_object
from app.jobs.service import report_progress
from app.results.dataset import load_learning_data
from app.results.publish import TrainedModel, publish_model
from app.strategies import Learned, LearningData, get_strategy
from app.strategies.grids import NextGrids
from learning.queries import grid_locality

logger = logging.getLogger(__name__)
PROGRESS_STEP = 0.05


def run_learning_job(campaign_id: UUID, job_id: UUID, epoch: int) -> None:
    """Learn from all answers of a campaign and publish the model under the job's epoch.

    No transaction is open while the model is fitted. Raises LostLease when the job was taken over,
    ValueError when the answers cannot be learned from.
    """
    with transaction() as session:
        # One snapshot: counts, annotators and answers belong together.
        session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
        campaign = session.get_one(Campaign, campaign_id)
        current = open_round_of(session, campaign)
        data = load_learning_data(session, campaign)
        round_number = current.number if current else campaign.rounds
        full_round = current is not None and current.n_answers == current.n_wanted
    learned = get_strategy(campaign.strategy).learn(
        data, campaign.settings, _Reporter(job_id, epoch)
    )
    trained = _trained(campaign, data, learned, round_number, full_round, f"{job_id}-{epoch}")
    with transaction() as session:
        model = publish_model(session, campaign_id, job_id, epoch, trained)
        logger.info("campaign %s: published model %d", campaign_id, model.version)


class _Reporter:
    """Stores progress, in steps large enough not to burden the database."""

    def __init__(self, job_id: UUID, epoch: int) -> None:
        self.job_id, self.epoch, self.reported = job_id, epoch, 0.0

    def __call__(self, done: float) -> None:
        if done - self.reported >= PROGRESS_STEP:
            self.reported = done
            with transaction() as session:
                report_progress(session, self.job_id, self.epoch, done)


def _trained(
    campaign: Campaign,
    data: LearningData,
    learned: Learned,
    round_number: int,
    full_round: bool,
    artifact_name: str,
) -> TrainedModel:
    next_grids = None
    if full_round and round_number < campaign.rounds and campaign.state != "finished":
        next_grids = learned.select_grids(grids_in_round(campaign, round_number + 1))
    last_asked = data.rounds[-1].images
    metrics = {
        **learned.metrics,
        "locality_of_last_round": grid_locality(last_asked, learned.embedding),
    }
    return TrainedModel(
        embedding=learned.embedding,
        map_positions=map_of(learned.embedding),
        metrics={name: float(value) for name, value in metrics.items() if np.isfinite(value)},
        artifact_key=_store_artifact(campaign.id, artifact_name, learned),
        round_number=round_number,
        full_round=full_round,
        next_grids=next_grids,
        locality=_locality(next_grids, learned),
        n_answers=sum(len(answers.images) for answers in data.rounds),
        insight=learned.insight,
        notes=learned.notes,
    )


def _locality(grids: NextGrids | None, learned: Learned) -> float | None:
    return None if grids is None else grid_locality(grids.images, learned.embedding)


def _store_artifact(campaign_id: UUID, name: str, learned: Learned) -> str:
    """Write the model's files to storage under a key that no other attempt uses."""
    prefix = f"models/{campaign_id}/{name}"
    with tempfile.TemporaryDirectory() as folder:
        learned.save(Path(folder) / "model")
        for file in sorted(Path(folder).rglob("*")):
            if file.is_file():
                key = f"{prefix}/{file.relative_to(folder).as_posix()}"
                put_object(key, file.read_bytes())
    return prefix


def map_of(embedding: NDArray[np.float64]) -> NDArray[np.float64]:
    """A flat map of an embedding: its two principal axes, scaled into the unit square.

    embedding: (N, d); returns (N, 2) in [0, 1], aspect ratio kept.
    """
    n, d = embedding.shape
    flat = np.zeros((n, 2))
    axes = min(2, d, n)
    flat[:, :axes] = PCA(axes, random_state=0).fit_transform(embedding)
    low = flat.min(axis=0)
    extent = float((flat.max(axis=0) - low).max()) or 1.0
    return np.asarray((flat - low) / extent, dtype=np.float64)
