"""Learned attributes that a requester takes for one: merged, split again, and carried to the next
model.

The model's own files keep the attributes as they were learned. Pages, exports and the API follow
the merge: an answer is about the merged attribute if it is about one of its parts.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.service import record_audit
from app.campaigns.models import Campaign
from app.core.errors import Conflict, InvalidInput, NotFound
from app.core.storage import StorageError, get_object
from app.results.answer_attributes import answer_key_of
from app.results.answers import AnswerRow, read_answers
from app.results.attribute_names import SAME_FROM, is_same, name_of, rank_correlation, short_name
from app.results.attribute_parts import Attribute, combined_error, parts_of
from app.results.clusterings import MOST_ANSWERS_FOR_WORDS
from app.results.models import Model
from app.results.vectors import one_at_a_time, read_vectors
from app.strategies.answer_attributes import FILE, AnswerAttribute, AnswerAttributes

logger = logging.getLogger(__name__)
MOST_WORDS = 8


@dataclass(frozen=True, eq=False)
class AnswersAbout:
    """What the clusters of a merged attribute are made from.

    seen: the images that answers show; images, groups, descriptions: of each answer that is about
    one of the parts
    """

    seen: NDArray[np.int64]
    images: list[list[int]]
    groups: list[list[int]]
    descriptions: list[list[str]]


def merge_attributes(
    session: Session,
    account: Account,
    campaign: Campaign,
    model: Model,
    numbers: Sequence[int],
    name: str,
) -> int:
    """Merge attributes of a model into one, and return its number, which is that of the part with
    the largest share. Without a name it gets the name of the largest part that has one.

    If all parts order the images in about the same way, the merged attribute is ordered like its
    largest part. Otherwise it has clusters in the columns of all its parts.

    Raises NotFound for an unknown number, InvalidInput for fewer than two different attributes or
    a long name, Conflict if somebody else changes the attributes at the same time, Busy.
    """
    short = short_name(name)
    wanted = sorted(set(numbers))
    if len(wanted) < 2:
        raise InvalidInput("Choose at least two attributes to merge.", code="too_few_attributes")
    attributes = _attributes(model)
    chosen = [_required(model, attributes, number) for number in wanted]
    with one_at_a_time():
        vectors = np.nan_to_num(read_vectors(session, model))
        merged = _merged(session, campaign, chosen, vectors, model.artifact_key, short)
    # That may have taken long, and others need the row.
    session.refresh(model, with_for_update={"key_share": True})
    if _attributes(model) != attributes:
        raise Conflict("Somebody else has just changed these attributes. Look again.")
    _store(model, [*(each for each in attributes if each not in chosen), merged])
    record_audit(
        session, account.id, "attributes.merged", "campaign", campaign.id,
        version=model.version, attributes=wanted, name=name_of(merged),
    )  # fmt: skip
    return int(merged["index"])


def split_attribute(
    session: Session, account: Account, campaign: Campaign, model: Model, number: int
) -> None:
    """Split a merged attribute into its parts, which have the names that they had. Raises NotFound,
    InvalidInput for an attribute that was not merged."""
    session.refresh(model, with_for_update={"key_share": True})
    attributes = _attributes(model)
    merged = _required(model, attributes, number)
    if not parts_of(merged):
        raise InvalidInput(f"Attribute {number} was not merged.", code="not_merged")
    _store(model, [*(each for each in attributes if each is not merged), *parts_of(merged)])
    record_audit(
        session, account.id, "attribute.split", "campaign", campaign.id,
        version=model.version, attribute=number,
    )  # fmt: skip


def carry_merges(
    session: Session,
    campaign: Campaign,
    insight: dict[str, Any],
    embedding: NDArray[np.float64],
    artifact_key: str,
) -> dict[str, Any]:
    """Return the insight of a new model with the newest model's merges, of those parts that the
    new model has, too.

    embedding: (N, d) of the new model; artifact_key: where its files are. A merge that cannot be
    carried over is logged and left out: it is not worth a model.
    """
    newest = select(Model).where(Model.campaign_id == campaign.id).order_by(Model.version.desc())
    previous = session.scalar(newest.limit(1))
    merges = [each for each in _attributes(previous) if parts_of(each)] if previous else []
    if previous is None or not merges or not insight.get("attributes"):
        return insight
    before = np.nan_to_num(read_vectors(session, previous))
    attributes: list[Attribute] = insight["attributes"]
    for merge in merges:
        try:
            kept = {
                part["index"]
                for part in parts_of(merge)
                if is_same(before, embedding, part["index"])
            }
            chosen = [each for each in attributes if each["index"] in kept]
            if len(chosen) < 2:
                continue
            name = name_of(merge)
            merged = _merged(session, campaign, chosen, embedding, artifact_key, name)
        except (LookupError, TypeError, ValueError):
            logger.warning("could not carry over a merge of %s", campaign.id, exc_info=True)
            continue
        attributes = [*(each for each in attributes if each not in chosen), merged]
    return {**insight, "attributes": _by_number(attributes)}


def _attributes(model: Model) -> list[Attribute]:
    attributes: list[Attribute] = (model.insight or {}).get("attributes", [])
    return attributes


def _required(model: Model, attributes: Sequence[Attribute], number: int) -> Attribute:
    for attribute in attributes:
        if attribute["index"] == number:
            return attribute
    raise NotFound(f"Model {model.version} has no attribute {number}.")


def _store(model: Model, attributes: list[Attribute]) -> None:
    model.insight = {**(model.insight or {}), "attributes": _by_number(attributes)}


def _by_number(attributes: list[Attribute]) -> list[Attribute]:
    return sorted(attributes, key=lambda attribute: attribute["index"])


def _merged(
    session: Session,
    campaign: Campaign,
    chosen: Sequence[Attribute],
    vectors: NDArray[np.float64],
    artifact_key: str,
    name: str,
) -> Attribute:
    """vectors: (N, d) of the model whose files are at `artifact_key`."""
    learned = [part for each in chosen for part in parts_of(each) or [each]]
    parts = sorted(learned, key=lambda part: -part["share"])
    errors = [part["share_error"] for part in parts if part.get("share_error") is not None]
    sure = [part["confidence"] for part in parts if part.get("confidence") is not None]
    by_share = sorted(chosen, key=lambda each: -each["share"])
    merged: Attribute = {
        "index": parts[0]["index"],
        "name": name or next(filter(None, map(name_of, by_share)), ""),
        "share": round(sum(part["share"] for part in parts), 6),
        "share_error": combined_error(errors) if errors else None,
        # It predicts held-out answers if one of its parts does.
        "confidence": max(sure, default=None),
        "parts": parts,
    }
    turned = _turned(parts, vectors)
    if turned is not None:
        return {**merged, **_as_one_line(parts, turned)}
    numbers = [part["index"] for part in parts]
    about = _answers_about(session, campaign, numbers, artifact_key, len(vectors))
    return {**merged, **_as_clusters(parts, vectors, about)}


def _turned(parts: Sequence[Attribute], vectors: NDArray[np.float64]) -> list[bool] | None:
    """Return for each part whether it orders the images the other way round than the first, or
    None if the parts are not one line."""
    if any(len(_columns(part)) > 1 for part in parts):
        return None
    first, *others = (vectors[:, part["index"]] for part in parts)
    correlations = [rank_correlation(first, other) for other in others]
    if min(map(abs, correlations)) < SAME_FROM:
        return None
    return [False, *(correlation < 0 for correlation in correlations)]


def _columns(attribute: Attribute) -> list[int]:
    columns: list[int] = attribute.get("columns", [attribute["index"]])
    return columns


def _as_one_line(parts: Sequence[Attribute], turned: Sequence[bool]) -> Attribute:
    sides = ("low", "high")
    words = {
        side: [
            part.get(sides[1 - at] if is_turned else side, [])
            for part, is_turned in zip(parts, turned, strict=True)
        ]
        for at, side in enumerate(sides)
    }
    return {
        "columns": _columns(parts[0]),
        "low": _in_turn(words["low"]),
        "middle": _in_turn([part.get("middle", []) for part in parts]),
        "high": _in_turn(words["high"]),
        "clusters": [],
        "example": parts[0].get("example"),
    }


def _in_turn(lists: Sequence[Sequence[str]]) -> list[str]:
    """Return the first words of each, then the second ones, and so on, each word once."""
    words = chain.from_iterable(zip_longest(*lists))
    return list(dict.fromkeys(word for word in words if word is not None))[:MOST_WORDS]


def _as_clusters(
    parts: Sequence[Attribute], vectors: NDArray[np.float64], about: AnswersAbout
) -> Attribute:
    # Imported here, so that servers start a second faster.
    from learning.attribute_insight import clusters_of, image_clusters
    from learning.words import cluster_words

    columns = list(dict.fromkeys(column for part in parts for column in _columns(part)))
    places = vectors[:, columns]
    labels = image_clusters(places, about.seen)
    words = cluster_words(labels, about.images, about.groups, about.descriptions)
    clusters = clusters_of(places, labels, about.seen, words)
    return {
        "columns": columns,
        "low": [],
        "middle": [],
        "high": [],
        "clusters": [
            {
                "size": cluster.size,
                "silhouette": round(cluster.silhouette, 6),
                "images": list(cluster.images),
                "words": list(cluster.words),
            }
            for cluster in clusters
        ],
        "example": _example(parts[0].get("example"), labels),
    }


def _example(example: dict[str, Any] | None, labels: NDArray[np.int64]) -> dict[str, Any] | None:
    """Return the example grid of the largest part, with its images by their merged clusters."""
    if example is None:
        return None
    images = sorted(example["images"], key=lambda image: int(labels[image]))
    return {"images": images, "groups": [int(labels[image]) for image in images]}


def _answers_about(
    session: Session,
    campaign: Campaign,
    numbers: Sequence[int],
    artifact_key: str,
    n_images: int,
) -> AnswersAbout:
    """n_images: how many the model has. Answers that show others are left out."""
    table = _table(artifact_key)
    seen: set[int] = set()
    about = AnswersAbout(np.arange(n_images), [], [], [])
    for rows in read_answers(session, campaign, left_out=False):
        known = [row for row in rows if max(row.images) < n_images]
        readings = [None] * len(known) if table is None else _readings(table, known)
        for row, reading in zip(known, readings, strict=True):
            seen.update(set(row.images) - set(row.unseen))
            # Without the table nothing says which answers are about what, so that all count.
            counts = reading is None or reading.attribute in numbers
            if row.descriptions and counts and len(about.images) < MOST_ANSWERS_FOR_WORDS:
                about.images.append(row.images)
                about.groups.append(row.groups)
                about.descriptions.append(row.descriptions)
    if not seen:
        # After all answers were erased, the model is still there.
        return about
    return replace(about, seen=np.array(sorted(seen), np.int64))


def _readings(
    table: AnswerAttributes, rows: Sequence[AnswerRow]
) -> Sequence[AnswerAttribute | None]:
    return table.find([answer_key_of(row) for row in rows])


def _table(artifact_key: str) -> AnswerAttributes | None:
    """Return what the model says of each answer, or None if that is not stored."""
    try:
        return AnswerAttributes.from_bytes(get_object(f"{artifact_key}/{FILE}"))
    except FileNotFoundError:
        return None
    except (OSError, StorageError, ValueError):
        # Only words of clusters depend on it.
        logger.warning(
            "could not read the attributes of answers at %s", artifact_key, exc_info=True
        )
        return None
