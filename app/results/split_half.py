"""The job that measures how settled a model's neighbours are: it fits the strategy to halves of
the answers, and ends the campaign if its target is reached.

It runs after the model of each full round, apart from the training: nobody waits for it.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
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
from app.jobs.service import SPLIT_HALF, complete_job, request_job, require_held
from app.results.dataset import load_learning_data
from app.results.encoding import encode_many
from app.results.ending import end_when_enough, note_end
from app.results.learn import Reporter, with_table
from app.results.models import Model
from app.results.settled import Kept, described
from app.strategies import LearningData, annotator_types, get_strategy
from app.strategies.annotator_types import types_of
from app.strategies.base import features_named
from app.strategies.settling import Settling, settling, target_of
from learning.groupings import Groupings
from learning.split_half import SplitHalf, split_half

logger = logging.getLogger(__name__)
# Of one look. Each takes about as long as a training (bench.settled).
SPLITS = 2


def run_split_half(campaign_id: UUID, job_id: UUID, epoch: int) -> None:
    """Compare models of halves of a campaign's answers, and store under the job's epoch how settled
    the neighbours of its newest model are. Raises LostLease."""
    measured = _measured(campaign_id, job_id, epoch)
    if measured is None:
        through_outages(
            f"job {job_id}: ending", lambda: _complete(campaign_id, job_id, epoch, None)
        )
        return
    key = f"{measured.given.artifact_key}/{measured.file}"
    through_outages(f"job {job_id}: storing", lambda: put_object(key, measured.kept.to_bytes()))
    through_outages(
        f"job {job_id}: publishing", lambda: _complete(campaign_id, job_id, epoch, measured)
    )
    logger.info("campaign %s: %.2f of neighbours settled", campaign_id, measured.halves.settled)


@dataclass(frozen=True)
class _Measured:
    """What is stored with a model. is_enough: two looks reached the campaign's target."""

    given: "_Given"
    halves: SplitHalf
    kept: Kept
    file: str
    is_enough: bool


def _measured(campaign_id: UUID, job_id: UUID, epoch: int) -> _Measured | None:
    """Return what halves of the answers have in common; None if they can't be compared."""
    try:
        encode_many(campaign_id, job_id, epoch)
        given = through_outages(f"job {job_id}: reading", lambda: _read(campaign_id))
        if given is None:
            return None
        _store_types(given)
        data = with_table(given.data, given.features())
        looks = _Looks(given, data, Reporter(job_id, epoch))
        halves = looks.compared()
    except (ValueError, _TooSlow):
        # No answers are left, a half says nothing to the strategy, or it takes too long. The model
        # stays as it is.
        logger.warning("campaign %s: halves are not compared", campaign_id, exc_info=True)
        return None
    if halves is None:
        return None
    kept = Kept.of(halves, data.n_images)
    return _Measured(given, halves, kept, f"kept-{job_id}-{epoch}.safetensors", looks.is_enough)


def _store_types(given: "_Given") -> None:
    """Store types of annotators with the model, if enough people have answered. They are an
    addition: if they fail, halves are compared all the same."""
    try:
        types = types_of(given.data.all_answers, given.seed)
    except Exception:
        logger.exception("model %s: no types of annotators", given.model_id)
        return
    if types is not None:
        put_object(f"{given.artifact_key}/{annotator_types.FILE}", types.to_bytes())


def _complete(campaign_id: UUID, job_id: UUID, epoch: int, measured: _Measured | None) -> None:
    """End the job, store what is measured, and end the campaign if that is enough. Raises
    LostLease."""
    with transaction() as session:
        campaign = locked_campaign(session, campaign_id)
        is_wanted_again = require_held(session, job_id, epoch, lock=True).rerun_wanted
        is_outdated = complete_job(session, job_id, epoch, n_learned=0, n_answers=0)
        if measured is not None:
            _store(session, campaign, measured, is_outdated)
        newest = _newest(session, campaign_id)
        known = None if measured is None else measured.given.model_id
        is_newest = newest is None or newest.id == known
        # Another model of a full round was published since.
        if is_wanted_again and not is_newest and not is_outdated:
            request_job(session, campaign_id, campaign.n_finished, SPLIT_HALF)
        campaign_changed(session, campaign_id)


def _store(session: Session, campaign: Campaign, measured: _Measured, is_outdated: bool) -> None:
    model, given = session.get_one(Model, measured.given.model_id), measured.given
    is_enough = measured.is_enough and given.is_of(campaign) and not is_outdated
    model.settled = described(
        measured.halves,
        given.target,
        is_enough=is_enough,
        file=measured.file,
        n_finished=given.n_finished,
    )
    if is_enough and campaign.state != "finished":
        end_when_enough(session, campaign, model.n_answers)
        note_end(campaign, model)


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
    budget: int
    n_finished: int

    @property
    def target(self) -> float | None:
        return target_of(self.settings)

    def is_of(self, campaign: Campaign) -> bool:
        """Tell whether the campaign still asks about the same, with the same settings."""
        now = (campaign.settings, campaign.ask_about, campaign.n_images, campaign.budget)
        return now == (self.settings, self.ask_about, self.data.n_images, self.budget)


def _read(campaign_id: UUID) -> _Given | None:
    """Read it in one snapshot; None if there is nothing to measure. Raises ValueError without
    answers."""
    with transaction() as session:
        session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
        campaign = session.get_one(Campaign, campaign_id)
        strategy = get_strategy(campaign.strategy)
        halved, model = settling(strategy), _newest(session, campaign_id)
        if halved is None or model is None:
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
            budget=campaign.budget,
            n_finished=campaign.n_finished,
        )


def _newest(session: Session, campaign_id: UUID) -> Model | None:
    query = select(Model).where(Model.campaign_id == campaign_id)
    return session.scalar(query.order_by(Model.version.desc()).limit(1))


class _TooSlow(Exception):
    """The time limit of jobs would end the comparison."""


class _Looks:
    """Comparisons of halves: the second one, with other halves, only before a campaign ends."""

    def __init__(self, given: _Given, data: LearningData, report: Callable[[float], None]) -> None:
        self._given, self._data, self._report = given, data, report
        self._n_fitted, self._began = 0, time.monotonic()
        self.is_enough = False

    def compared(self) -> SplitHalf | None:
        """Return what all looks say together; None if there are too few answers for halves."""
        first, target = self._look(0), self._given.target
        if first is None or target is None or not first.is_settled(target):
            return first
        second = self._look(1)
        if second is None:
            return first
        self.is_enough = second.is_settled(target)
        return _together(first, second)

    def _look(self, number: int) -> SplitHalf | None:
        seed = 2 * self._given.seed + number
        return split_half(self._fit, self._data.all_answers, SPLITS, seed)

    def _fit(self, answers: Groupings) -> NDArray[np.float64]:
        n, spent = self._n_fitted, time.monotonic() - self._began
        if n and spent * (n + 1) / n > get_settings().job_time_limit_seconds:
            raise _TooSlow(f"{n} models of halves took {spent:.0f} s")
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
