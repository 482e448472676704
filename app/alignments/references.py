"""What the scores of a campaign's own model and of people follow from.

These scores do not depend on the features that are aligned, so that they are computed once for the
same answers, model, and features of the campaign's strategy.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.alignments.figures import Json
from app.alignments.models import Alignment
from app.campaigns.models import Campaign
from app.collections.models import Image
from app.features.models import FeatureSet, FeatureShard
from app.features.sets import set_named
from app.features.sources import TABLE, source_version
from app.results.models import Model
from app.strategies import get_strategy
from app.strategies.base import features_named

if TYPE_CHECKING:
    from learning.groupings import Groupings

_ROWS_AT_A_TIME = 500


def references_key(session: Session, campaign: Campaign, model: Model, answers: "Groupings") -> str:
    """Return a text that changes with the model, the answers that count (also if as many others
    count), the strategy's settings, and the features that it learns from."""
    digest = hashlib.sha256()
    about = [model.version, campaign.strategy, campaign.settings, campaign.seed]
    digest.update(json.dumps(about, sort_keys=True).encode())
    for array in (answers.images, answers.groups, answers.annotators):
        digest.update(f"{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    named = features_named(get_strategy(campaign.strategy), campaign.settings)
    if named is not None:
        for part in _of_features(session, campaign, named):
            digest.update(part.encode())
    return digest.hexdigest()


def _of_features(session: Session, campaign: Campaign, name: str) -> Iterator[str]:
    """Yield what tells features from others of the same name."""
    if name == TABLE:
        query = select(Image.features).where(Image.collection_id == campaign.collection_id)
        rows = session.scalars(
            query.order_by(Image.position).execution_options(yield_per=_ROWS_AT_A_TIME)
        )
        yield from (json.dumps(row) for row in rows)
        return
    feature_set = set_named(session, campaign.collection_id, name)
    if feature_set is None or feature_set.version:
        # Computed by a source, whether they are stored or not.
        yield f"{name} {source_version(name)}"
        return
    yield from _shards(session, feature_set)


def _shards(session: Session, feature_set: FeatureSet) -> Iterator[str]:
    query = select(FeatureShard.sha256).where(FeatureShard.set_id == feature_set.id)
    yield from session.scalars(query.order_by(FeatureShard.number))


def known_references(session: Session, campaign: Campaign, key: str) -> Json | None:
    """Return the scores that an alignment of the campaign has already, if its key is this one."""
    query = select(Alignment.figures).where(
        Alignment.campaign_id == campaign.id,
        Alignment.figures["references_key"].astext == key,
    )
    figures = session.scalar(query.limit(1))
    return figures and {name: figures[name] for name in ("campaign", "people", "references_key")}
