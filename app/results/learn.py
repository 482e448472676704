"""One learning job from start to end: read answers, fit, choose the next grids, publish."""

import logging
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sqlalchemy import select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from app.campaigns.asking import is_chosen
from app.campaigns.models import Campaign
from app.campaigns.rounds import Batch, batches_wanted
from app.core.database import transaction
from app.core.outages import passes_by_itself, through_outages
from app.core.storage import put_object
from app.features.reading import table_wanted
from app.features.tables import FeatureTable
from app.jobs.service import report_progress
from app.results.carried import Described, carried_clusterings, read_described
from app.results.dataset import load_learning_data
from app.results.encoding import encode_many
from app.results.models import EmbeddedImage, Model
from app.results.own_clusters import own_clusters
from app.results.publish import TrainedModel, publish_model
from app.results.quota import require_room_for_models
from app.results.stopping import neighbour_stability
from app.strategies import (
    Learned,
    LearningData,
    answer_attributes,
    get_strategy,
    labels,
    memberships,
    uncertainty,
)
from app.strategies.asking import next_grids
from app.strategies.base import features_named
from learning.alignment import turned_onto
from learning.queries import grid_locality
from learning.tsne_map import in_unit_square

logger = logging.getLogger(__name__)
PROGRESS_STEP = 0.05


def run_learning_job(campaign_id: UUID, job_id: UUID, epoch: int) -> None:
    """Learn from all answers of a campaign and publish the model under the job's epoch.

    No transaction is open while the model is fitted, and the database may be away at any time.
    Raises LostLease if the job was taken over, ValueError if the answers cannot be learned from.
    """
    encode_many(campaign_id, job_id, epoch)
    given = through_outages(f"job {job_id}: reading", lambda: _read(campaign_id))
    campaign, data = given.campaign, with_table(given.data, given.features())
    reporter = Reporter(job_id, epoch)
    learned = get_strategy(campaign.strategy).learn(data, campaign.settings, reporter)
    name = f"{job_id}-{epoch}"
    key = through_outages(
        f"job {job_id}: storing", lambda: _store_artifact(campaign.id, name, learned)
    )
    trained = _trained(given, learned, key)
    described = through_outages(
        f"job {job_id}: reading names of clusters", lambda: _read_described(campaign_id)
    )
    trained = _with_clusters(trained, learned, described, campaign.seed)

    def publish() -> int:
        with transaction() as session:
            return publish_model(session, campaign_id, job_id, epoch, trained).version

    version = through_outages(f"job {job_id}: publishing", publish)
    logger.info("campaign %s: published model %d", campaign_id, version)


def with_table(data: LearningData, table: FeatureTable | None) -> LearningData:
    """Return what is learned from, with the features of the campaign's images."""
    if table is None:
        return data
    return replace(data, features=table.shaped(), known=table.known)


@dataclass(frozen=True)
class _Given:
    """The input of a job. wanted: see batches_wanted; before: (N, d) vectors of an earlier round;
    map_before: (N, 2) the newest map."""

    campaign: Campaign
    data: LearningData
    features: Callable[[], FeatureTable | None]
    wanted: list[tuple[int, int]]
    before: NDArray[np.float64] | None
    map_before: NDArray[np.float64] | None


def _read(campaign_id: UUID) -> _Given:
    """All of this is read in one snapshot, because counts, annotators and answers belong
    together."""
    with transaction() as session:
        session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
        campaign = session.get_one(Campaign, campaign_id)
        require_room_for_models(session, campaign.owner_id, campaign.n_images)
        data = load_learning_data(session, campaign)
        named = features_named(get_strategy(campaign.strategy), campaign.settings)
        return _Given(
            campaign=campaign,
            data=data,
            features=table_wanted(session, campaign, named),
            # Imported answers are learned before it is known what to ask about, but ask nothing.
            wanted=batches_wanted(session, campaign) if is_chosen(session, campaign) else [],
            before=vectors_of_earlier_round(session, campaign, data.newest_round),
            map_before=newest_map(session, campaign),
        )


def _read_described(campaign_id: UUID) -> Described:
    """This is read after the fit, because the requester names clusters while it runs."""
    with transaction() as session:
        return read_described(session, session.get_one(Campaign, campaign_id))


def _with_clusters(
    trained: TrainedModel, learned: Learned, described: Described, seed: int
) -> TrainedModel:
    """Add the clusters that the model itself learned, and those that the requester named."""
    labels = None
    if learned.memberships is not None:
        own = own_clusters(learned.memberships, learned.embedding, described, seed)
        settled = {} if own.kept is None else {"memberships_kept": own.kept}
        trained = replace(trained, clusters=own, metrics={**trained.metrics, **settled})
        labels = own.labels
    carried = carried_clusterings(learned.embedding, labels, described, seed)
    return replace(trained, carried=carried)


def vectors_of_earlier_round(
    session: Session, campaign: Campaign, number: int
) -> NDArray[np.float64] | None:
    """Return the (N, d) embedding of the newest model of a round before `number`, if there is
    one."""
    earlier = session.scalar(
        select(Model.id)
        .where(Model.campaign_id == campaign.id, Model.round_number < number)
        .order_by(Model.version.desc())
        .limit(1)
    )
    if earlier is None:
        return None
    query = select(EmbeddedImage.vector).where(EmbeddedImage.model_id == earlier)
    rows = session.scalars(query.order_by(EmbeddedImage.position)).all()
    return np.array(rows, np.float64)


def newest_map(session: Session, campaign: Campaign) -> NDArray[np.float64] | None:
    """Return the (N, 2) positions on the map of the newest model, if there is one."""
    newest = session.scalar(
        select(Model.id)
        .where(Model.campaign_id == campaign.id)
        .order_by(Model.version.desc())
        .limit(1)
    )
    if newest is None:
        return None
    query = select(EmbeddedImage.x, EmbeddedImage.y).where(EmbeddedImage.model_id == newest)
    rows = session.execute(query.order_by(EmbeddedImage.position)).all()
    return np.array([(x, y) for x, y in rows], np.float64).reshape(-1, 2)


class Reporter:
    """Stores progress, in steps large enough not to burden the database."""

    def __init__(self, job_id: UUID, epoch: int) -> None:
        self.job_id, self.epoch, self.reported = job_id, epoch, 0.0

    def __call__(self, done: float) -> None:
        if done - self.reported >= PROGRESS_STEP:
            self.reported = done
            try:
                with transaction() as session:
                    report_progress(session, self.job_id, self.epoch, done)
            except DBAPIError as error:
                if not passes_by_itself(error):
                    raise
                logger.warning("job %s: progress not stored: %s", self.job_id, error)


def _trained(given: _Given, learned: Learned, artifact_key: str) -> TrainedModel:
    campaign, data, before = given.campaign, given.data, given.before
    batches = []
    has_similarity = learned.labels is None
    for number, n in given.wanted if campaign.state != "finished" else []:
        grids = next_grids(learned, data, n, number)
        # Votes are requested for images regardless of their similarity.
        locality = grid_locality(grids.images, learned.embedding) if has_similarity else None
        batches.append(Batch(number, grids, data.n_full, locality))
    # A round whose grids all moved to a later one has no answers of its own (migration 0003).
    last_asked = data.rounds[min(data.newest_round, len(data.rounds)) - 1].images
    # If clusters or labels are the result, the neighbours within one may keep changing.
    settled = (
        neighbour_stability(before, learned.embedding)
        if before is not None and learned.memberships is None and has_similarity
        else {}
    )
    local = (
        {"locality_of_last_round": grid_locality(last_asked, learned.embedding)}
        if has_similarity
        else {}
    )
    metrics = {**learned.metrics, **settled, **local}
    return TrainedModel(
        embedding=learned.embedding,
        map_positions=map_of(learned.embedding, given.map_before),
        metrics={name: float(value) for name, value in metrics.items() if np.isfinite(value)},
        artifact_key=artifact_key,
        round_number=data.newest_round,
        n_full=data.n_full,
        batches=batches,
        n_answers=sum(len(answers.images) for answers in data.rounds),
        insight=learned.insight,
        notes=learned.notes,
        enough=learned.enough is not None,
        settings=campaign.settings,
        ask_about=campaign.ask_about,
    )


def _store_artifact(campaign_id: UUID, name: str, learned: Learned) -> str:
    """Write the model's files to storage under a key that no other attempt uses."""
    prefix = f"models/{campaign_id}/{name}"
    with tempfile.TemporaryDirectory() as folder:
        learned.save(Path(folder) / "model")
        for file in sorted(Path(folder).rglob("*")):
            if file.is_file():
                key = f"{prefix}/{file.relative_to(folder).as_posix()}"
                put_object(key, file.read_bytes())
    if learned.memberships is not None:
        put_object(f"{prefix}/{memberships.FILE}", learned.memberships.to_bytes())
    if learned.labels is not None:
        put_object(f"{prefix}/{labels.FILE}", learned.labels.to_bytes())
    if learned.answer_attributes is not None:
        put_object(f"{prefix}/{answer_attributes.FILE}", learned.answer_attributes.to_bytes())
    if learned.uncertainty is not None:
        put_object(f"{prefix}/{uncertainty.FILE}", learned.uncertainty.to_bytes())
    return prefix


def map_of(
    embedding: NDArray[np.float64], before: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return a flat map of an embedding: its two principal axes, centred in the unit square.

    embedding: (N, d); before: (M, 2) the map of an earlier model, to which this one is aligned,
    because principal axes have arbitrary signs and may swap. Returns (N, 2) in [0, 1], with the
    aspect ratio kept.
    """
    n, d = embedding.shape
    flat = np.zeros((n, 2))
    axes = min(2, d, n)
    flat[:, :axes] = PCA(axes, random_state=0).fit_transform(embedding)
    if before is not None and len(before) > 0:
        flat = turned_onto(before, flat)
    return in_unit_square(flat)
