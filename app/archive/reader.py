"""Restores a campaign from an archive, on this server or another: completely or not at all."""

import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any, BinaryIO
from uuid import UUID

import psycopg
from sqlalchemy import ColumnElement, literal, select, text, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.service import record_audit
from app.archive.checks import check_pages, check_rows
from app.archive.container import Container
from app.archive.errors import DamagedArchive
from app.archive.features import FeatureRestorer
from app.archive.loading import load_table
from app.archive.manifest import SIZES, image_name
from app.archive.pictures import check_webp
from app.archive.tables import ARCHIVED
from app.campaigns.models import Campaign
from app.campaigns.quota import require_room_for_answers
from app.collections.models import Collection, Image
from app.collections.service import image_key, require_room_of_account
from app.core.security import new_token
from app.core.storage import delete_below, put_object
from app.jobs.service import request_job
from app.recruitment.links import make_first_link
from app.results.models import Model
from app.results.quota import require_room_for_models

logger = logging.getLogger(__name__)
# Nobody expects a copy to show grids to people, so it waits for its requester's Resume.
STATES = {"running": "paused"}
LONGEST_NAME = 200
# The last SQLSTATE is for violated policies (app/core/row_security.py): such rows belong to nobody
# or to another account.
_REFUSALS = (
    psycopg.errors.DataError,
    psycopg.errors.IntegrityError,
    # Arrays with too many dimensions, and JSON that is nested too deep.
    psycopg.errors.ProgramLimitExceeded,
    psycopg.errors.StatementTooComplex,
    psycopg.errors.InsufficientPrivilege,
)


@dataclass
class _Restoring:
    session: Session
    owner: Account
    archive: Container
    link_token: str = field(default_factory=new_token)
    secret: str = field(default_factory=lambda: secrets.token_hex(32))

    def load_rows(self) -> Campaign:
        tables = self.archive.manifest.tables
        for name in ("collection", "campaign"):
            if name not in tables or tables[name].rows != 1:
                raise DamagedArchive(f"An archive must contain exactly one {name}.")
        for archived in ARCHIVED:
            if archived.name in tables:
                pieces = self.archive.pieces(archived.file)
                given = self.given(archived.name)
                load_table(
                    self.session, archived, tables[archived.name], pieces, given, self.secret
                )
        query = select(Campaign).where(Campaign.link_token == self.link_token)
        return self.session.scalars(query).one()

    def given(self, table: str) -> dict[str, ColumnElement[Any]]:
        """Return the columns whose values come from this server."""
        given: dict[str, dict[str, ColumnElement[Any]]] = {
            "collection": {"owner_id": literal(self.owner.id)},
            "campaign": {
                "owner_id": literal(self.owner.id),
                "link_token": literal(self.link_token),
            },
            "assignment": {"completion_code": literal("")},
            # These are known once the campaign has its own id; the archive's values are never used.
            "model": {"artifact_key": literal("")},
        }
        return given.get(table, {})

    def store_artifacts(self, campaign: Campaign) -> None:
        folders = {}
        query = select(Model.version, Model.id).where(Model.campaign_id == campaign.id)
        for number, model_id in self.session.execute(query).all():
            folders[number] = f"models/{campaign.id}/{model_id}"
            self.session.execute(
                update(Model).where(Model.id == model_id).values(artifact_key=folders[number])
            )
        for number, file, member in self.archive.artifacts():
            if number not in folders:
                raise DamagedArchive(f"{member} belongs to a model that is not in the archive.")
            put_object(f"{folders[number]}/{file}", b"".join(self.archive.pieces(member)))

    def store_images(self, collection_id: UUID) -> None:
        query = select(Image.position, Image.sha256).where(Image.collection_id == collection_id)
        rows = self.session.execute(query.order_by(Image.position)).all()
        waiting = self.archive.images()
        name, checksum = next(waiting, ("", ""))
        n_missing = 0
        for position, sha256 in rows:
            for size in SIZES:
                if name != image_name(position, size):
                    n_missing += 1
                    continue
                data = b"".join(self.archive.pieces(name, checksum))
                check_webp(name, data, size)
                put_object(image_key(collection_id, sha256, size), data)
                name, checksum = next(waiting, ("", ""))
        if name or n_missing != self.archive.manifest.missing_images:
            raise DamagedArchive("The archive's images do not match its list of images.")


def restore_archive(
    session: Session,
    owner: Account,
    file: BinaryIO,
    *,
    name: str = "",
    most_bytes: int | None = None,
) -> Campaign:
    """Create the archive's campaign and collection as new ones of `owner`, with a new annotators'
    link.

    A running campaign becomes paused. `name` replaces the campaign's name; one that the owner
    already uses gets "(imported)". `most_bytes` limits the unpacked size. Raises DamagedArchive,
    TooNewArchive, InvalidInput; the caller rolls back, and storage is as before.
    """
    archive = Container(file, most_bytes)
    restoring = _Restoring(session, owner, archive)
    session.execute(text("SET LOCAL statement_timeout = 0"))
    session.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
    with _what_the_database_refuses():
        campaign = restoring.load_rows()
        check_rows(session, campaign.id, campaign.collection_id)
        require_room_of_account(session, owner.id)
        require_room_for_answers(session, owner.id)
        require_room_for_models(session, owner.id)
        with _nothing_left_behind(campaign):
            restoring.store_artifacts(campaign)
            restoring.store_images(campaign.collection_id)
            collection = session.get_one(Collection, campaign.collection_id)
            FeatureRestorer(session, archive, collection).restore()
            _settle(session, owner, campaign, name)
            if campaign.state != "draft":
                make_first_link(session, campaign)
            if archive.manifest.learning and campaign.n_finished:
                request_job(session, campaign.id, campaign.n_answers)
            session.flush()
    return campaign


def _settle(session: Session, owner: Account, campaign: Campaign, name: str) -> None:
    collection = session.get_one(Collection, campaign.collection_id)
    campaign.state = STATES.get(campaign.state, campaign.state)
    campaign.name = _free_name(session, owner, Campaign, campaign.id, name.strip() or campaign.name)
    collection.name = _free_name(session, owner, Collection, collection.id, collection.name)
    check_pages(session, campaign)
    record_audit(session, owner.id, "collection.imported", "collection", collection.id)
    record_audit(session, owner.id, "campaign.imported", "campaign", campaign.id)


def _free_name(
    session: Session,
    owner: Account,
    table: type[Campaign] | type[Collection],
    own_id: UUID,
    name: str,
) -> str:
    """Return the first of `name`, "NAME (imported)", "NAME (imported 2)" … that the owner does not
    use yet."""
    taken = set(
        session.scalars(select(table.name).where(table.owner_id == owner.id, table.id != own_id))
    )
    marks = (f" (imported {number})" if number > 1 else " (imported)" for number in count(1))
    names = (name[: LONGEST_NAME - len(mark)] + mark for mark in chain([""], marks))
    return next(candidate for candidate in names if candidate not in taken)


@contextmanager
def _what_the_database_refuses() -> Iterator[None]:
    try:
        yield
    except _REFUSALS as error:
        raise _refused(error) from error
    except DBAPIError as error:
        if isinstance(error.orig, _REFUSALS):
            raise _refused(error.orig) from error
        raise


def _refused(error: psycopg.Error) -> DamagedArchive:
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        # If any other privilege is missing, that is our fault and not the archive's.
        if "row-level security" not in str(error):
            raise error
        return DamagedArchive(
            "The archive contains rows of a campaign or a model that is not in it."
        )
    reason = (error.diag.message_primary or str(error)).splitlines()[0]
    return DamagedArchive(f"The archive contains data that the database rejects: {reason}.")


@contextmanager
def _nothing_left_behind(campaign: Campaign) -> Iterator[None]:
    """Stored objects have no transaction, so remove those written so far if anything goes wrong."""
    collection_id = campaign.collection_id
    folders = [f"images/{collection_id}", f"models/{campaign.id}", f"features/{collection_id}"]
    try:
        yield
    except BaseException:
        for folder in folders:
            delete_below(folder)
        raise
