"""What collections ask the rooms above them (see `app.core.hooks`)."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.orm import Session

from app.collections.dependents import Dependents, Usage
from app.collections.models import Collection, Image
from app.core.hooks import Hook


@dataclass(frozen=True)
class Showing:
    """A campaign that uses an image: in how many grids, and with how many answers."""

    id: UUID
    name: str
    state: str
    n_grids: int
    n_answers: int


# Campaigns whose answers or known answers name images by position, newest first.
usages: Hook[[Session, Collection], list[Usage]] = Hook("collections.usages")
# Campaigns that show an image, newest first.
showings: Hook[[Session, Image], list[Showing]] = Hook("collections.showings")
# What would be deleted with a collection.
dependents: Hook[[Session, Collection], Dependents] = Hook("collections.dependents")
# Lock the campaigns over a collection, in the order of their ids; returns these.
lock_campaigns: Hook[[Session, Collection], set[UUID]] = Hook("collections.lock_campaigns")
# Delete these campaigns with their answers. The caller has locked them.
delete_campaigns: Hook[[Session, set[UUID]], None] = Hook("collections.delete_campaigns")
# Images were added to a collection, or deleted from it.
images_added: Hook[[Session, Collection], None] = Hook("collections.images_added")
images_deleted: Hook[[Session, Collection], None] = Hook("collections.images_deleted")
# Columns feature_0, … of the collection's table were written.
features_changed: Hook[[Session, Collection], None] = Hook("collections.features_changed")
