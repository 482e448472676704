"""Reads restored data through the code that displays it.

Models contain JSON and files of any shape, and only their readers know which ones they can read.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import ValidationError
from sqlalchemy.orm import Session, defer

from app.annotation.bundles import images_at
from app.annotation.models import Answer
from app.annotation.quality import read_scores
from app.annotation.records import AnswerRecord, answers_of
from app.archive.errors import DamagedArchive
from app.campaigns.models import Campaign
from app.core.errors import NotFound
from app.results import class_labels, labels, own_clusters
from app.results.annotator_types import stored_types
from app.results.attribute_parts import parts_of
from app.results.class_label_schemas import ClassQualityOut, ClassVoterOut
from app.results.clusterings import list_clusterings
from app.results.explore_schemas import ClusteringOut
from app.results.insight import examples_of, read_insight, tells_attributes
from app.results.insight_schemas import AttributeOut, InsightOut
from app.results.label_schemas import LabelQualityOut
from app.results.membership_schemas import OwnClustersOut
from app.results.model_parts import read_arrays
from app.results.models import Model
from app.results.schemas import MapOut, ProgressOut
from app.results.service import list_models, read_map, read_progress
from app.results.settled import Kept, StoredSettled
from app.results.vectors import read_vectors

ROWS_AT_ONCE = 1000


def check_readable(session: Session, campaign: Campaign) -> None:
    """Raise DamagedArchive with the part that cannot be displayed."""
    with _readable("answers"):
        _check_answers(session, campaign)
    with _readable("progress"):
        ProgressOut.of(read_progress(session, campaign))
    with _readable("annotators' quality"):
        read_scores(session, campaign)
    for model in list_models(session, campaign):
        _check_model(session, campaign, model)


def _check_model(session: Session, campaign: Campaign, model: Model) -> None:
    with _readable(f"map of model {model.version}"):
        MapOut.of(model.version, read_map(session, campaign, model))
    with _readable(f"clusterings of model {model.version}"):
        _check_clusterings(session, campaign, model)
    with _readable(f"types of annotators of model {model.version}"):
        _check_types(campaign, model)
    if model.settled is not None:
        with _readable(f"kept neighbours of model {model.version}"):
            _check_settled(session, campaign, model)
    if tells_attributes(model):
        with _readable(f"attributes of model {model.version}"):
            InsightOut.of(read_insight(session, campaign, model))
            _check_parts(session, campaign, model)
    if own_clusters.tells_clusters(model):
        with _readable(f"clusters of model {model.version}"):
            _check_own_clusters(session, campaign, model)
    if class_labels.tells_class_labels(model):
        with _readable(f"classes of model {model.version}"):
            _check_class_labels(session, campaign, model)
    if labels.tells_labels(model):
        with _readable(f"labels of model {model.version}"):
            _check_labels(session, campaign, model)


def _check_types(campaign: Campaign, model: Model) -> None:
    types = stored_types(model)
    if types is not None and len(types) > campaign.n_annotators:
        raise ValueError(f"types of {len(types)} annotators, not {campaign.n_annotators}")


def _check_settled(session: Session, campaign: Campaign, model: Model) -> None:
    stored = StoredSettled.model_validate(model.settled)
    kept = read_arrays(Kept, stored.file, campaign, model, Kept.contents)
    if len(kept) < len(read_vectors(session, model)):
        raise ValueError(f"{Kept.contents} of {len(kept)} images only")


def _check_parts(session: Session, campaign: Campaign, model: Model) -> None:
    """Check what a split would show, and what the next model reads of the parts."""
    attributes: list[dict[str, Any]] = (model.insight or {})["attributes"]
    parts = [part for attribute in attributes for part in parts_of(attribute)]
    if not parts:
        return
    d = read_vectors(session, model).shape[1]
    for part in parts:
        columns = part.get("columns", [part["index"]])
        numbers = [part["index"], *columns]
        if not all(type(number) is int and 0 <= number < d for number in numbers):
            raise ValueError(f"columns {numbers} of {d}")
        if not isinstance(part["share"], int | float):
            raise ValueError("a share that is no number")
    examples = examples_of(session, campaign, model, parts)
    for part in parts:
        AttributeOut.of(part, examples[part["index"]], overall=False)


def _check_answers(session: Session, campaign: Campaign) -> None:
    # Event traces are large, and any list is allowed there.
    query = answers_of(campaign).options(defer(Answer.trace), defer(Answer.device))
    for row in session.execute(query.execution_options(yield_per=ROWS_AT_ONCE)):
        AnswerRecord.of(*row)


def _check_clusterings(session: Session, campaign: Campaign, model: Model) -> None:
    for clustering in list_clusterings(session, model):
        typical = [position for cluster in clustering.clusters for position in cluster["images"]]
        images = {image.position: image for image in images_at(session, campaign, typical)}
        ClusteringOut.whole(clustering, images)


def _check_own_clusters(session: Session, campaign: Campaign, model: Model) -> None:
    summary = own_clusters.cluster_insight(model)
    images = own_clusters.examples_of(session, campaign, summary)
    stored = own_clusters.stored_clusters(session, model)
    OwnClustersOut.of(model, summary, images, stored)


def _check_labels(session: Session, campaign: Campaign, model: Model) -> None:
    try:
        model_labels = labels.read_labels(campaign, model)
    except NotFound:
        # Pages report this, and show the rest.
        gold, n_images = labels.Gold(0, 0, None, None), campaign.n_images
    else:
        gold, n_images = labels.read_gold(session, campaign, model_labels), len(model_labels)
    LabelQualityOut.of(model, labels.vote_insight(model), n_images, gold)


def _check_class_labels(session: Session, campaign: Campaign, model: Model) -> None:
    try:
        model_labels = class_labels.read_class_labels(campaign, model)
    except NotFound:
        # Pages report this.
        for voter in class_labels.class_insight(model)["voters"]:
            ClassVoterOut(**voter)
        return
    gold = class_labels.read_gold_classes(session, campaign, model_labels)
    insight = class_labels.class_insight(model)
    ClassQualityOut.of(campaign, model, insight, model_labels, gold)


@contextmanager
def _readable(part: str) -> Iterator[None]:
    try:
        yield
    except (
        ValidationError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError,
        RecursionError,
    ) as error:  # fmt: skip
        raise DamagedArchive(f"The archive's {part} cannot be displayed.") from error
