"""Checks restored rows against the assumptions of pages and learning.

Types, states, lengths and keys are the database's own constraints; this module checks what they
cannot express.
"""

from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    DateTime,
    Float,
    literal,
    not_,
    or_,
    select,
    text,
)
from sqlalchemy import Text as SqlText
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import Session

from app.archive.errors import DamagedArchive
from app.archive.readable import check_readable
from app.archive.shapes import misshapen
from app.archive.tables import ARCHIVED, Archived, belongs
from app.campaigns.annotation_settings import checked_annotation
from app.campaigns.models import Campaign
from app.campaigns.plan import check_ranges, checked_classes
from app.campaigns.plan_settings import checked_plan
from app.campaigns.service import check_budget
from app.core.errors import InvalidInput
from app.features.sets import set_names
from app.kinds import get_kind, kind_of
from app.strategies import get_strategy
from app.strategies.base import check_settings, stored_settings

MOST_GROUPS = 100
# Likewise did not exist before the first, and nobody plans beyond the second.
FIRST_TIME, LAST_TIME = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
# Each query finds rows that must not exist; :campaign and :collection are the restored ones.
RULES = {
    "The images are not numbered from 0 without gaps.": """
        SELECT FROM collection c WHERE id = :collection AND n_images <> (
            SELECT count(*) FROM image i WHERE i.collection_id = c.id AND i.position < c.n_images)
        """,
    "An image has an invalid hash, size or attributes.": """
        SELECT FROM image WHERE collection_id = :collection AND NOT (
            sha256 ~ '^[0-9a-f]{64}$' AND width > 0 AND height > 0
            AND NOT jsonb_path_exists(attributes, '$.* ? (@.type() == "object" ||
                                                         @.type() == "array")'))
        """,
    "The campaign has more images than its collection.": """
        SELECT FROM campaign JOIN collection ON collection.id = collection_id
        WHERE campaign.id = :campaign AND campaign.n_images NOT BETWEEN 0 AND collection.n_images
        """,
    "The campaign does not count the images that it asks about, or some of them do not exist.": """
        SELECT FROM campaign LEFT JOIN asked_image ON campaign_id = campaign.id
        WHERE campaign.id = :campaign GROUP BY campaign.id
        -- None are chosen in a draft, and right after the start.
        HAVING count(position) NOT IN (0, ask_about) OR max(position) >= n_images
            OR ask_about > 0 AND count(position) = 0 AND EXISTS (
                SELECT FROM round WHERE round.campaign_id = campaign.id AND number > 0)
        """,
    "A grid shows images that do not exist.": """
        SELECT FROM grid JOIN campaign ON campaign.id = campaign_id
        JOIN collection ON collection.id = collection_id
        WHERE campaign_id = :campaign AND (
            NOT 0 <= ALL (images)
            -- Known answers are listed before a start freezes the number of images.
            OR NOT CASE campaign.state WHEN 'draft' THEN collection.n_images
                ELSE campaign.n_images END > ALL (images)
            OR cardinality(truth) <> cardinality(images))
        """,
    "An answer does not fit its grid.": f"""
        SELECT FROM answer JOIN grid ON grid.id = grid_id
        WHERE answer.campaign_id = :campaign AND groups IS NOT NULL AND (
            cardinality(groups) <> cardinality(images)
            OR NOT -1 <= ALL (groups) OR NOT {MOST_GROUPS} > ALL (groups))
        """,
    "An answer belongs to an annotator with an invalid number.": """
        SELECT FROM answer JOIN campaign ON campaign.id = answer.campaign_id
        JOIN annotator ON annotator.id = annotator_id
        WHERE answer.campaign_id = :campaign
        AND (position < 0 OR groups IS NOT NULL AND position >= campaign.n_annotators)
        """,
    "A model has vectors for images that do not exist, or vectors of different lengths.": """
        SELECT FROM model JOIN campaign ON campaign.id = campaign_id
        JOIN embedding ON model_id = model.id
        WHERE campaign_id = :campaign GROUP BY model.id, campaign.n_images
        HAVING min(position) < 0 OR max(position) >= campaign.n_images
            OR count(DISTINCT vector_dims(vector)) > 1
        """,
    "A training has an invalid number of attempts or an invalid progress.": """
        SELECT FROM job WHERE campaign_id = :campaign
        AND (attempts < 0 OR NOT progress BETWEEN 0 AND 1)
        """,
    "A clustering puts images into clusters that do not exist.": """
        SELECT FROM clustering JOIN model ON model.id = clustering.model_id
        JOIN campaign ON campaign.id = model.campaign_id
        WHERE model.campaign_id = :campaign AND (
            cardinality(labels) > campaign.n_images
            OR cardinality(labels) <> cardinality(silhouettes)
            OR NOT 0 <= ALL (labels) OR NOT jsonb_array_length(clusters) > ALL (labels))
        """,
}
# Checked at last, so that a row that must not be there is named first.
TOTALS = {
    "The campaign does not count all of its answers.": """
        SELECT FROM campaign WHERE id = :campaign AND (
            n_surplus < 0
            OR (n_answers + n_imported, n_surplus) <> (
                SELECT count(*) FILTER (WHERE answer.state = 'submitted'),
                       count(*) FILTER (WHERE answer.state = 'surplus')
                FROM answer JOIN grid ON grid.id = grid_id
                WHERE answer.campaign_id = campaign.id AND grid.role = 'ask'))
        """,
    "The campaign does not count the places that are asked again.": """
        SELECT FROM campaign WHERE id = :campaign AND n_reopened <> (
            SELECT coalesce(sum(n_reopened), 0) FROM grid WHERE campaign_id = campaign.id)
        """,
    "A grid does not count its places that are asked again.": """
        SELECT FROM grid WHERE campaign_id = :campaign AND n_reopened <> (
            SELECT count(*) FROM answer lost WHERE lost.grid_id = grid.id
            AND lost.reopened_at IS NOT NULL
            AND NOT EXISTS (SELECT FROM answer WHERE answer.replaces = lost.id))
        """,
    "An answer replaces one that did not lose its place.": """
        SELECT FROM answer JOIN answer lost ON lost.id = answer.replaces
        WHERE answer.campaign_id = :campaign AND (lost.grid_id <> answer.grid_id
            OR lost.annotator_id = answer.annotator_id OR lost.reopened_at IS NULL)
        """,
}


def check_rows(session: Session, campaign_id: UUID, collection_id: UUID) -> None:
    """Raise DamagedArchive with the first rule that is broken."""
    for archived in ARCHIVED:
        # This comes first, because the rules rely on it.
        _refuse_any(
            session, archived, campaign_id, misshapen(archived), "values of the wrong shape"
        )
    values = {"campaign": campaign_id, "collection": collection_id}
    _refuse_broken(session, RULES, values)
    for archived in ARCHIVED:
        _refuse_any(session, archived, campaign_id, _strange_numbers(archived), "invalid numbers")
        _refuse_any(session, archived, campaign_id, _strange_times(archived), "invalid times")
        unfinished = [not_(archived.only(campaign_id))] if archived.only is not None else []
        _refuse_any(
            session, archived, campaign_id, unfinished, "rows that do not belong in an archive"
        )
    _refuse_broken(session, TOTALS, values)


def _refuse_broken(session: Session, rules: dict[str, str], values: dict[str, UUID]) -> None:
    for sentence, query in rules.items():
        if session.execute(text(f"{query} LIMIT 1"), values).first() is not None:
            raise DamagedArchive(f"The archive cannot be used. {sentence}")


def _refuse_any(
    session: Session,
    archived: Archived,
    campaign_id: UUID,
    conditions: list[ColumnElement[bool]],
    what: str,
) -> None:
    here = select(literal(1)).select_from(archived.table).where(belongs(archived, campaign_id))
    if conditions and session.scalar(here.where(or_(*conditions)).limit(1)):
        raise DamagedArchive(f"The archive's {archived.name} table contains {what}.")


def _strange_numbers(archived: Archived) -> list[ColumnElement[bool]]:
    numbers = [column for column in archived.columns if _is_float(column.type)]
    return [sql_cast(column, SqlText).op("~")("NaN|Inf") for column in numbers]


def _strange_times(archived: Archived) -> list[ColumnElement[bool]]:
    times = [column for column in archived.columns if isinstance(column.type, DateTime)]
    return [not_(column.between(FIRST_TIME, LAST_TIME)) for column in times]


def check_numbers(campaign: Campaign) -> None:
    """Raise DamagedArchive unless this campaign's numbers could have been chosen on this server:
    one that is too large would fill the memory at the start, and zero would cause a division by
    zero."""
    try:
        check_ranges(campaign)
        if campaign.state == "draft":
            check_budget(campaign)
    except InvalidInput as error:
        raise DamagedArchive(f"The archive's campaign cannot be used. {error}") from error
    stood = campaign.laid_out
    if min(stood, default=1) < 1:
        raise DamagedArchive("The archive's campaign has a round without grids.")
    if len(stood) > campaign.rounds or sum(stood) * campaign.answers_per_grid > campaign.budget:
        raise DamagedArchive(
            "The archive's campaign has more rounds or grids than its settings allow."
        )


def check_pages(session: Session, campaign: Campaign) -> None:
    """Raise DamagedArchive if the campaign's pages could not be shown, InvalidInput if this server
    does not know its kind, its strategy or its settings."""
    check_numbers(campaign)
    campaign.classes = checked_classes(get_kind(campaign.kind), campaign.classes)
    kind = kind_of(campaign)
    kind.check_grid_size(campaign.grid_size)
    kind.checked_max_groups(campaign.max_groups)
    strategy = get_strategy(campaign.strategy)
    campaign.settings = check_settings(
        strategy,
        stored_settings(strategy, campaign.settings),
        set_names(session, campaign.collection_id),
    )
    campaign.annotation = checked_annotation(campaign.annotation)
    campaign.plan = checked_plan(campaign.plan)
    check_readable(session, campaign)


def _is_float(kind: object) -> bool:
    if isinstance(kind, ARRAY):
        kind = kind.item_type
    return isinstance(kind, Float)
