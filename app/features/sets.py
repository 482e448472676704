"""The feature sets of a collection: listed, renamed, deleted, and requested from a source.

A computed set follows app/core/leased.py: a worker encodes the images in parts, and the set is
queued again when the collection grows.
"""

from typing import Any
from uuid import UUID

from sqlalchemy import delete, func, select, text, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.service import record_audit
from app.collections import hooks as collection_hooks
from app.collections.dependents import names
from app.collections.garbage import discard_below
from app.collections.models import Collection, Image
from app.core.database import locked
from app.core.errors import Conflict, InvalidInput, NotFound
from app.core.outbox import send_after_commit
from app.features import hooks
from app.features.models import OF_TABLE, UPLOADED, FeatureSet
from app.features.shards import prefix_of
from app.features.sources import (
    LONGEST_NAME,
    NOTHING,
    RESERVED,
    TABLE,
    Source,
    get_source,
    source_names,
)

FEATURES_TASK = "likewise.features"
ACTIVE = ("queued", "running")
# Per collection.
MOST_SETS = 30
# All images of a collection that have a row in one of a set's shards.
_COUNT_KNOWN = text(
    """
    UPDATE feature_set SET n_known = known.n, n_done = known.n
    FROM (
        SELECT chosen.id, count(image.id) AS n
        FROM feature_set AS chosen
        LEFT JOIN feature_shard ON feature_shard.set_id = chosen.id
        LEFT JOIN unnest(feature_shard.images) AS stored(sha256) ON true
        LEFT JOIN image ON image.collection_id = chosen.collection_id
            AND image.sha256 = stored.sha256
        WHERE chosen.collection_id = :collection AND chosen.kind <> 'table'
        GROUP BY chosen.id
    ) AS known
    WHERE feature_set.id = known.id
    """
)


class SetInUse(Conflict):
    """Campaigns learn from the set; the message names them."""

    code = "feature_set_in_use"


class NameTaken(Conflict):
    """The collection has another set with this name."""

    code = "name_taken"


def list_sets(session: Session, collection: Collection) -> list[FeatureSet]:
    """List the sets, oldest first."""
    query = select(FeatureSet).where(FeatureSet.collection_id == collection.id)
    return list(session.scalars(query.order_by(FeatureSet.id)))


def set_names(session: Session, collection_id: UUID) -> list[str]:
    """Return the names of the uploaded sets, which a campaign's settings may choose besides those
    of sources, sorted."""
    query = select(FeatureSet.name).where(FeatureSet.collection_id == collection_id)
    return sorted(session.scalars(query.where(FeatureSet.kind == UPLOADED)))


def get_set(session: Session, collection: Collection, set_id: UUID) -> FeatureSet:
    """Return a set of the collection; raises NotFound."""
    feature_set = session.get(FeatureSet, set_id)
    if feature_set is None or feature_set.collection_id != collection.id:
        raise NotFound("This feature set does not exist.")
    return feature_set


def set_named(session: Session, collection_id: UUID, name: str) -> FeatureSet | None:
    """Return the collection's set with this name, in any case of letters."""
    query = select(FeatureSet).where(FeatureSet.collection_id == collection_id)
    return session.scalar(query.where(func.lower(FeatureSet.name) == name.lower()))


def add_set(session: Session, collection: Collection, feature_set: FeatureSet) -> None:
    """Add a set. Raises NameTaken, or Conflict if the collection has too many."""
    query = select(func.count()).where(FeatureSet.collection_id == collection.id)
    if (session.scalar(query) or 0) >= MOST_SETS:
        raise Conflict(
            f"A collection can have up to {MOST_SETS} feature sets. Delete one that you no longer "
            "need.",
            code="too_many_feature_sets",
        )
    feature_set.collection_id = collection.id
    _flush_named(session, feature_set)


def _flush_named(session: Session, feature_set: FeatureSet) -> None:
    name = feature_set.name
    try:
        other = set_named(session, feature_set.collection_id, name)
        if other is not None and other is not feature_set:
            raise NameTaken(_taken(other.name))
        with session.begin_nested():
            session.add(feature_set)
            session.flush()
    except IntegrityError as error:
        # Another request took the name in the meantime.
        raise NameTaken(_taken(name)) from error


def _taken(name: str) -> str:
    return (
        f"This collection already has a feature set named {name!r}. Choose another name, or delete "
        "that set first."
    )


def checked_name(name: str) -> str:
    """Return the name of an uploaded set without spaces around it. Raises InvalidInput."""
    name = " ".join(name.split())
    if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        raise InvalidInput(
            f"A feature set needs a name of 1 to {LONGEST_NAME} printable characters.",
            code="bad_name",
        )
    if name.lower() in RESERVED:
        raise InvalidInput(
            f"The name {name!r} stands for {_meaning(name.lower())}. Choose another name.",
            code="bad_name",
        )
    return name


def _meaning(name: str) -> str:
    if name == TABLE:
        return "the columns feature_0, feature_1, … of the collection's table"
    if name == NOTHING:
        return "learning without features"
    return "features that the server computes"


def rename_set(
    session: Session, owner: Account, collection: Collection, feature_set: FeatureSet, name: str
) -> None:
    """Rename an uploaded set. Raises Conflict for others, NameTaken, SetInUse, InvalidInput."""
    if feature_set.kind != UPLOADED:
        raise Conflict(
            "Only uploaded feature sets can be renamed. Settings find the others by the name of "
            "their source.",
            code="fixed_name",
        )
    name = checked_name(name)
    if name == feature_set.name:
        return
    _require_unused(session, collection, feature_set, "renamed")
    before = feature_set.name
    other = set_named(session, collection.id, name)
    if other is not None and other.id != feature_set.id:
        raise NameTaken(_taken(other.name))
    feature_set.name = name
    _flush_named(session, feature_set)
    _audit(session, owner, feature_set, "renamed", before=before)


def delete_set(
    session: Session, owner: Account, collection: Collection, feature_set: FeatureSet
) -> None:
    """Delete a set with its vectors. Raises SetInUse while a campaign learns from it."""
    _require_unused(session, collection, feature_set, "deleted")
    # Alignments of a campaign with the set are below its folder, too.
    discard_below(session, prefix_of(collection.id, feature_set.id))
    if feature_set.kind == OF_TABLE:
        session.execute(
            update(Image).where(Image.collection_id == collection.id).values(features=None)
        )
    _audit(session, owner, feature_set, "deleted")
    session.execute(delete(FeatureSet).where(FeatureSet.id == feature_set.id))


def _require_unused(
    session: Session, collection: Collection, feature_set: FeatureSet, done: str
) -> None:
    # A source without a set is computed when it is needed, so a campaign goes on without its set.
    if feature_set.kind not in (UPLOADED, OF_TABLE):
        return
    # No campaign starts from here on.
    locked(session, Collection, collection.id)
    learners = hooks.learners(session, collection, feature_set.name)
    if learners:
        raise SetInUse(
            f"{feature_set.name!r} cannot be {done} now, because campaigns learn from it "
            f"({names(learners)}). Finish these campaigns or choose other features in their "
            "settings first."
        )


def _audit(
    session: Session, owner: Account, feature_set: FeatureSet, action: str, **details: Any
) -> None:
    record_audit(
        session,
        owner.id,
        f"collection.features_{action}",
        "collection",
        feature_set.collection_id,
        features=feature_set.name,
        **details,
    )


def audit_upload(session: Session, owner: Account, feature_set: FeatureSet) -> None:
    _audit(session, owner, feature_set, "uploaded", images=feature_set.n_known)


# --- computed sets -------------------------------------------------------------------------------


def compute_set(session: Session, owner: Account, collection: Collection, name: str) -> FeatureSet:
    """Request the features of a source for all images, or of those that do not have them yet.

    Raises InvalidInput for an unknown source, Conflict if there is nothing to compute.
    """
    source = _computing(name)
    if collection.n_images == 0:
        raise Conflict("Add images before you compute their features.", code="no_images")
    feature_set = set_named(session, collection.id, source.name)
    if feature_set is None:
        feature_set = FeatureSet(name=source.name, kind=source.name, version=source.version_hash)
        add_set(session, collection, feature_set)
    else:
        _require_to_do(collection, feature_set, source)
        _queue(feature_set)
    dispatch(session, feature_set)
    _audit(session, owner, feature_set, "requested")
    return feature_set


def _computing(name: str) -> Source:
    try:
        source = get_source(name)
    except ValueError as error:
        reason = str(error).rstrip(".")
        raise InvalidInput(f"{reason[:1].upper()}{reason[1:]}.", code="no_source") from error
    if source.compute is None:
        computed = [other for other in source_names() if other != TABLE]
        raise InvalidInput(
            f"The {source.title} are not computed from images. Choose one of: "
            f"{', '.join(computed)}.",
            code="no_source",
        )
    return source


def _require_to_do(collection: Collection, feature_set: FeatureSet, source: Source) -> None:
    if feature_set.kind != source.name:
        raise NameTaken(_taken(feature_set.name))
    if feature_set.state in ACTIVE:
        raise Conflict("These features are already being computed.", code="already_active")
    is_current = feature_set.version == source.version_hash
    if feature_set.state == "done" and is_current and feature_set.n_known >= collection.n_images:
        raise Conflict("All images already have these features.", code="nothing_to_compute")


def _queue(feature_set: FeatureSet) -> None:
    feature_set.state, feature_set.attempts = "queued", 0
    feature_set.error = feature_set.finished_at = None


def dispatch(session: Session, feature_set: FeatureSet) -> None:
    send_after_commit(
        session, FEATURES_TASK, {"set_id": str(feature_set.id)}, job_id=feature_set.id
    )


# --- changes of the collection -------------------------------------------------------------------


@collection_hooks.images_added.answered_by
def encode_added(session: Session, collection: Collection) -> None:
    """Queue the computed sets again, so that new images are encoded."""
    query = select(FeatureSet).where(
        FeatureSet.collection_id == collection.id,
        FeatureSet.state == "done",
        FeatureSet.kind.not_in((UPLOADED, OF_TABLE)),
    )
    for feature_set in session.scalars(query.with_for_update(key_share=True)):
        _queue(feature_set)
        dispatch(session, feature_set)


@collection_hooks.images_deleted.answered_by
def count_known(session: Session, collection: Collection) -> None:
    """Count again how many of the images each set knows."""
    session.execute(_COUNT_KNOWN, {"collection": collection.id})
    features_changed(session, collection)


@collection_hooks.features_changed.answered_by
def features_changed(session: Session, collection: Collection) -> None:
    """Keep the set of the table's columns in step with what the images have."""
    query = select(func.count(), func.max(func.cardinality(Image.features))).where(
        Image.collection_id == collection.id, func.cardinality(Image.features) > 0
    )
    n_known, n_features = session.execute(query).one()
    feature_set = set_named(session, collection.id, TABLE)
    if feature_set is None and n_known:
        feature_set = FeatureSet(
            collection_id=collection.id, name=TABLE, kind=OF_TABLE, state="done"
        )
        session.add(feature_set)
    if feature_set is not None and feature_set.kind == OF_TABLE:
        if not n_known:
            session.delete(feature_set)
        else:
            feature_set.n_known = feature_set.n_done = n_known
            feature_set.n_features = n_features
        session.flush()
    # Counts were changed by SQL.
    session.expire_all()
