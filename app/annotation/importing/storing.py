"""Writing the rows of imported answers.

The caller takes the campaign's queue of imports first and its row lock last, so that nobody who
works on the campaign waits while the rows are written.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func, insert, select, update
from sqlalchemy.orm import Session
from uuid_utils.compat import uuid7

from app.annotation.importing.answers import CHANNEL, ImportedAnswer
from app.annotation.importing.grids import grids_of
from app.annotation.models import Annotator, AnnotatorIdentity, Answer, Assignment
from app.annotation.sessions import NEWCOMER_QUEUE
from app.campaigns.models import Campaign
from app.campaigns.rounds import imported_round
from app.core.database import Base, advisory_lock

ROWS_AT_ONCE = 2_000


def imported_people(session: Session, campaign: Campaign) -> dict[str, UUID]:
    """Return the annotators of earlier imports by the keyed hash of their name."""
    query = select(AnnotatorIdentity.key_hash, AnnotatorIdentity.annotator_id).where(
        AnnotatorIdentity.campaign_id == campaign.id, AnnotatorIdentity.channel == CHANNEL
    )
    return {key: annotator for key, annotator in session.execute(query)}


def store_answers(session: Session, campaign: Campaign, answers: Sequence[ImportedAnswer]) -> None:
    """Write answers that the campaign does not have yet. Call `count_answers` afterwards."""
    people = _people(session, campaign, answers)
    assignments = _assignments(session, campaign, people, answers)
    into = imported_round(session, campaign)
    asked = [(people[answer.person], answer.images) for answer in answers]
    grids = grids_of(session, into, asked)
    now = datetime.now(UTC)
    rows = (
        {
            "campaign_id": campaign.id,
            "grid_id": grid,
            "annotator_id": people[answer.person],
            "assignment_id": assignments[people[answer.person]],
            "state": "submitted",
            "leased_at": answer.answered_at or now,
            "lease_expires_at": answer.answered_at or now,
            "submitted_at": answer.answered_at or now,
            "groups": answer.groups,
            "descriptions": answer.words,
            "elapsed_ms": answer.elapsed_ms,
            "imported_as": answer.identity,
        }
        for answer, grid in zip(answers, grids, strict=True)
    )
    _insert(session, Answer, rows)
    into.n_wanted += len(answers)
    into.n_answers += len(answers)
    session.flush()


def count_answers(session: Session, campaign: Campaign, n_new: int) -> None:
    """Count `n_new` stored answers and number their annotators. The caller must hold the campaign's
    row lock."""
    # Positions have no gaps, so people who use links at the same moment wait.
    session.execute(select(advisory_lock(campaign.id, NEWCOMER_QUEUE)))
    of_campaign = Annotator.campaign_id == campaign.id
    highest = session.scalar(select(func.max(Annotator.position)).where(of_campaign))
    free = 0 if highest is None or highest < 0 else highest + 1
    session.execute(
        update(Annotator)
        .where(of_campaign, Annotator.position < 0)
        .values(position=free - 1 - Annotator.position)
        .execution_options(synchronize_session=False)
    )
    last = session.scalar(
        select(func.max(Annotator.position))
        .join(AnnotatorIdentity, AnnotatorIdentity.annotator_id == Annotator.id)
        .where(of_campaign, AnnotatorIdentity.channel == CHANNEL)
    )
    campaign.n_imported += n_new
    campaign.n_annotators = max(campaign.n_annotators, (last or 0) + 1)
    session.flush()


def _insert(session: Session, table: type[Base], rows: Iterable[dict[str, Any]]) -> None:
    batch: list[dict[str, Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == ROWS_AT_ONCE:
            session.execute(insert(table), batch)
            batch = []
    if batch:
        session.execute(insert(table), batch)


def _people(
    session: Session, campaign: Campaign, answers: Iterable[ImportedAnswer]
) -> dict[str, UUID]:
    """Return annotators by the keyed hash of their name. New ones get the positions −1, −2, … in
    the order of the file until `count_answers` numbers them."""
    people = imported_people(session, campaign)
    new: dict[str, UUID] = {}
    for answer in answers:
        if answer.person not in people and answer.person not in new:
            new[answer.person] = uuid7()
    _insert(
        session,
        Annotator,
        (
            {"id": annotator, "campaign_id": campaign.id, "position": -1 - number}
            for number, annotator in enumerate(new.values())
        ),
    )
    _insert(
        session,
        AnnotatorIdentity,
        (
            {
                "annotator_id": annotator,
                "campaign_id": campaign.id,
                "channel": CHANNEL,
                "key_hash": key,
            }
            for key, annotator in new.items()
        ),
    )
    return {**people, **new}


def _assignments(
    session: Session,
    campaign: Campaign,
    people: dict[str, UUID],
    answers: Iterable[ImportedAnswer],
) -> dict[UUID, UUID]:
    """Return each annotator's assignment. It is completed and belongs to no recruitment, so nothing
    is owed for it."""
    counts = Counter(people[answer.person] for answer in answers)
    query = select(Assignment.annotator_id, Assignment.id, Assignment.n_answered)
    rows = session.execute(
        query.where(Assignment.campaign_id == campaign.id, Assignment.channel == CHANNEL)
    ).all()
    known = {annotator: assignment for annotator, assignment, _ in rows}
    more = [
        {"id": assignment, "target": n, "n_answered": n}
        for annotator, assignment, done in rows
        if (n := done + counts[annotator]) > done
    ]
    if more:
        session.execute(update(Assignment), more)
    new = {annotator: uuid7() for annotator in counts if annotator not in known}
    _insert(session, Assignment, _new_assignments(campaign, new, counts))
    return {**known, **new}


def _new_assignments(
    campaign: Campaign, new: dict[UUID, UUID], counts: Counter[UUID]
) -> Iterator[dict[str, Any]]:
    now = datetime.now(UTC)
    for annotator, assignment in new.items():
        yield {
            "id": assignment,
            "campaign_id": campaign.id,
            "annotator_id": annotator,
            "channel": CHANNEL,
            "state": "completed",
            "target": counts[annotator],
            "n_answered": counts[annotator],
            "completion_code": "",
            "completed_at": now,
        }
