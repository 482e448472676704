"""The grids of imported answers.

Answers to the same images in the same order share a grid, so that annotators can be compared. A
person who has already answered a grid gets another one with the same images, because the database
holds only one answer of an annotator to a grid.
"""

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import func, insert, select, update
from sqlalchemy.orm import Session

from app.annotation.models import Answer
from app.campaigns.models import Grid, Round

ROWS_AT_ONCE = 2_000
Shown = tuple[int, ...]
# Images, and the number of the grid that shows them. An annotator's second answer to the same
# images goes to the second such grid.
Place = tuple[Shown, int]


def grids_of(session: Session, into: Round, asked: Sequence[tuple[UUID, Shown]]) -> list[int]:
    """Return the key of the grid of each answer, given by annotator and images. New grids are
    written to the round `into`, and each grid counts its answers."""
    known, counts, seen = _grids_so_far(session, into)
    places: list[Place] = []
    for annotator, images in asked:
        places.append((images, seen[annotator, images]))
        seen[annotator, images] += 1
    more = Counter(places)
    _count(
        session, {known[place]: counts[place] + n for place, n in more.items() if place in known}
    )
    known |= _added(session, into, [(place, n) for place, n in more.items() if place not in known])
    return [known[place] for place in places]


def _grids_so_far(
    session: Session, into: Round
) -> tuple[dict[Place, int], Counter[Place], Counter[tuple[UUID, Shown]]]:
    """Return the round's grids by key, their numbers of answers, and how often each annotator has
    answered which images."""
    known: dict[Place, int] = {}
    places: dict[int, Place] = {}
    grids: Counter[Shown] = Counter()
    counts: Counter[Place] = Counter()
    seen: Counter[tuple[UUID, Shown]] = Counter()
    query = select(Grid.id, Grid.images, Answer.annotator_id)
    query = query.join(Answer, Answer.grid_id == Grid.id).where(Grid.round_id == into.id)
    for grid, listed, annotator in session.execute(query.order_by(Grid.number)):
        images = tuple(listed)
        if grid not in places:
            places[grid] = (images, grids[images])
            known[places[grid]] = grid
            grids[images] += 1
        counts[places[grid]] += 1
        seen[annotator, images] += 1
    return known, counts, seen


def _count(session: Session, totals: dict[int, int]) -> None:
    rows = [{"id": grid, "wanted": n, "n_answers": n} for grid, n in totals.items()]
    for start in range(0, len(rows), ROWS_AT_ONCE):
        session.execute(update(Grid), rows[start : start + ROWS_AT_ONCE])


def _added(session: Session, into: Round, new: Sequence[tuple[Place, int]]) -> dict[Place, int]:
    """Insert grids with their numbers of answers and return their keys."""
    highest = session.scalar(select(func.max(Grid.number)).where(Grid.round_id == into.id))
    first = 0 if highest is None else highest + 1
    added: dict[Place, int] = {}
    for start in range(0, len(new), ROWS_AT_ONCE):
        batch = new[start : start + ROWS_AT_ONCE]
        rows = [
            {
                "round_id": into.id,
                "campaign_id": into.campaign_id,
                "number": first + start + at,
                "images": list(images),
                "wanted": n,
                "n_answers": n,
            }
            for at, ((images, _), n) in enumerate(batch)
        ]
        inserted = session.execute(insert(Grid).returning(Grid.number, Grid.id), rows)
        for number, grid in inserted:
            added[new[number - first][0]] = grid
    return added
