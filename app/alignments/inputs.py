"""What an alignment is learned from: answers, model and features of a campaign."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from app.alignments.figures import Json
from app.alignments.models import Alignment
from app.alignments.references import known_references, references_key
from app.campaigns.models import Campaign
from app.core.storage import StorageError, get_object
from app.features.models import FeatureSet
from app.features.reading import table_wanted
from app.features.stored_rows import StoredRows, read_rows
from app.features.tables import FeatureTable
from app.results.dataset import load_learning_data
from app.results.learn import newest_map, with_table
from app.results.models import Model
from app.results.service import get_model
from app.results.vectors import read_vectors
from app.strategies import LearningData, get_strategy
from app.strategies.answer_attributes import FILE, NONE, AnswerAttributes, answer_key
from app.strategies.base import features_named
from app.strategies.previous import PreviousModel

if TYPE_CHECKING:
    from learning.feature_alignment.judging import CampaignModel
    from learning.groupings import Groupings

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class AlignmentInputs:
    """embedding: (n, K) of the campaign's n images; map_positions: (n, 2); references: scores that
    an alignment with the same `references_key` already has; features: of the strategy, None
    if they are not needed or not there any more."""

    campaign: Campaign
    model: Model
    data: LearningData
    embedding: NDArray[np.float64]
    map_positions: NDArray[np.float64]
    rows: StoredRows
    references_key: str
    references: Json | None
    features: Callable[[], FeatureTable | None] | None

    @property
    def answers(self) -> "Groupings":
        return self.data.all_answers

    @property
    def attributes(self) -> list[dict[str, Any]]:
        """Return the attributes that the model found, with their words and columns."""
        attributes: list[dict[str, Any]] = (self.model.insight or {}).get("attributes", [])
        return attributes


def read_inputs(session: Session, alignment: Alignment, feature_set: FeatureSet) -> AlignmentInputs:
    """Read everything in one snapshot. Raises ValueError or LikewiseError if the campaign cannot
    be aligned with these features."""
    campaign = session.get_one(Campaign, alignment.campaign_id)
    model = get_model(session, campaign)
    data = load_learning_data(session, campaign)
    embedding = read_vectors(session, model)
    if len(embedding) != campaign.n_images:
        raise ValueError(
            "The campaign's newest model does not contain all of its images. Wait for its next "
            "model, then align the features again."
        )
    map_positions = newest_map(session, campaign)
    assert map_positions is not None
    key = references_key(session, campaign, model, data.all_answers)
    references = known_references(session, campaign, key)
    return AlignmentInputs(
        campaign,
        model,
        data,
        embedding,
        map_positions,
        read_rows(session, feature_set),
        key,
        references,
        None if references is not None else _own_features(session, campaign),
    )


def _own_features(session: Session, campaign: Campaign) -> Callable[[], FeatureTable | None] | None:
    named = features_named(get_strategy(campaign.strategy), campaign.settings)
    try:
        return table_wanted(session, campaign, named)
    except ValueError:
        # Its set was deleted, or this server has no encoder. Other sets can be aligned still.
        logger.warning("campaign %s cannot be fitted again", campaign.id, exc_info=True)
        return None


def campaign_model(given: AlignmentInputs, heard: Callable[[], None]) -> "CampaignModel | None":
    """Return what fits the campaign's strategy to some of its answers, for the score of its own
    distances; None if its features are not there any more. heard: called while it learns."""
    if given.features is None:
        return None
    strategy, data = get_strategy(given.campaign.strategy), with_table(given.data, given.features())

    def fit(answers: "Groupings") -> Any:
        part = replace(data, rounds=[answers], words=[], purposes=[], previous=None)
        places = strategy.learn(part, given.campaign.settings, lambda _: heard()).embedding

        def distances(i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float64]:
            return np.asarray(np.linalg.norm(places[i] - places[j], axis=1), np.float64)

        return distances

    return fit


def embedding_errors(given: AlignmentInputs) -> NDArray[np.float64] | None:
    """Return (n, K) standard deviations of the embedding, None if the model's are not known."""
    if given.campaign.strategy != "cen" or given.campaign.settings.get("model") == "published":
        return None
    from learning.cen import ContextEmbeddingNetwork

    model = given.model
    stored = PreviousModel(model.version, model.n_answers, model.notes, model.artifact_key)
    network = stored.load(ContextEmbeddingNetwork)
    error = None if network is None else network.embedding_error_
    return error if error is not None and error.shape == given.embedding.shape else None


def column_attributes(given: AlignmentInputs) -> NDArray[np.int64]:
    """Return (K,) the attribute of each column of the embedding, -1 for none."""
    numbers = np.full(given.embedding.shape[1], -1, np.int64)
    for attribute in given.attributes:
        numbers[attribute.get("columns", [attribute["index"]])] = attribute["index"]
    return numbers


def answer_attributes(given: AlignmentInputs) -> NDArray[np.int64] | None:
    """Return (G,) the attribute of each answer, -1 for none; None if the model finds none."""
    if not given.attributes:
        return None
    try:
        stored = AnswerAttributes.from_bytes(get_object(f"{given.model.artifact_key}/{FILE}"))
    except (OSError, StorageError, ValueError):
        # The overall figures are useful without those of the attributes.
        logger.warning("no attributes of answers for %s", given.campaign.id, exc_info=True)
        return None
    answers = given.answers
    keys = [
        answer_key(annotator, images[images >= 0].tolist(), groups[images >= 0].tolist())
        for annotator, images, groups in zip(
            answers.annotators.tolist(), answers.images, answers.groups, strict=True
        )
    ]
    numbers = [NONE if a is None or a.attribute is None else a.attribute for a in stored.find(keys)]
    return np.array(numbers, np.int64)
