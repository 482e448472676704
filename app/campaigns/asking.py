"""The images that a campaign asks about, if these are a part of its images.

A started campaign has one row of `AskedImage` for each of them. They are chosen once, in the
background (app/campaigns/choosing.py), and there is no grid before that. A requester can add more.
"""

from collections.abc import Collection as Names
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Integer, func, literal, select
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.orm import Session

from app.campaigns.models import AskedImage, Campaign
from app.core.errors import InvalidInput
from app.features.reading import n_of
from app.features.sources import checked_features, default_features
from app.jobs.models import Job
from app.jobs.service import CHOOSE, latest_job, request_job


def checked_part(
    ask_about: int, ask_by: str | None, grid_size: int, feature_sets: Names[str]
) -> str:
    """Return the features by which a campaign chooses `ask_about` images, or nothing if it asks
    about all images. feature_sets: names of the collection's sets. Raises InvalidInput."""
    if ask_about == 0:
        return ""
    if 0 < ask_about < grid_size:
        raise InvalidInput(
            f"Images to ask about (ask_about): a grid shows {grid_size} images, so at least as "
            f"many are needed, not {ask_about}. 0 asks about all images.",
            code="bad_ask_about",
            fields=["ask_about", "grid_size"],
        )
    try:
        return checked_features((ask_by or "").strip() or default_features(), feature_sets)
    except ValueError as error:
        raise InvalidInput(
            f"Features to choose them by (ask_by): {error}.", code="bad_ask_by", fields=["ask_by"]
        ) from error


def n_asked(session: Session, campaign: Campaign) -> int:
    """Return how many images the campaign asks about, or would if it started now."""
    n_images = n_of(session, campaign)
    return min(campaign.ask_about, n_images) if campaign.ask_about else n_images


def asked_images(session: Session, campaign: Campaign) -> NDArray[np.int64] | None:
    """Return (M,) the positions of the images that a started campaign asks about, ascending; None
    for all of them. Raises ValueError while they are not chosen yet."""
    if not campaign.ask_about:
        return None
    query = select(AskedImage.position).where(AskedImage.campaign_id == campaign.id)
    positions = np.array(session.scalars(query.order_by(AskedImage.position)).all(), np.int64)
    if not len(positions):
        raise ValueError("The images that this campaign asks about are not chosen yet.")
    return positions


def is_chosen(session: Session, campaign: Campaign) -> bool:
    """Tell whether it is known which images a started campaign asks about."""
    chosen = select(AskedImage.position).where(AskedImage.campaign_id == campaign.id).limit(1)
    return not campaign.ask_about or session.scalar(chosen) is not None


def choosing_job(session: Session, campaign: Campaign) -> Job | None:
    """Return the newest job that chooses the images, while they are not chosen."""
    if campaign.started_at is None or is_chosen(session, campaign):
        return None
    return latest_job(session, campaign.id, CHOOSE)


def request_choice(session: Session, campaign: Campaign) -> None:
    """Request the choice of the images. The caller must hold the campaign's row lock."""
    request_job(session, campaign.id, 0, CHOOSE)


def add_asked(session: Session, campaign: Campaign, positions: Sequence[int], origin: str) -> int:
    """Ask about these images, too, and return how many of them the campaign did not ask about
    before. The caller must hold the campaign's row lock."""
    array = literal(list(positions), ARRAY(Integer))
    wanted = func.unnest(array).table_valued("position").render_derived(name="wanted")
    rows = select(literal(campaign.id), wanted.c.position, literal(origin)).distinct()
    columns = ["campaign_id", "position", "origin"]
    statement = insert(AskedImage).from_select(columns, rows).on_conflict_do_nothing()
    added = session.scalars(statement.returning(AskedImage.position)).all()
    return len(added)
