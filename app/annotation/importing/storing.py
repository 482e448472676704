"""Rows of imported answers. The caller holds the campaign's row lock."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func, insert, select, update
from sqlalchemy.orm import Session
from uuid_utils.compat import uuid7

from app.annotation.importing.answers import CHANNEL, ImportedAnswer
from app.annotation.models import Annotator, AnnotatorIdentity, Answer, Assignment
from app.annotation.sessions import NEWCOMERS
from app.campaigns.models import Campaign, Grid, Round
from app.campaigns.rounds import imported_round
from app.core.database import Base, turn_for

ROWS_AT_ONCE = 2_000


@dataclass(frozen=True)
class Person:
    """Somebody whose answers were imported, as the campaign knows them."""

    annotator_id: UUID
    position: int


def imported_people(session: Session, campaign: Campaign) -> dict[str, Person]:
    """Everybody of earlier imports, by the keyed hash of their name."""
    query = (
        select(AnnotatorIdentity.key_hash, Annotator.id, Annotator.position)
        .join(Annotator, Annotator.id == AnnotatorIdentity.annotator_id)
        .where(AnnotatorIdentity.campaign_id == campaign.id, AnnotatorIdentity.channel == CHANNEL)
    )
    return {key: Person(found, position) for key, found, position in session.execute(query)}


def store_answers(session: Session, campaign: Campaign, answers: Sequence[ImportedAnswer]) -> None:
    """Write answers that the campaign does not have yet, and count them."""
    people = _people(session, campaign, answers)
    assignments = _assignments(session, campaign, people, answers)
    into = imported_round(session, campaign)
    grids = _grids(session, into, people, answers)
    now = datetime.now(UTC)
    rows = []
    for answer, grid in zip(answers, grids, strict=True):
        person = people[answer.person].annotator_id
        at = answer.line.answered_at or now
        rows.append(
            {
                "campaign_id": campaign.id,
                "grid_id": grid,
                "annotator_id": person,
                "assignment_id": assignments[person],
                "state": "submitted",
                "leased_at": at,
                "lease_expires_at": at,
                "submitted_at": at,
                "groups": answer.line.groups,
                "descriptions": answer.line.words,
                "elapsed_ms": answer.line.elapsed_ms,
                "imported_as": answer.identity,
            }
        )
    _insert(session, Answer, rows)
    into.n_wanted += len(rows)
    into.n_answers += len(rows)
    campaign.n_imported += len(rows)
    last = max(people[answer.person].position for answer in answers)
    campaign.n_annotators = max(campaign.n_annotators, last + 1)
    session.flush()


def _insert(session: Session, table: type[Base], rows: Sequence[dict[str, Any]]) -> None:
    for start in range(0, len(rows), ROWS_AT_ONCE):
        session.execute(insert(table), rows[start : start + ROWS_AT_ONCE])


def _people(
    session: Session, campaign: Campaign, answers: Iterable[ImportedAnswer]
) -> dict[str, Person]:
    """Annotators by the keyed hash of their name; new ones in the order of the file."""
    # Positions are dense: people who come by links in the same moment wait.
    session.execute(select(turn_for(campaign.id, NEWCOMERS)))
    people = imported_people(session, campaign)
    of_campaign = Annotator.campaign_id == campaign.id
    highest = session.scalar(select(func.max(Annotator.position)).where(of_campaign))
    free = 0 if highest is None else highest + 1
    new: dict[str, Person] = {}
    for answer in answers:
        if answer.person not in people and answer.person not in new:
            new[answer.person] = Person(uuid7(), free + len(new))
    _insert(
        session,
        Annotator,
        [
            {"id": one.annotator_id, "campaign_id": campaign.id, "position": one.position}
            for one in new.values()
        ],
    )
    _insert(
        session,
        AnnotatorIdentity,
        [
            {
                "annotator_id": one.annotator_id,
                "campaign_id": campaign.id,
                "channel": CHANNEL,
                "key_hash": key,
            }
            for key, one in new.items()
        ],
    )
    return {**people, **new}


def _assignments(
    session: Session,
    campaign: Campaign,
    people: dict[str, Person],
    answers: Iterable[ImportedAnswer],
) -> dict[UUID, UUID]:
    """The assignment of each annotator: completed, of no recruitment, so that nothing is owed."""
    counts = Counter(people[answer.person].annotator_id for answer in answers)
    query = select(Assignment.annotator_id, Assignment.id, Assignment.n_answered)
    rows = session.execute(
        query.where(Assignment.campaign_id == campaign.id, Assignment.channel == CHANNEL)
    ).all()
    known = {annotator: assignment for annotator, assignment, _ in rows}
    totals = {
        assignment: done + counts[annotator]
        for annotator, assignment, done in rows
        if annotator in counts
    }
    _update(
        session,
        Assignment,
        [{"id": one, "target": n, "n_answered": n} for one, n in totals.items()],
    )
    new = {annotator: uuid7() for annotator in counts if annotator not in known}
    now = datetime.now(UTC)
    _insert(
        session,
        Assignment,
        [
            {
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
            for annotator, assignment in new.items()
        ],
    )
    return {**known, **new}


def _update(session: Session, table: type[Base], rows: Sequence[dict[str, Any]]) -> None:
    """Rows with their primary key."""
    for start in range(0, len(rows), ROWS_AT_ONCE):
        session.execute(update(table), rows[start : start + ROWS_AT_ONCE])


def _grids(
    session: Session,
    into: Round,
    people: dict[str, Person],
    answers: Sequence[ImportedAnswer],
) -> list[int]:
    """The grid of each answer.

    Answers to the same images in the same order share a grid, so that annotators are compared
    with each other; somebody who has answered it before gets another one, as the database asks.
    """
    ids, seen, counts = _grids_so_far(session, into)
    fresh: dict[tuple[int, ...], int] = defaultdict(int)
    wanted: list[tuple[tuple[int, ...], int]] = []
    for answer in answers:
        asked = (people[answer.person].annotator_id, answer.images)
        which, seen[asked] = seen[asked], seen[asked] + 1
        fresh[answer.images] = max(fresh[answer.images], which + 1 - len(ids[answer.images]))
        wanted.append((answer.images, which))
    _add_grids(session, into, [images for images, n in fresh.items() for _ in range(n)], ids)
    found = [ids[images][which] for images, which in wanted]
    totals = counts + Counter(found)
    changed = [
        {"id": grid, "wanted": totals[grid], "n_answers": totals[grid]} for grid in set(found)
    ]
    _update(session, Grid, changed)
    return found


def _grids_so_far(
    session: Session, into: Round
) -> tuple[dict[tuple[int, ...], list[int]], Counter[tuple[UUID, tuple[int, ...]]], Counter[int]]:
    """Of the round: grids by their images, how often each annotator answered which images, and
    answers by grid."""
    ids: dict[tuple[int, ...], list[int]] = defaultdict(list)
    seen: Counter[tuple[UUID, tuple[int, ...]]] = Counter()
    counts: Counter[int] = Counter()
    query = select(Grid.id, Grid.images, Answer.annotator_id)
    query = query.join(Answer, Answer.grid_id == Grid.id).where(Grid.round_id == into.id)
    for grid, images, annotator in session.execute(query.order_by(Grid.number)):
        shown = tuple(images)
        if grid not in counts:
            ids[shown].append(grid)
        counts[grid] += 1
        seen[annotator, shown] += 1
    return ids, seen, counts


def _add_grids(
    session: Session,
    into: Round,
    new: Sequence[tuple[int, ...]],
    ids: dict[tuple[int, ...], list[int]],
) -> None:
    """Insert grids with these images, and note their keys in `ids`."""
    highest = session.scalar(select(func.max(Grid.number)).where(Grid.round_id == into.id))
    first = 0 if highest is None else highest + 1
    rows = [
        {
            "round_id": into.id,
            "campaign_id": into.campaign_id,
            "number": first + at,
            "images": list(images),
            "wanted": 0,
        }
        for at, images in enumerate(new)
    ]
    made: dict[int, int] = {}
    for start in range(0, len(rows), ROWS_AT_ONCE):
        insertion = insert(Grid).returning(Grid.number, Grid.id)
        found = session.execute(insertion, rows[start : start + ROWS_AT_ONCE])
        made.update({number: grid for number, grid in found})
    for at, images in enumerate(new):
        ids[images].append(made[first + at])
