"""The job that measures how settled a model's neighbours are: it fits the strategy to halves of
the answers, and ends the campaign if its target is reached.

It runs after the model of each full round, apart from the training: nobody waits for it.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.campaigns.locks import locked_campaign
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.core.events import campaign_changed
from app.core.outages import through_outages
from app.core.settings import get_settings
from app.core.storage import put_object
from app.features.reading import table_wanted
from app.features.tables import FeatureTable
from app.jobs.models import Job
from app.jobs.service import complete_job, report_progress
from app.results.dataset import load_learning_data
from app.results.encoding import encode_many
from app.results.ending import end_when_enough
from app.results.learn import with_table
from app.results.models import Model
from app.results.settled import Kept, described, end_of
from app.strategies import LearningData, get_strategy
from app.strategies.base import features_named
from app.strategies.settling import Settling, settling, target_of
from learning.groupings import Groupings
from learning.split_half import SplitHalf, split_half

logger = logging.getLogger(__name__)
# Of one look. Each takes about as long as a training (bench.settled).
SPLITS = 2
# Two looks, and room for a busier machine, in trainings.
_TRAININGS = 3 * SPLITS


def run_split_half(campaign_id: UUID, job_id: UUID, epoch: int) -> None:
    """Compare models of halves of a campaign's answers, and store under the job's epoch how settled
    the neighbours of its newest model are. Raises LostLease."""
    given = through_outages(f"job {job_id}: reading", lambda: _read(campaign_id))
    if given is None:
        _complete(campaign_id, job_id, epoch)
        return
    encode_many(campaign_id, job_id, epoch)
    data = with_table(given.data, given.features())
    looks = _Looks(given, data, lambda done: _report(job_id, epoch, done))
    halves = looks.compared()
    if halves is None:
        _complete(campaign_id, job_id, epoch)
        return
    is_enough = looks.is_enough
    file = f"kept-{job_id}-{epoch}.safetensors"
    kept = Kept.of(halves, data.n_images)
    key = f"{given.artifact_key}/{file}"
    through_outages(f"job {job_id}: storing", lambda: put_object(key, kept.to_bytes()))
    settled = described(halves, given.target, is_enough=is_enough, file=file)

    def store() -> None:
        with transaction() as session:
            campaign = locked_campaign(session, campaign_id)
            model = session.get_one(Model, given.model_id)
            n_now, n_then = campaign.n_finished, halves.n_answers
            is_outdated = complete_job(session, job_id, epoch, n_learned=n_then, n_answers=n_now)
            model.settled = settled
            is_current = given.is_of(campaign) and not is_outdated
            if is_enough and is_current and campaign.state != "finished":
                end_when_enough(session, campaign, model.n_answers)
                model.settled = {**settled, "ended_at": end_of(campaign)}
            campaign_changed(session, campaign_id)

    through_outages(f"job {job_id}: storing", store)
    logger.info("campaign %s: %.0f %% of neighbours settled", campaign_id, 100 * halves.settled)


def _report(job_id: UUID, epoch: int, done: float) -> None:
    with transaction() as session:
        report_progress(session, job_id, epoch, done)


def _complete(campaign_id: UUID, job_id: UUID, epoch: int) -> None:
    """End a job that has nothing to measure. Raises LostLease."""
    with transaction() as session:
        locked_campaign(session, campaign_id)
        complete_job(session, job_id, epoch, n_learned=0, n_answers=0)


@dataclass(frozen=True)
class _Given:
    """What the job works on: the answers of now, and the newest model."""

    strategy: Settling
    settings: dict[str, object]
    ask_about: int
    seed: int
    data: LearningData
    features: Callable[[], FeatureTable | None]
    model_id: UUID
    artifact_key: str

    @property
    def target(self) -> float | None:
        return target_of(self.settings)

    def is_of(self, campaign: Campaign) -> bool:
        """Tell whether the campaign still asks about the same, with the same settings."""
        now = (campaign.settings, campaign.ask_about, campaign.n_images)
        return now == (self.settings, self.ask_about, self.data.n_images)


def _read(campaign_id: UUID) -> _Given | None:
    """Read it in one snapshot; None if there is nothing to measure, or a training takes so long
    that this would be ended at the time limit."""
    with transaction() as session:
        session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
        campaign = session.get_one(Campaign, campaign_id)
        strategy = get_strategy(campaign.strategy)
        halved, model = settling(strategy), _newest(session, campaign_id)
        if halved is None or model is None or _takes_too_long(session, model):
            return None
        named = features_named(strategy, campaign.settings)
        return _Given(
            strategy=halved,
            settings=campaign.settings,
            ask_about=campaign.ask_about,
            seed=campaign.seed,
            data=load_learning_data(session, campaign),
            features=table_wanted(session, campaign, named),
            model_id=model.id,
            artifact_key=model.artifact_key,
        )


def _newest(session: Session, campaign_id: UUID) -> Model | None:
    query = select(Model).where(Model.campaign_id == campaign_id)
    return session.scalar(query.order_by(Model.version.desc()).limit(1))


def _takes_too_long(session: Session, model: Model) -> bool:
    took = func.extract("epoch", Job.finished_at - Job.started_at)
    seconds = session.scalar(select(took).where(Job.id == model.job_id))
    limit = get_settings().job_time_limit_seconds
    is_too_long = seconds is not None and float(seconds) * _TRAININGS > limit
    if is_too_long:
        logger.warning("model %s: it took too long to fit halves of its answers too", model.id)
    return is_too_long


class _Looks:
    """Comparisons of halves: the second one, with other halves, only before a campaign ends."""

    def __init__(self, given: _Given, data: LearningData, report: Callable[[float], None]) -> None:
        self._given, self._data, self._report = given, data, report
        self._n_fitted = 0
        self.is_enough = False

    def compared(self) -> SplitHalf | None:
        """Return what all looks say together; None if there are too few answers for halves."""
        try:
            first = self._look(0)
            target = self._given.target
            if first is None or target is None or not first.is_settled(target):
                return first
            second = self._look(1)
        except ValueError:
            logger.info("the model can't learn from half of the answers", exc_info=True)
            return None
        if second is None:
            return first
        self.is_enough = second.is_settled(target)
        return _together(first, second)

    def _look(self, number: int) -> SplitHalf | None:
        seed = 2 * self._given.seed + number
        return split_half(self._fit, self._data.all_answers, SPLITS, seed)

    def _fit(self, answers: Groupings) -> NDArray[np.float64]:
        parts = _in_rounds(answers, [len(round_) for round_ in self._data.rounds])
        half = replace(self._data, rounds=parts, previous=None, begun=None, words=[], purposes=[])
        positions = self._given.strategy.positions(half, dict(self._given.settings))
        self._n_fitted += 1
        self._report(min(0.99, self._n_fitted / (4 * SPLITS)))
        return positions


def _together(first: SplitHalf, second: SplitHalf) -> SplitHalf:
    try:
        return first.combined(second)
    except ValueError:
        # Few images are in all four halves, so the looks are about different ones.
        logger.info("the second look has other images", exc_info=True)
        return second


def _in_rounds(answers: Groupings, sizes: list[int]) -> list[Groupings]:
    """Return half of the answers (in their order) as rounds in proportion to the campaign's."""
    ends = np.round(np.cumsum([0, *sizes]) * len(answers) / sum(sizes)).astype(int)
    return [answers.subset(np.arange(a, b)) for a, b in pairwise(ends) if b > a]
