"""Encoding images within a job: as a feature set of the collection, in parts that the next attempt
continues after.

Each stored part counts as a sign of life: it begins the attempts of the job again. A job that needs
hours for many images is therefore ended at its time limit and goes on, and only one that stores
nothing fails.
"""

import time
from uuid import UUID

from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.collections.models import Collection
from app.core.database import transaction
from app.core.errors import Conflict, LostLease, NoRoom
from app.features.computing import NO_ROOM_YET, run_feature_set
from app.features.models import UPLOADED, FeatureSet
from app.features.sets import ACTIVE, compute_set, set_named
from app.features.sources import TABLE, get_source
from app.jobs.service import report_progress

# The set was requested at the same moment, by a person or for another campaign.
_REQUESTED_ELSEWHERE = ("name_taken", "already_active", "nothing_to_compute")
_REPORT_SECONDS, _WAIT_SECONDS = 2.0, 1.0


class Encoding:
    """The features called `name` of a collection, as a job needs them.

    share: of the job's progress bar that encoding has. Methods raise LostLease.
    """

    def __init__(
        self, job_id: UUID, epoch: int, owner_id: UUID, collection_id: UUID, name: str, share: float
    ) -> None:
        self._job_id, self._epoch, self._share = job_id, epoch, share
        self._owner_id, self._collection_id, self._name = owner_id, collection_id, name
        self._set_id: UUID | None = None
        self._reported, self._n_known = -_REPORT_SECONDS, -1

    def wait(self) -> None:
        """Encode the images, or wait until another worker has done it. Raises ValueError if that
        failed, NoRoom."""
        while (state := self._state_of_set()) != "done":
            if state == "queued" and self._set_id is not None:
                run_feature_set(self._set_id, self._is_lost)
                self._require_room()
            self._report()
            time.sleep(_WAIT_SECONDS)

    def _require_room(self) -> None:
        """Raise NoRoom if the set waits for free space. Do not wait for it here, because this
        worker also removes what is deleted to make room."""
        with transaction() as session:
            feature_set = session.get(FeatureSet, self._set_id)
            if feature_set is None or feature_set.state != "queued":
                return
            if feature_set.error == NO_ROOM_YET:
                raise NoRoom(NO_ROOM_YET)

    def _state_of_set(self) -> str:
        """Return the state of the needed set, `done` if none is needed. Raises ValueError if it
        has failed."""
        try:
            with transaction() as session:
                feature_set = self._needed_set(session)
                if feature_set is None:
                    return "done"
                self._set_id = feature_set.id
                if feature_set.state == "failed":
                    raise ValueError(feature_set.error or "The images could not be encoded.")
                return feature_set.state
        except Conflict as error:
            if error.code not in _REQUESTED_ELSEWHERE:
                raise
            return "running"

    def _needed_set(self, session: Session) -> FeatureSet | None:
        """Return the feature set with the features, which is requested if it is missing; None if
        they are read, or computed all at once, when they are needed."""
        if not is_encoded(session, self._collection_id, self._name):
            return None
        feature_set = set_named(session, self._collection_id, self._name)
        if feature_set is not None and (feature_set.id == self._set_id or _is_current(feature_set)):
            return feature_set
        collection = session.get_one(Collection, self._collection_id)
        owner = session.get_one(Account, self._owner_id)
        return compute_set(session, owner, collection, self._name)

    def _is_lost(self) -> bool:
        """Report progress, and tell whether another worker has taken the job over. The set is then
        given back, so that the other worker need not wait until its lease ends."""
        try:
            self._report()
        except LostLease:
            # The next report raises it again.
            self._reported = -_REPORT_SECONDS
            return True
        return False

    def _report(self) -> None:
        """Report progress now and then. Raises LostLease."""
        if time.monotonic() - self._reported < _REPORT_SECONDS or self._set_id is None:
            return
        self._reported = time.monotonic()
        with transaction() as session:
            feature_set = session.get(FeatureSet, self._set_id)
            n_images = session.get_one(Collection, self._collection_id).n_images
            n_done, n_known = (
                (0, 0) if feature_set is None else (feature_set.n_done, feature_set.n_known)
            )
            advanced = 0 <= self._n_known < n_known
            self._n_known = n_known
            share = self._share * min(1.0, n_done / max(1, n_images))
            report_progress(session, self._job_id, self._epoch, share, advanced=advanced)


def is_encoded(session: Session, collection_id: UUID, name: str) -> bool:
    """Tell whether features are encoded image by image, rather than uploaded, read from the table,
    or computed for all images together. Raises ValueError for features that this server does not
    have."""
    if name == TABLE:
        return False
    feature_set = set_named(session, collection_id, name)
    if feature_set is not None and feature_set.kind == UPLOADED:
        return False
    return get_source(name).encode is not None


def _is_current(feature_set: FeatureSet) -> bool:
    """Tell whether a set has, or will have, what its source computes now for all images."""
    if feature_set.state in ACTIVE:
        return True
    version = get_source(feature_set.kind).version_hash
    return feature_set.state == "done" and feature_set.version == version
