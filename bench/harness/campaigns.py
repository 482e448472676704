"""Campaigns in the running system (`make up`), owned by its only account."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import numpy as np
from sqlalchemy import select

from app.campaigns.models import Campaign
from app.campaigns.plan import CampaignPlan
from app.campaigns.service import create_campaign, start_campaign
from app.core.database import transaction
from app.jobs.service import latest_job
from app.results.models import EmbeddedImage
from app.results.service import get_model
from learning.arrays import FloatArray
from likewise.commands.collections import collection_from_folder
from likewise.commands.shared import owner_of


def new_collection(name: str, write: Callable[[Path], Path]) -> UUID:
    """A collection of the files that `write` puts into a folder, which it returns."""
    with tempfile.TemporaryDirectory() as folder, transaction() as session:
        files = write(Path(folder))
        return collection_from_folder(session, owner_of(session, ""), files, name)[0].id


def start(plan: CampaignPlan) -> Campaign:
    with transaction() as session:
        owner = owner_of(session, "")
        return start_campaign(session, owner, create_campaign(session, owner, plan).id)


def wait_until(campaign_id: UUID, condition: Callable[[Campaign], bool]) -> Campaign:
    """The campaign when the condition holds; raises RuntimeError if its learning job fails."""
    while True:
        with transaction() as session:
            campaign = session.get_one(Campaign, campaign_id)
            job = latest_job(session, campaign_id)
            if job is not None and job.state == "failed":
                raise RuntimeError(f"the learning job failed: {job.error}")
            if condition(campaign):
                return campaign
        time.sleep(0.5)


def wait_until_finished(campaign: Campaign) -> Campaign:
    return wait_until(campaign.id, lambda campaign: campaign.state == "finished")


def published_embedding(campaign_id: UUID) -> FloatArray:
    """(N, d) vectors of the published model, by position."""
    with transaction() as session:
        model = get_model(session, session.get_one(Campaign, campaign_id))
        query = select(EmbeddedImage.vector).where(EmbeddedImage.model_id == model.id)
        return np.array(session.scalars(query.order_by(EmbeddedImage.position)).all(), np.float64)
