"""Alignments of a campaign: listed and requested. They follow app/core/leased.py."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.service import record_audit
from app.alignments.models import Alignment
from app.campaigns.models import Campaign
from app.collections.models import Collection
from app.core.errors import Conflict, InvalidInput, NotFound
from app.core.outbox import send_after_commit
from app.features.models import FeatureSet
from app.features.sets import ACTIVE, compute_set, list_sets, set_named
from app.features.sources import TABLE, source_names
from app.results.models import Model
from app.strategies import get_strategy

ALIGN_TASK = "likewise.align"
MOST_AT_ONCE = 50
NOT_GROUPINGS = (
    "Features are aligned with answers that put images into groups. The annotators of this "
    "campaign give labels instead."
)
NO_MODEL = "Features can be aligned once the campaign has its first model."


@dataclass(frozen=True)
class NamedAlignment:
    """An alignment with its feature set."""

    alignment: Alignment
    feature_set: FeatureSet


def list_alignments(session: Session, campaign: Campaign) -> list[NamedAlignment]:
    """List the alignments by the age of their sets."""
    query = (
        select(Alignment, FeatureSet)
        .join(FeatureSet, FeatureSet.id == Alignment.set_id)
        .where(Alignment.campaign_id == campaign.id)
        .order_by(FeatureSet.id)
    )
    return [NamedAlignment(*row) for row in session.execute(query)]


def get_alignment(session: Session, campaign: Campaign, alignment_id: UUID) -> NamedAlignment:
    """Raises NotFound."""
    for named in list_alignments(session, campaign):
        if named.alignment.id == alignment_id:
            return named
    raise NotFound("This alignment does not exist in this campaign.")


def reason_against(session: Session, campaign: Campaign) -> str | None:
    """Return why nothing can be aligned with this campaign, or None."""
    if get_strategy(campaign.strategy).learns_from != "groupings":
        return NOT_GROUPINGS
    if session.scalar(select(Model.id).where(Model.campaign_id == campaign.id).limit(1)) is None:
        return NO_MODEL
    return None


def request_alignments(
    session: Session, account: Account, campaign: Campaign, features: Sequence[str]
) -> list[NamedAlignment]:
    """Queue alignments with these feature sets and sources; features of a source that were not
    computed yet are computed first.

    Raises Conflict if the campaign has no groupings or no model, or an alignment is in progress;
    InvalidInput for features that the collection does not have.
    """
    reason = reason_against(session, campaign)
    if reason is not None:
        raise Conflict(reason, code="cannot_align")
    collection = session.get_one(Collection, campaign.collection_id)
    requested = []
    for name in dict.fromkeys(features):
        feature_set = _set_of(session, account, collection, name)
        requested.append(NamedAlignment(_queued(session, campaign, feature_set), feature_set))
    names = [named.feature_set.name for named in requested]
    record_audit(
        session, account.id, "campaign.aligned", "campaign", campaign.id, features=", ".join(names)
    )
    return requested


def _set_of(session: Session, account: Account, collection: Collection, name: str) -> FeatureSet:
    feature_set = set_named(session, collection.id, name)
    if feature_set is not None:
        return feature_set
    if name == TABLE or name not in source_names():
        known = [feature_set.name for feature_set in list_sets(session, collection)]
        choices = ", ".join([*known, *(other for other in source_names() if other not in known)])
        raise InvalidInput(
            f"This collection has no features named {name!r}. Choose one of: {choices}.",
            code="no_features",
        )
    if collection.owner_id != account.id:
        raise InvalidInput(
            f"The features {name!r} were not computed yet. Ask the owner of the collection to "
            "compute them on its page.",
            code="no_features",
        )
    return compute_set(session, account, collection, name)


def _queued(session: Session, campaign: Campaign, feature_set: FeatureSet) -> Alignment:
    by_set = (Alignment.campaign_id == campaign.id, Alignment.set_id == feature_set.id)
    alignment = session.scalar(select(Alignment).where(*by_set).with_for_update(key_share=True))
    if alignment is None:
        alignment = Alignment(campaign_id=campaign.id, set_id=feature_set.id)
        session.add(alignment)
    elif alignment.state in ACTIVE:
        raise Conflict(
            f"The features {feature_set.name!r} are already being aligned.", code="already_active"
        )
    alignment.state, alignment.attempts, alignment.progress = "queued", 0, 0.0
    alignment.error = alignment.started_at = alignment.finished_at = None
    session.flush()
    session.refresh(alignment)
    dispatch(session, alignment)
    return alignment


def dispatch(session: Session, alignment: Alignment) -> None:
    send_after_commit(session, ALIGN_TASK, {"alignment_id": str(alignment.id)}, job_id=alignment.id)
