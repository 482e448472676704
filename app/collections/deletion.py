"""Deletes images and collections, with everything that depends on them.

Answers refer to images by position, so an image that a campaign uses stays as long as the campaign.
The positions after a deleted image move up. Lock order: campaigns, then the collection.
"""

from dataclasses import dataclass, field

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Integer,
    and_,
    any_,
    delete,
    func,
    literal,
    select,
    text,
)
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.service import record_audit
from app.collections import hooks
from app.collections.dependents import Dependents, Usage, counted, names
from app.collections.garbage import discard_below, discard_images
from app.collections.models import Collection, CollectionImport, Image
from app.collections.search import ImageFilter, matches
from app.core.database import locked
from app.core.errors import Conflict, InvalidInput

# This changes only positions after the first gap, in one statement, so references to other images
# stay valid.
_CLOSE_UP = text(
    """
    UPDATE image SET position = dense.position
    FROM (SELECT id, row_number() OVER (ORDER BY position) - 1 AS position
          FROM image WHERE collection_id = :collection) AS dense
    WHERE image.id = dense.id AND image.position <> dense.position
    """
)


class ImagesInUse(Conflict):
    """Campaigns use some of the images; the message names the campaigns."""

    code = "images_in_use"


class CollectionInUse(Conflict):
    """A campaign of the collection is still active."""

    code = "collection_in_use"


@dataclass(frozen=True)
class Selection:
    """A selection of images by the hashes of their content, by their positions, or all that match a
    filter.

    expected: how many images the requester saw, so that a filter does not delete images added since
    """

    hashes: list[str] = field(default_factory=list)
    filter: ImageFilter | None = None
    expected: int | None = None
    positions: list[int] | None = None

    def condition(self, collection: Collection) -> ColumnElement[bool]:
        if self.filter is not None:
            return matches(collection.id, self.filter)
        if self.positions is not None:
            among = Image.position == any_(literal(self.positions, ARRAY(Integer)))
            return and_(Image.collection_id == collection.id, among)
        return and_(Image.collection_id == collection.id, Image.sha256.in_(self.hashes))


@dataclass(frozen=True)
class SelectionUse:
    """How many images are selected, how many of them must stay, and because of which campaigns."""

    n_chosen: int
    n_in_use: int
    campaigns: list[Usage]

    @property
    def sentence(self) -> str:
        if self.n_in_use == 0:
            return f"{counted(self.n_chosen, 'image')} will be deleted. This cannot be undone."
        some = "All" if self.n_in_use == self.n_chosen else f"{self.n_in_use:,} of the"
        return (
            f"{some} {counted(self.n_chosen, 'chosen image')} cannot be deleted, because "
            f"campaigns use them ({names(self.campaigns)}) and their answers would lose "
            "their meaning. You can delete them once these campaigns are deleted."
        )


def use_of(session: Session, collection: Collection, chosen: Selection) -> SelectionUse:
    """Return what prevents the selected images from being deleted."""
    usages = hooks.usages(session, collection)
    condition = chosen.condition(collection)
    in_use = [
        (usage, _count(session, and_(condition, Image.position < usage.n_images)))
        for usage in usages
    ]
    return SelectionUse(
        n_chosen=_count(session, condition),
        n_in_use=max((n for _, n in in_use), default=0),
        campaigns=[usage for usage, n in in_use if n],
    )


def _count(session: Session, condition: ColumnElement[bool]) -> int:
    return session.scalar(select(func.count()).select_from(Image).where(condition)) or 0


def delete_images(
    session: Session,
    owner: Account,
    collection: Collection,
    chosen: Selection,
    *,
    unused_only: bool = False,
) -> int:
    """Delete the selected images, or only those that no campaign uses, and return how many.

    Raises ImagesInUse, or Conflict if the filter finds another number of images than expected. The
    stored files are removed after the commit.
    """
    collection = locked(session, Collection, collection.id)
    use = use_of(session, collection, chosen)
    if chosen.expected is not None and use.n_chosen != chosen.expected:
        raise Conflict(
            f"The collection has changed: the search now finds {use.n_chosen} images, not "
            f"{chosen.expected}. Check the images again before you delete them.",
            code="selection_changed",
        )
    if use.n_in_use and not unused_only:
        raise ImagesInUse(use.sentence)
    first_free = max((usage.n_images for usage in use.campaigns), default=0)
    condition = and_(chosen.condition(collection), Image.position >= first_free)
    hashes = list(session.scalars(delete(Image).where(condition).returning(Image.sha256)))
    if not hashes:
        return 0
    session.execute(_CLOSE_UP, {"collection": collection.id})
    collection.n_images -= len(hashes)
    session.flush()
    session.expire_all()
    discard_images(session, collection.id, hashes)
    hooks.images_deleted(session, collection)
    record_audit(
        session,
        owner.id,
        "collection.images_deleted",
        "collection",
        collection.id,
        deleted=len(hashes),
    )
    return len(hashes)


def _require_unused(dependents: Dependents) -> None:
    if dependents.refusal is not None:
        raise CollectionInUse(dependents.refusal)


def delete_collection(
    session: Session, owner: Account, collection: Collection, typed_name: str
) -> Dependents:
    """Delete a collection with its campaigns, their answers and models, and return what was
    deleted.

    Raises InvalidInput unless its name was typed, CollectionInUse if a campaign is still active.
    """
    if typed_name.strip() != collection.name:
        raise InvalidInput(
            f"To delete the collection, type its name: {collection.name!r}.", code="name_differs"
        )
    # Before anything is locked: a training that publishes its model waits for these locks, and
    # holds rows that a deletion needs.
    _require_unused(hooks.dependents(session, collection))
    campaigns = hooks.lock_campaigns(session, collection)
    session.get_one(Collection, collection.id, with_for_update=True, populate_existing=True)
    gone = hooks.dependents(session, collection)
    if {campaign.id for campaign in gone.campaigns} != campaigns:
        raise Conflict(
            "A campaign was created in the meantime. Check again before you delete the collection."
        )
    _require_unused(gone)
    imports = session.scalars(
        select(CollectionImport.id).where(CollectionImport.collection_id == collection.id)
    )
    discard_below(
        session,
        f"images/{collection.id}",
        f"features/{collection.id}",
        f"sheets/{collection.id}",
        *(f"imports/{import_id}" for import_id in imports),
        *(f"{kind}/{campaign_id}" for kind in ("models", "maps") for campaign_id in campaigns),
    )
    # Deleting millions of answers takes time.
    session.execute(text("SET LOCAL statement_timeout = '10min'"))
    hooks.delete_campaigns(session, campaigns)
    session.execute(delete(Collection).where(Collection.id == collection.id))
    record_audit(
        session,
        owner.id,
        "collection.deleted",
        "collection",
        collection.id,
        name=collection.name,
        images=gone.n_images,
        campaigns=[campaign.name for campaign in gone.campaigns],
        answers=gone.n_answers,
        models=gone.n_models,
    )
    return gone
