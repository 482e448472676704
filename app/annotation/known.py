"""Known answers: grids whose groups everybody should find, for practice and for gold grids.

They come from an attribute of the collection (images with the same value belong together) or from
a requester's own list.
"""

import csv
import io
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from sqlalchemy import and_, func, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.annotation.models import Answer
from app.annotation.settings import annotation_of
from app.campaigns.models import Campaign, Grid
from app.collections.models import Collection, Image
from app.core.database import locked
from app.core.errors import InvalidInput

MOST_GROUPS = 4
PRACTICE_SIZE = 12
COLUMNS = ("grid", "filename", "group")


class BadKnownAnswers(InvalidInput):
    """Known answers that cannot be used."""

    code = "bad_known_answers"


@dataclass(frozen=True)
class KnownAnswer:
    """images: dense positions; truth: the group of each."""

    images: list[int]
    truth: list[int]


def known_from_values(
    values: dict[str, list[int]], size: int, max_groups: int, rng: np.random.Generator
) -> KnownAnswer:
    """A grid of `size` images with a few values of an attribute, in random places.

    As many values as it takes to fill the grid, two to four where these suffice.
    values: positions of the images with each value. Raises BadKnownAnswers when fewer than two
    values have two images or more, or all together have too few.
    """
    usable = [value for value, images in sorted(values.items()) if len(images) > 1]
    most = min(max_groups, len(usable), size // 2)
    if most < 2:
        raise BadKnownAnswers(
            "Known answers need an attribute with two values or more, each of two images or more."
        )
    n_groups = int(rng.integers(2, min(MOST_GROUPS, most) + 1))
    order_of = rng.permutation(len(usable))
    chosen = [values[usable[which]] for which in order_of[:n_groups]]
    for which in order_of[n_groups:most]:
        if sum(map(len, chosen)) >= size:
            break
        chosen.append(values[usable[which]])
    if sum(map(len, chosen)) < size:
        chosen = sorted((values[value] for value in usable), key=len)[-most:]
    shares = _shares([len(images) for images in chosen], size)
    placed = [
        (int(image), group)
        for group, (images, share) in enumerate(zip(chosen, shares, strict=True))
        for image in rng.permutation(images)[:share]
    ]
    order = rng.permutation(len(placed))
    return KnownAnswer([placed[k][0] for k in order], [placed[k][1] for k in order])


def _shares(available: list[int], size: int) -> list[int]:
    """How many images of each value, as evenly as there are enough; raises BadKnownAnswers."""
    if sum(available) < size:
        raise BadKnownAnswers(
            f"Known answers need {size} images with the attribute's largest values; there are "
            f"{sum(available)}."
        )
    shares = [0] * len(available)
    while sum(shares) < size:
        open_ones = [k for k, n in enumerate(available) if shares[k] < n]
        fewest = min(open_ones, key=lambda k: shares[k])
        shares[fewest] += 1
    return shares


def values_of(session: Session, campaign: Campaign, attribute: str) -> dict[str, list[int]]:
    """Positions of the campaign's images by value of an attribute; those without it left out."""
    query = select(Image.position, Image.attributes[attribute].astext).where(
        Image.collection_id == campaign.collection_id, Image.attributes.has_key(attribute)
    )
    values: dict[str, list[int]] = defaultdict(list)
    for position, value in session.execute(query.order_by(Image.position)):
        if value and (not campaign.n_images or position < campaign.n_images):
            values[value].append(position)
    return dict(values)


def require_known(session: Session, campaign: Campaign) -> None:
    """Raises BadKnownAnswers when practice or gold grids are wanted and nothing is known."""
    settings = annotation_of(campaign.annotation)
    if settings.known_attribute:
        values = values_of(session, campaign, settings.known_attribute)
        try:
            known_from_values(
                values, campaign.grid_size, campaign.max_groups, np.random.default_rng(0)
            )
        except BadKnownAnswers as error:
            raise BadKnownAnswers(f"{settings.known_attribute!r}: {error}") from error
    elif settings.practice or settings.gold_share:
        shown = select(Answer.id).where(Answer.grid_id == Grid.id)
        usable = or_(Grid.role == "practice", and_(Grid.role == "gold", ~shown.exists()))
        n_usable = session.scalar(
            select(func.count()).where(Grid.campaign_id == campaign.id, usable)
        )
        needed = settings.practice + bool(settings.gold_share)
        if not n_usable or n_usable < needed:
            raise BadKnownAnswers(
                "Practice and gold grids need known answers: choose an attribute of the "
                f"collection, or add a list of at least {needed} that nobody has seen yet."
            )


def prepare_practice(session: Session, campaign: Campaign) -> None:
    """Make or set aside all practice grids; the caller holds the campaign's row lock."""
    for number in range(annotation_of(campaign.annotation).practice):
        if practice_grid(session, campaign, number) is None:
            raise BadKnownAnswers(f"There is no known answer for practice grid {number + 1}.")


def known_grid(session: Session, campaign: Campaign, role: str, number: int) -> Grid | None:
    """A new grid made from the campaign's attribute, or None if it has none."""
    settings = annotation_of(campaign.annotation)
    if not settings.known_attribute:
        return None
    seed = [campaign.seed, {"practice": 1, "gold": 2}[role], number]
    size = min(campaign.grid_size, PRACTICE_SIZE) if role == "practice" else campaign.grid_size
    values = values_of(session, campaign, settings.known_attribute)
    known = known_from_values(values, size, campaign.max_groups, np.random.default_rng(seed))
    return _add(session, campaign, role, number, known)


def _add(session: Session, campaign: Campaign, role: str, number: int, known: KnownAnswer) -> Grid:
    """The grid with this number: new, or the one that somebody else made at the same moment."""
    row = {
        "campaign_id": campaign.id,
        "role": role,
        "number": number,
        "images": known.images,
        "truth": known.truth,
        "wanted": 1,
    }
    of_this_number = (
        Grid.campaign_id == campaign.id, Grid.role == role, Grid.number == number
    )  # fmt: skip
    session.execute(insert(Grid).values(row).on_conflict_do_nothing())
    return session.scalars(select(Grid).where(*of_this_number)).one()


def practice_grid(session: Session, campaign: Campaign, number: int) -> Grid | None:
    """Practice grid `number`, the same for everybody; None when no known answer is left."""
    query = select(Grid).where(
        Grid.campaign_id == campaign.id, Grid.role == "practice", Grid.number == number
    )
    found = session.scalar(query) or known_grid(session, campaign, "practice", number)
    if found is not None:
        return found
    listed = _next_listed(session, campaign)
    # Whoever came at the same moment may have set one aside while this waited for its lock.
    found = session.scalar(query)
    if found is None and listed is not None:
        # No gold grid any more.
        listed.role, listed.number, found = "practice", number, listed
    return found


def _next_listed(session: Session, campaign: Campaign) -> Grid | None:
    """The first grid of the requester's list that nobody has seen, locked."""
    shown = select(Answer.id).where(Answer.grid_id == Grid.id)
    unused = select(Grid).where(
        Grid.campaign_id == campaign.id, Grid.role == "gold", ~shown.exists()
    )
    return session.scalar(unused.order_by(Grid.number).limit(1).with_for_update())


def add_known_answers(session: Session, campaign: Campaign, table: bytes) -> int:
    """Take in a CSV with columns grid, filename, group: one line per image; returns how many grids.

    Raises BadKnownAnswers naming the line or grid that is wrong; then nothing is taken in.
    """
    # Locked: positions move when images are deleted.
    collection = locked(session, Collection, campaign.collection_id)
    rows = session.execute(
        select(Image.filename, Image.position).where(Image.collection_id == collection.id)
    )
    position_of = {filename: position for filename, position in rows}
    found = _read_table(table, position_of)
    for name, known in found.items():
        _check_known(name, known, campaign)
    last = session.scalar(
        select(func.max(Grid.number)).where(Grid.campaign_id == campaign.id, Grid.role == "gold")
    )
    first = 0 if last is None else last + 1
    for index, known in enumerate(found.values()):
        _add(session, campaign, "gold", first + index, known)
    return len(found)


def _read_table(table: bytes, position_of: dict[str, int]) -> dict[str, KnownAnswer]:
    try:
        lines = csv.DictReader(io.StringIO(table.decode("utf-8-sig"), newline=""), strict=True)
        names = tuple(lines.fieldnames or ())
        if not set(COLUMNS) <= set(names):
            raise BadKnownAnswers(
                f"The table needs the columns {', '.join(COLUMNS)}; it has "
                f"{', '.join(names)[:200] or 'none'}."
            )
        found: dict[str, KnownAnswer] = {}
        groups: dict[str, dict[str, int]] = defaultdict(dict)
        for line in lines:
            grid, filename, group = (str(line[name] or "").strip() for name in COLUMNS)
            if filename not in position_of:
                raise BadKnownAnswers(
                    f"Line {lines.line_num}: the collection has no image {filename[:200]!r}."
                )
            number = groups[grid].setdefault(group, len(groups[grid]))
            known = found.setdefault(grid, KnownAnswer([], []))
            known.images.append(position_of[filename])
            known.truth.append(number)
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadKnownAnswers(f"The table is not CSV in UTF-8: {error}.") from error
    if not found:
        raise BadKnownAnswers("The table has no lines.")
    return found


def _check_known(name: str, known: KnownAnswer, campaign: Campaign) -> None:
    n_groups = max(known.truth) + 1
    if len(set(known.images)) != len(known.images):
        raise BadKnownAnswers(f"Grid {name!r} names an image twice.")
    if len(known.images) != campaign.grid_size:
        raise BadKnownAnswers(
            f"Grid {name!r} has {len(known.images)} images; it must have {campaign.grid_size}, as "
            "all grids of this campaign, or annotators would know it for a check."
        )
    if not 2 <= n_groups <= campaign.max_groups or n_groups == len(known.images):
        raise BadKnownAnswers(
            f"Grid {name!r} has {n_groups} groups of {len(known.images)} images; it needs 2 to "
            f"{campaign.max_groups} groups, one of them with two images or more."
        )
