"""Rounds: opening one with its grids, and what happens when it is full."""

from datetime import UTC, datetime

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign, Grid, Round
from app.core.events import campaign_changed
from app.strategies.grids import NextGrids
from learning.queries import random_grids


def grids_in_round(campaign: Campaign, number: int) -> int:
    """How many grids round `number` (from 1) asks: the budget is shared out evenly."""
    total = campaign.budget // campaign.answers_per_grid
    share, rest = divmod(total, campaign.rounds)
    return share + (1 if number <= rest else 0)


def open_first_round(session: Session, campaign: Campaign) -> Round:
    """The first round asks random grids: nothing is known yet."""
    rng = np.random.default_rng(campaign.seed)
    grids = random_grids(grids_in_round(campaign, 1), campaign.grid_size, campaign.n_images, rng)
    return open_round(session, campaign, 1, NextGrids.alike(grids, "random"))


def open_round(
    session: Session,
    campaign: Campaign,
    number: int,
    grids: NextGrids,
    locality: float | None = None,
) -> Round:
    """Store a round and its grids; the caller holds the campaign's row lock."""
    wanted = campaign.answers_per_grid
    opened = Round(
        campaign_id=campaign.id,
        number=number,
        n_wanted=wanted * len(grids.images),
        locality=locality,
        contents=grids.contents,
    )
    session.add(opened)
    session.flush()
    session.add_all(
        Grid(
            round_id=opened.id,
            campaign_id=campaign.id,
            number=index,
            images=[int(image) for image in images],
            wanted=wanted,
            purpose=purpose,
            attribute=attribute,
        )
        for index, (images, purpose, attribute) in enumerate(
            zip(grids.images, grids.purposes, grids.attributes, strict=True)
        )
    )
    campaign_changed(session, campaign.id)
    return opened


def open_round_of(session: Session, campaign: Campaign, *, lock: bool = False) -> Round | None:
    query = select(Round).where(Round.campaign_id == campaign.id, Round.state == "open")
    return session.scalar(query.with_for_update() if lock else query)


def close_round(session: Session, closing: Round, model_version: int | None) -> None:
    closing.state = "closed"
    closing.closed_at = datetime.now(UTC)
    closing.model_version = model_version
    session.flush()
