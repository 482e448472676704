"""What labels of yes and no and of classes have in common: filters and known answers."""

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign, Grid
from app.kinds import kind_of
from app.strategies.class_labels import ClassLabels
from app.strategies.labels import SURE, Labels


def filtered(
    labels: Labels | ClassLabels,
    positions: NDArray[np.int64],
    asked: bool | None,
    contested: bool | None,
) -> NDArray[np.int64]:
    """Return those of the positions that have votes (or not) and are contested (or not), in the
    same order; None: either."""
    if asked is not None:
        positions = positions[(labels.n_votes[positions] > 0) == asked]
    if contested is not None:
        positions = positions[(labels.sureness[positions] < SURE) == contested]
    return positions


def known_groups(
    session: Session, campaign: Campaign, n_images: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return positions, ascending, and right group numbers of the images of gold and practice
    grids. Models do not learn from answers to these grids, but the images may be in other grids as
    well."""
    query = select(Grid.images, Grid.truth).where(
        Grid.campaign_id == campaign.id,
        Grid.role.in_(("gold", "practice")),
        Grid.truth.is_not(None),
    )
    kind = kind_of(campaign)
    decided = set(range(kind.n_groups(campaign.max_groups))) - set(kind.undecided)
    known = {
        image: group
        for images, truth in session.execute(query)
        for image, group in zip(images, truth or [], strict=True)
        if group in decided and image < n_images
    }
    positions = sorted(known)
    groups = [known[position] for position in positions]
    return np.array(positions, np.int64), np.array(groups, np.int64)
