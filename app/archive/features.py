"""The vectors of feature sets in archives: only those of exported images, and checked on import."""

import json
import logging
from collections.abc import Iterator

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.archive.container import Container
from app.archive.errors import DamagedArchive
from app.archive.tables import BY_NAME, rows_of
from app.campaigns.models import Campaign
from app.collections.models import Collection, Image
from app.core.errors import InvalidInput
from app.core.storage import put_object
from app.features.columns import as_json, columns_key, columns_of
from app.features.models import OF_TABLE, UPLOADED, FeatureSet
from app.features.sets import checked_name, count_known
from app.features.shards import DamagedFeatures, StoredSet, as_bytes, from_bytes, store_shard
from app.features.sources import TABLE
from app.features.vector_files import MOST_COLUMNS

logger = logging.getLogger(__name__)
COLUMNS = "columns.json"


def feature_sets(session: Session, campaign: Campaign) -> list[FeatureSet]:
    """Return the exported sets in the order of their names, by which an archive numbers them."""
    exported = session.scalars(
        select(FeatureSet).where(rows_of(BY_NAME["feature_set"], campaign.id))
    )
    return sorted(exported, key=lambda feature_set: feature_set.name)


def feature_files(
    session: Session, feature_set: FeatureSet, hashes: list[str]
) -> Iterator[tuple[str, bytes]]:
    """Yield names and bytes of a set's files, with the rows of images with these hashes.

    A part that is missing from storage is left out: the images then have no row, which is better
    than no archive at all.
    """
    places = {sha256: place for place, sha256 in enumerate(hashes)}
    stored = StoredSet.of(session, feature_set)
    if feature_set.kind == UPLOADED:
        yield COLUMNS, as_json(columns_of(feature_set))
    for shard in stored.shards:
        part = StoredSet(stored.name, stored.n_features, [shard])
        try:
            for here, values in part.rows(places):
                some = [hashes[place] for place in here]
                yield f"{shard.number:06d}.safetensors", as_bytes(some, values)
        except DamagedFeatures as error:
            logger.warning("archive: %s", error)


class FeatureRestorer:
    """Stores the vectors of an archive for the sets whose rows have been restored."""

    def __init__(self, session: Session, archive: Container, collection: Collection) -> None:
        self._session, self._archive, self._collection = session, archive, collection
        sets = session.scalars(select(FeatureSet).where(FeatureSet.collection_id == collection.id))
        self._sets = sorted(sets, key=lambda feature_set: feature_set.name)
        images = select(Image.sha256).where(Image.collection_id == collection.id)
        self._hashes = set(session.scalars(images))

    def restore(self) -> None:
        """Store all files. Raises DamagedArchive."""
        for feature_set in self._sets:
            _check_set(feature_set)
        seen: dict[int, set[str]] = {}
        for number, file, member in self._archive.features():
            if number >= len(self._sets) or self._sets[number].kind == OF_TABLE:
                raise DamagedArchive(f"{member} belongs to no feature set of the archive.")
            data = b"".join(self._archive.pieces(member))
            if file == COLUMNS:
                self._store_columns(self._sets[number], member, data)
            else:
                part = int(file.removesuffix(".safetensors"))
                known = seen.setdefault(number, set())
                self._store_part(self._sets[number], part, member, data, known)
        self._session.flush()
        count_known(self._session, self._collection)

    def _store_columns(self, feature_set: FeatureSet, member: str, data: bytes) -> None:
        try:
            columns = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise DamagedArchive(f"{member} is not a list of names.") from error
        is_list = isinstance(columns, list) and all(isinstance(name, str) for name in columns)
        if not is_list or len(columns) != feature_set.n_features:
            raise DamagedArchive(f"{member} is not a list of names, one for each column.")
        put_object(columns_key(feature_set), as_json(columns))

    def _store_part(
        self, feature_set: FeatureSet, part: int, member: str, data: bytes, seen: set[str]
    ) -> None:
        try:
            hashes, values = from_bytes(data)
        except ValueError as error:
            raise DamagedArchive(f"{member} cannot be used: {error}.") from error
        if values.shape[1] != feature_set.n_features:
            raise DamagedArchive(f"{member} has rows of the wrong length.")
        if not set(hashes) <= self._hashes or len(set(hashes) - seen) != len(hashes):
            raise DamagedArchive(f"{member} has rows of images that are not in the archive.")
        seen.update(hashes)
        self._session.add(store_shard(feature_set, part, hashes, values))


def _check_set(feature_set: FeatureSet) -> None:
    """Raise DamagedArchive for names and numbers that this server would not have stored."""
    expected = TABLE if feature_set.kind == OF_TABLE else feature_set.kind
    if feature_set.kind == UPLOADED:
        try:
            expected = checked_name(feature_set.name)
        except InvalidInput as error:
            raise DamagedArchive(f"The archive has an unusable feature set. {error}") from error
    is_possible = 1 <= (feature_set.n_features or 0) <= MOST_COLUMNS
    if feature_set.name != expected or not is_possible:
        raise DamagedArchive(f"The archive's feature set {feature_set.name[:40]!r} is unusable.")
