"""Images that a training looks at before it learns, if they are many."""

import logging
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.core.database import transaction
from app.core.errors import Conflict
from app.core.outages import through_outages
from app.features.models import OF_TABLE, UPLOADED
from app.features.sets import ACTIVE, set_named
from app.jobs.encoding import Encoding, is_encoded
from app.jobs.models import Job
from app.jobs.service import CHOOSE
from app.strategies import get_strategy
from app.strategies.base import features_named

logger = logging.getLogger(__name__)
# The features of fewer images are computed within the training, and kept for this collection.
MANY = 1_000


@dataclass(frozen=True)
class LookedAt:
    """Images that a job has encoded so far, of those of the collection."""

    done: int
    images: int


def encode_many(campaign_id: UUID, job_id: UUID, epoch: int) -> None:
    """Encode the images of a large campaign as a feature set of its collection, which shows
    progress, and continues after its last part if the worker ends.

    Raises LostLease, NoRoom, ValueError if they cannot be encoded.
    """
    encoding = through_outages(
        f"job {job_id}: reading its features", lambda: _encoding_of(campaign_id, job_id, epoch)
    )
    if encoding is None:
        return
    try:
        encoding.wait()
    except Conflict as error:
        if error.code != "too_many_feature_sets":
            raise
        # The features are computed within the training, as for fewer images.
        logger.warning("campaign %s: %s", campaign_id, error)


def _encoding_of(campaign_id: UUID, job_id: UUID, epoch: int) -> Encoding | None:
    with transaction() as session:
        campaign = session.get_one(Campaign, campaign_id)
        name = features_named(get_strategy(campaign.strategy), campaign.settings)
        if name is None or campaign.n_images < MANY:
            return None
        if not is_encoded(session, campaign.collection_id, name):
            return None
        owner_id, collection_id = campaign.owner_id, campaign.collection_id
        return Encoding(job_id, epoch, owner_id, collection_id, name, share=0.0)


def looked_at(session: Session, campaign: Campaign, job: Job | None) -> LookedAt | None:
    """Return how many images a running job has encoded, None if it does something else."""
    if job is None or job.state != "running":
        return None
    strategy = get_strategy(campaign.strategy)
    learned = features_named(strategy, campaign.settings)
    name = campaign.ask_by if job.kind == CHOOSE else learned
    feature_set = set_named(session, campaign.collection_id, name) if name else None
    if feature_set is None or feature_set.kind in (UPLOADED, OF_TABLE):
        return None
    if feature_set.state not in ACTIVE:
        return None
    # More images may have been added to the collection than take part.
    return LookedAt(min(feature_set.n_done, campaign.n_images), campaign.n_images)
