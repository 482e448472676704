"""Writes a campaign's archive as a stream, from one snapshot and in constant memory."""

import logging
import secrets
import tempfile
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from typing import IO
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.archive.copying import read_table
from app.archive.features import feature_files, feature_sets
from app.archive.manifest import (
    CHECKSUMS,
    MANIFEST,
    SIZES,
    Manifest,
    MemberSummary,
    TableSummary,
    artifact_name,
    features_name,
    image_name,
)
from app.archive.tables import ARCHIVED, BY_NAME, Archived, rows_of
from app.campaigns.models import Campaign
from app.collections.models import Image
from app.collections.service import image_key
from app.core.copying import in_pieces
from app.core.storage import get_object, list_objects, stream_object
from app.core.zips import Member, ZipStream
from app.features.models import OF_TABLE
from app.jobs.service import active_job
from app.results import hooks
from app.results.models import Model

logger = logging.getLogger(__name__)
Zipped = Generator[bytes, None, None]


@dataclass
class _Writer:
    session: Session
    campaign: Campaign
    zipped: ZipStream = field(default_factory=ZipStream)
    tables: dict[str, TableSummary] = field(default_factory=dict)
    members: dict[str, MemberSummary] = field(default_factory=dict)
    n_missing: int = 0
    # Keys are replaced in each archive, so nothing in it can be looked up in this database.
    secret: str = field(default_factory=lambda: secrets.token_hex(32))

    def add_table(self, archived: Archived) -> Zipped:
        n_rows = 0

        def counted() -> Iterator[bytes]:
            nonlocal n_rows
            for line in read_table(self.session, archived, self.campaign.id, self.secret):
                n_rows += 1
                yield line

        self.note((yield from self.zipped.add(archived.file, in_pieces(counted()))))
        columns = [column.key for column in archived.columns]
        self.tables[archived.name] = TableSummary(rows=n_rows, columns=columns)

    def add_artifacts(self) -> Zipped:
        """Yield the files of every model as they are stored: safetensors and JSON."""
        query = select(Model.version, Model.artifact_key).where(
            Model.campaign_id == self.campaign.id
        )
        for number, folder in self.session.execute(query.order_by(Model.version)).all():
            for key in list_objects(folder):
                name = artifact_name(number, key.removeprefix(f"{folder}/"))
                data = stream_object(key)
                self.note((yield from self.zipped.add(name, data, pack=key.endswith(".json"))))

    def add_features(self) -> Zipped:
        """Yield the vectors of exported images in every feature set, a part in each file."""
        images = select(Image.sha256).where(rows_of(BY_NAME["image"], self.campaign.id))
        hashes = list(self.session.scalars(images.order_by(Image.position)))
        for number, feature_set in enumerate(feature_sets(self.session, self.campaign)):
            if feature_set.kind == OF_TABLE:
                # These are stored with the images.
                continue
            for file, data in feature_files(self.session, feature_set, hashes):
                name = features_name(number, file)
                self.note((yield from self.zipped.add(name, [data], pack=file.endswith(".json"))))

    def add_images(self) -> Zipped:
        """Yield every exported image in two sizes, then their hashes in the format of sha256sum."""
        with tempfile.TemporaryFile() as checksums:
            query = select(Image.position, Image.sha256).where(
                rows_of(BY_NAME["image"], self.campaign.id)
            )
            query = query.order_by(Image.position).execution_options(yield_per=1000)
            for position, sha256 in self.session.execute(query):
                for size in SIZES:
                    key = image_key(self.campaign.collection_id, sha256, size)
                    yield from self.add_image(image_name(position, size), key, checksums)
            checksums.seek(0)
            self.note((yield from self.zipped.add(CHECKSUMS, in_pieces(iter(checksums)))))

    def add_image(self, name: str, key: str, checksums: IO[bytes]) -> Zipped:
        try:
            data = get_object(key)
        except FileNotFoundError:
            # The archive states how many are lost; that is better than no archive at all.
            logger.warning("campaign %s: %s is missing from storage", self.campaign.id, key)
            self.n_missing += 1
            return
        member = yield from self.zipped.add(name, [data], pack=False)
        checksums.write(f"{member.sha256}  {name}\n".encode())

    def add_manifest(self) -> Zipped:
        manifest = Manifest(
            product_version=version("likewise"),
            made_at=datetime.now(UTC).isoformat(),
            campaign=self.campaign.name,
            learning=active_job(self.session, self.campaign.id) is not None,
            missing_images=self.n_missing,
            tables=self.tables,
            members=self.members,
        )
        yield from self.zipped.add(MANIFEST, [manifest.model_dump_json(indent=1).encode()])
        yield from self.zipped.end()

    def note(self, member: Member) -> None:
        self.members[member.name] = MemberSummary(sha256=member.sha256, size=member.size)


@hooks.archive.answered_by
def archive_of(session: Session, campaign_id: UUID) -> Iterator[bytes]:
    """Yield the archive's bytes; `session` must be a snapshot (app/core/database.py) until the last
    of them.

    The list of hashes comes last, so a file that was cut off is never taken for complete.
    """
    writer = _Writer(session, session.get_one(Campaign, campaign_id))
    for archived in ARCHIVED:
        yield from writer.add_table(archived)
    yield from writer.add_artifacts()
    yield from writer.add_features()
    yield from writer.add_images()
    yield from writer.add_manifest()
