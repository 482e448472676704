"""The tables of a campaign's archive, and the columns that are not exported.

A table added to the schema is one line in `ARCHIVED` (parents before children) or, with a reason,
in `LEFT_OUT`; tests/app/test_archive.py fails until it is in one of them. Everything else follows
from the schema: a row is exported if its campaign is, or the row that a foreign key points to.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Table,
    Text,
    Uuid,
    all_,
    case,
    cast,
    exists,
    func,
    select,
)
from sqlalchemy.orm import InstrumentedAttribute

from app.annotation.models import (
    Annotator,
    Answer,
    Assignment,
    ConsentAgreement,
    ConsentText,
    Questionnaire,
    QuestionnaireReply,
    Remark,
)
from app.campaigns.models import AskedImage, Campaign, Grid, Round, Share
from app.collections.models import Collection, Image
from app.core.database import Base
from app.features.models import FeatureSet
from app.jobs.models import Job
from app.jobs.service import TASKS
from app.results.models import Clustering, EmbeddedImage, Model


def n_archived(campaign_id: object) -> ColumnElement[int]:
    """Return SQL for the number of images of the collection, from the first, that are exported.

    These are the images that a campaign asks about. A draft asks about none yet, so all images are
    exported, unless it is shared, because only the owner may see a collection.
    """
    shared = exists().where(Share.campaign_id == campaign_id).correlate(None)
    return (
        select(
            case(
                (Campaign.state != "draft", Campaign.n_images),
                (shared | (Campaign.owner_id != Collection.owner_id), 0),
                else_=Collection.n_images,
            )
        )
        .join(Collection, Collection.id == Campaign.collection_id)
        .where(Campaign.id == campaign_id)
        .correlate(None)
        .scalar_subquery()
    )


def mark_of_import(campaign_id: object) -> ColumnElement[Any]:
    """Return SQL that marks an answer as imported, without the hash by which this server recognises
    it."""
    fresh = func.replace(cast(func.gen_random_uuid(), Text), "-", "")
    return case((Answer.imported_as.is_not(None), fresh), else_=None)


@dataclass(frozen=True)
class Archived:
    """A table that is exported.

    without: columns that are not exported: owner, secrets, identities, unfinished work. They may be
    null, have a default, or are set again on import.
    only:    which of the campaign's rows are exported, if not all; takes the campaign's id.
    instead: what is written for a column, if not its value; takes the campaign's id.
    former:  columns of earlier versions, whose archives still have them; they are ignored.
    """

    model: type[Base]
    without: tuple[InstrumentedAttribute[object], ...] = ()
    only: Callable[[object], ColumnElement[bool]] | None = None
    instead: dict[str, Callable[[object], ColumnElement[Any]]] = field(default_factory=dict)
    former: frozenset[str] = frozenset()

    @property
    def table(self) -> Table:
        table = self.model.__table__
        assert isinstance(table, Table)
        return table

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def file(self) -> str:
        """Return the name of its member in the archive."""
        return f"tables/{self.name}.jsonl"

    @property
    def columns(self) -> list[Column[object]]:
        behind = {column.key for column in self.without}
        return [column for column in self.table.columns if column.key not in behind]


ARCHIVED = [
    Archived(Collection, without=(Collection.owner_id,), instead={"n_images": n_archived}),
    Archived(Image, only=lambda campaign_id: Image.position < n_archived(campaign_id)),
    Archived(
        FeatureSet,
        without=(FeatureSet.epoch, FeatureSet.attempts, FeatureSet.lease_until),
        only=lambda campaign_id: (FeatureSet.state == "done") & (n_archived(campaign_id) > 0),
    ),
    Archived(Campaign, without=(Campaign.owner_id, Campaign.link_token, Campaign.is_demo)),
    Archived(AskedImage),
    Archived(Round),
    # Known answers may show images that have not joined the campaign yet.
    Archived(Grid, only=lambda campaign_id: n_archived(campaign_id) > all_(Grid.images)),
    Archived(Annotator),
    Archived(ConsentText),
    Archived(ConsentAgreement),
    Archived(Questionnaire),
    Archived(QuestionnaireReply),
    # Annotators show this code to a platform, so it would reveal their identity there.
    Archived(
        Assignment,
        without=(
            Assignment.external_id,
            Assignment.completion_code,
            Assignment.recruitment_id,
            Assignment.posting_id,
        ),
    ),
    Archived(
        Answer,
        without=(Answer.draft, Answer.draft_version, Answer.idempotency_key, Answer.request_hash),
        only=lambda _: Answer.state != "leased",
        instead={"imported_as": mark_of_import},
    ),
    Archived(Remark),
    Archived(
        Job,
        without=(Job.lease_owner, Job.lease_until, Job.max_attempts),
        only=lambda _: Job.state.in_(("done", "failed")) & Job.kind.in_(TASKS),
        former=frozenset({"max_attempts"}),
    ),
    Archived(Model, without=(Model.artifact_key,)),
    Archived(EmbeddedImage),
    Archived(Clustering),
]
BY_NAME = {archived.name: archived for archived in ARCHIVED}
LEFT_OUT = {
    "annotator_identity": "annotators' identities on their platforms never leave the server",
    "collection_import": "image sources, which only the exporting server can use",
    "feature_alignment": "can be learned again from the answers and the features in the archive",
    "feature_shard": "follows from the files of features in the archive",
    "import_problem": "images that could not be imported are not in the collection",
    "dry_run": "an estimate made before the campaign, outdated by its answers",
    "recruitment": "only the exporting server manages what it published on platforms",
    "link_parameters": "what addresses said of annotators never leaves the server in an archive",
    "invitation": "links to the exporting server, and the people they were for",
    "posting": "only the exporting server manages what it published on platforms",
    "submission": "annotators' identities on their platforms never leave the server",
    "payment": "the ledger of the exporting server",
    "channel_call": "requests that the exporting server made to platforms",
    "webhook": "receivers of the exporting server's messages, and their secrets",
    "webhook_delivery": "messages of the exporting server",
    "read_only_link": "links to the exporting server, and whom they were for",
    "share": "the campaign is shared with accounts of the exporting server",
}


def parent_of(column: Column[object]) -> Archived | None:
    """Return the archived table that a column's foreign key points to."""
    for key in column.foreign_keys:
        return BY_NAME.get(key.column.table.name)
    return None


def is_id(column: Column[object]) -> bool:
    """Tell whether it is a key that is replaced: a UUID that identifies a row of an archived
    table."""
    is_key = column.primary_key or parent_of(column) is not None
    return is_key and isinstance(column.type, Uuid)


def is_number(column: Column[object]) -> bool:
    """Tell whether it is a key that the database generates by counting, or a reference to one."""
    own = column.primary_key and column.identity is not None
    leads = any(key.column.identity is not None for key in column.foreign_keys)
    return own or leads


def number_of(column: Column[object]) -> str:
    """Return the name of the table of old and new numbers for such a key."""
    table = next((key.column.table for key in column.foreign_keys), column.table)
    return f"numbers_of_{table.name}"


def rows_of(archived: Archived, campaign_id: object) -> ColumnElement[bool]:
    """Return the condition that a row of this table is exported with the campaign."""
    condition = belongs(archived, campaign_id)
    return condition if archived.only is None else condition & archived.only(campaign_id)


def belongs(archived: Archived, campaign_id: object) -> ColumnElement[bool]:
    """Return the condition that a row of this table belongs to the campaign, exported or not."""
    columns = archived.table.columns
    campaign = BY_NAME["campaign"].table
    if archived.table is campaign:
        return campaign.c.id == campaign_id
    if archived.name == "collection":
        mine = select(campaign.c.collection_id).where(campaign.c.id == campaign_id)
        return columns.id == mine.scalar_subquery()
    if "campaign_id" in columns:
        return columns.campaign_id == campaign_id
    for column in columns:
        parent = parent_of(column)
        if parent is not None and parent.table is not archived.table:
            [key] = column.foreign_keys
            return column.in_(select(key.column).where(belongs(parent, campaign_id)))
    raise LookupError(f"No foreign key leads from {archived.name} to a campaign.")
