"""The job that chooses the images a campaign asks about, and opens its first round.

It runs in the training process (workers/trainer.py). Features that are encoded image by image are
stored as a feature set of the collection, in parts, so that a job that is lost continues after
them.
"""

import logging
import time
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.campaigns import rounds
from app.campaigns.asking import add_asked, is_chosen
from app.campaigns.feature_places import store_places
from app.campaigns.locks import locked_campaign
from app.campaigns.models import Campaign
from app.collections.models import Collection
from app.core.database import transaction
from app.core.errors import Conflict, LostLease, NoRoom
from app.core.outages import through_outages
from app.features.computing import NO_ROOM_YET, run_feature_set
from app.features.models import UPLOADED, FeatureSet
from app.features.reading import read_set
from app.features.sets import ACTIVE, compute_set, set_named
from app.features.sources import TABLE, get_source
from app.jobs.service import complete_job, report_progress, require_held

logger = logging.getLogger(__name__)
# The share of the progress bar for encoding.
_ENCODED = 0.9
# The set was requested at the same moment, by a person or for another campaign.
_REQUESTED_ELSEWHERE = ("name_taken", "already_active", "nothing_to_compute")
_REPORT_SECONDS, _WAIT_SECONDS = 2.0, 1.0


def run_choosing(campaign_id: UUID, job_id: UUID, epoch: int) -> None:
    """Choose the images of a campaign, and open its first round, under the job's epoch.

    Raises LostLease if the job was taken over, ValueError or LikewiseError if there are no such
    features.
    """
    job = _ChoosingJob(campaign_id, job_id, epoch)
    job.wait_for_features()
    chosen = job.choose()
    through_outages(f"job {job_id}: storing", lambda: job.store(chosen))
    logger.info("campaign %s: asks about %d images", campaign_id, len(chosen))


class _ChoosingJob:
    def __init__(self, campaign_id: UUID, job_id: UUID, epoch: int) -> None:
        self.campaign_id, self.job_id, self.epoch = campaign_id, job_id, epoch
        self._set_id: UUID | None = None
        self._reported = -_REPORT_SECONDS

    def wait_for_features(self) -> None:
        """Encode the images, or wait until another worker has done it. Raises ValueError if that
        failed."""
        while (state := self._state_of_set()) != "done":
            if state == "queued" and self._set_id is not None:
                run_feature_set(self._set_id, self._is_lost)
                self._require_room()
            self._report()
            time.sleep(_WAIT_SECONDS)

    def _require_room(self) -> None:
        """Raise NoRoom if the set waits for free space. Do not wait for it here, because this
        worker also removes what is deleted to make room."""
        with transaction() as session:
            feature_set = session.get(FeatureSet, self._set_id)
            if feature_set is None or feature_set.state != "queued":
                return
            if feature_set.error == NO_ROOM_YET:
                raise NoRoom(NO_ROOM_YET)

    def _state_of_set(self) -> str:
        """Return the state of the needed set, `done` if none is needed. Raises ValueError if it
        has failed."""
        try:
            with transaction() as session:
                feature_set = self._needed_set(session)
                if feature_set is None:
                    return "done"
                self._set_id = feature_set.id
                if feature_set.state == "failed":
                    raise ValueError(feature_set.error or "The images could not be encoded.")
                return feature_set.state
        except Conflict as error:
            if error.code not in _REQUESTED_ELSEWHERE:
                raise
            return "running"

    def _needed_set(self, session: Session) -> FeatureSet | None:
        """Return the feature set with the features, which is requested if it is missing; None if
        they are read, or computed all at once, when they are needed."""
        campaign = session.get_one(Campaign, self.campaign_id)
        if campaign.ask_by == TABLE or campaign.ask_about >= campaign.n_images:
            return None
        feature_set = set_named(session, campaign.collection_id, campaign.ask_by)
        if feature_set is not None and feature_set.kind == UPLOADED:
            return None
        source = get_source(campaign.ask_by)
        if source.encode is None:
            return None
        if feature_set is not None and (feature_set.id == self._set_id or _is_current(feature_set)):
            return feature_set
        collection = session.get_one(Collection, campaign.collection_id)
        owner = session.get_one(Account, campaign.owner_id)
        return compute_set(session, owner, collection, campaign.ask_by)

    def _is_lost(self) -> bool:
        """Report progress, and tell whether another worker has taken the job over. The set is then
        given back, so that the other worker need not wait until its lease ends."""
        try:
            self._report()
        except LostLease:
            # The next report raises it again.
            self._reported = -_REPORT_SECONDS
            return True
        return False

    def _report(self) -> None:
        """Report progress now and then. Raises LostLease."""
        if time.monotonic() - self._reported < _REPORT_SECONDS or self._set_id is None:
            return
        self._reported = time.monotonic()
        with transaction() as session:
            feature_set = session.get(FeatureSet, self._set_id)
            campaign = session.get_one(Campaign, self.campaign_id)
            n_done = feature_set.n_done if feature_set is not None else 0
            share = min(1.0, n_done / max(1, campaign.n_images))
            report_progress(session, self.job_id, self.epoch, _ENCODED * share)

    def choose(self) -> NDArray[np.int64]:
        """Return (M,) positions. Not in a transaction, because this reads all features."""
        with transaction() as session:
            campaign = session.get_one(Campaign, self.campaign_id)
            n_images, wanted, seed = campaign.n_images, campaign.ask_about, campaign.seed
            if wanted >= n_images:
                return np.arange(n_images)
            read = read_set(session, campaign, campaign.ask_by)
            report_progress(session, self.job_id, self.epoch, _ENCODED)
        # These are imported here because only this job needs them, and they are slow.
        from learning.coverage import cover
        from learning.feature_map import feature_map

        features = read().values
        try:
            store_places(self.campaign_id, feature_map(features))
        except (NoRoom, OSError):
            # The campaign does not need its map before the first answer.
            logger.exception("campaign %s: its map by features is not stored", self.campaign_id)
        return cover(features, wanted, seed)

    def store(self, chosen: NDArray[np.int64]) -> None:
        """Store the choice and open the first round. Raises LostLease."""
        with transaction() as session:
            campaign = locked_campaign(session, self.campaign_id)
            require_held(session, self.job_id, self.epoch, lock=True)
            if not is_chosen(session, campaign):
                campaign.ask_about = add_asked(session, campaign, chosen.tolist(), "chosen")
                rounds.open_first_round(session, campaign)
            complete_job(session, self.job_id, self.epoch, n_learned=0, n_answers=0)


def _is_current(feature_set: FeatureSet) -> bool:
    """Tell whether a set has, or will have, what its source computes now for all images."""
    if feature_set.state in ACTIVE:
        return True
    version = get_source(feature_set.kind).version_hash
    return feature_set.state == "done" and feature_set.version == version
