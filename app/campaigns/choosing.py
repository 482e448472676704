"""The job that chooses the images a campaign asks about, and opens its first round.

It runs in the training process (workers/trainer.py). Features that are encoded image by image are
stored as a feature set of the collection, in parts, so that a job that is lost continues after
them.
"""

import logging
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from app.campaigns import rounds
from app.campaigns.asking import add_asked, is_chosen
from app.campaigns.feature_places import store_places
from app.campaigns.locks import locked_campaign
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.core.errors import NoRoom
from app.core.outages import through_outages
from app.features.reading import read_set
from app.jobs.encoding import Encoding
from app.jobs.service import complete_job, report_progress, require_held

logger = logging.getLogger(__name__)
# The share of the progress bar for encoding.
_ENCODED = 0.9


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

    def wait_for_features(self) -> None:
        """Encode the images, or wait until another worker has done it. Raises ValueError if that
        failed."""
        with transaction() as session:
            campaign = session.get_one(Campaign, self.campaign_id)
            if campaign.ask_about >= campaign.n_images:
                return
            encoding = Encoding(
                self.job_id, self.epoch, campaign.owner_id, campaign.collection_id,
                campaign.ask_by, _ENCODED,
            )  # fmt: skip
        encoding.wait()

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
