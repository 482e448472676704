"""Known answers: grids with groups that everyone should find, for practice and for gold grids.

They are made from an attribute of the collection (images with the same value belong together) or
come from a requester's own list.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from sqlalchemy import ARRAY, Text, and_, cast, func, or_, select, true
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.campaigns import hooks
from app.campaigns.annotation_settings import annotation_of
from app.campaigns.models import Campaign, Grid
from app.collections.models import Collection, Image
from app.core.database import locked
from app.kinds import kind_of
from app.kinds.known import BadKnownAnswers, KnownAnswer, check_sizes, read_table

PRACTICE_SIZE = 12
MOST_VALUES = 200
KNOWN_SETTINGS = ("annotation.known_value", "annotation.known_attribute")


def values_of(session: Session, campaign: Campaign, attribute: str) -> dict[str, list[int]]:
    """Return the positions of the campaign's images by value of an attribute, without images that
    lack it."""
    query = select(Image.position, Image.attributes[attribute].astext).where(
        Image.collection_id == campaign.collection_id, Image.attributes.has_key(attribute)
    )
    values: dict[str, list[int]] = defaultdict(list)
    for position, value in session.execute(query.order_by(Image.position)):
        if value and (not campaign.n_images or position < campaign.n_images):
            values[value].append(position)
    return dict(values)


def frequent_values(
    session: Session, campaign: Campaign, attributes: Sequence[str]
) -> dict[str, list[str]]:
    """Return the values that the campaign's images have of each attribute, the most frequent
    first, at most MOST_VALUES of each."""
    each = (select(func.unnest(cast(list(attributes), ARRAY(Text))).label("name"))).subquery()
    value = Image.attributes[each.c.name].astext
    of_campaign = Image.position < campaign.n_images if campaign.n_images else true()
    most_first = (func.count().desc(), value)
    rank = func.row_number().over(partition_by=each.c.name, order_by=most_first)
    ranked = (
        select(each.c.name, value.label("value"), rank.label("rank"))
        .join(Image, Image.attributes.has_key(each.c.name))
        .where(Image.collection_id == campaign.collection_id, of_campaign, value != "")
        .group_by(each.c.name, value)
    ).subquery()
    query = (
        select(ranked.c.name, ranked.c.value)
        .where(ranked.c.rank <= MOST_VALUES)
        .order_by(ranked.c.name, ranked.c.rank)
    )
    values: dict[str, list[str]] = {name: [] for name in attributes}
    for name, text in session.execute(query):
        values[name].append(text)
    return values


def require_known(session: Session, campaign: Campaign) -> None:
    """Raise BadKnownAnswers if practice or gold grids are wanted but there are too few known
    answers."""
    settings = annotation_of(campaign.annotation)
    if settings.known_attribute:
        values = values_of(session, campaign, settings.known_attribute)
        try:
            _from_values(campaign, values, campaign.grid_size, 0)
        except BadKnownAnswers as error:
            raise BadKnownAnswers(
                f"{settings.known_attribute!r}: {error}", fields=KNOWN_SETTINGS
            ) from error
    elif settings.practice or settings.gold_share:
        usable = or_(Grid.role == "practice", and_(Grid.role == "gold", ~hooks.handed_out()))
        n_usable = session.scalar(
            select(func.count()).where(Grid.campaign_id == campaign.id, usable)
        )
        needed = settings.practice + bool(settings.gold_share)
        if not n_usable or n_usable < needed:
            raise BadKnownAnswers(
                "Practice and gold grids need known answers. Choose a collection attribute, or "
                f"add a list of at least {needed} known answers that nobody has seen yet.",
                fields=["annotation.practice", "annotation.gold_share"],
            )


def prepare_practice(session: Session, campaign: Campaign) -> None:
    """Create or reserve all practice grids. The caller must hold the campaign's row lock."""
    for number in range(annotation_of(campaign.annotation).practice):
        if practice_grid(session, campaign, number) is None:
            raise BadKnownAnswers(
                f"There is no known answer for practice grid {number + 1}. Add known answers, or "
                "choose fewer practice grids."
            )


def known_grid(session: Session, campaign: Campaign, role: str, number: int) -> Grid | None:
    """Create a grid from the campaign's attribute, or return None if it has none."""
    settings = annotation_of(campaign.annotation)
    if not settings.known_attribute:
        return None
    seed = [campaign.seed, {"practice": 1, "gold": 2}[role], number]
    size = min(campaign.grid_size, PRACTICE_SIZE) if role == "practice" else campaign.grid_size
    values = values_of(session, campaign, settings.known_attribute)
    known = _from_values(campaign, values, size, seed)
    return _add(session, campaign, role, number, known)


def _from_values(
    campaign: Campaign, values: dict[str, list[int]], size: int, seed: int | list[int]
) -> KnownAnswer:
    wanted = annotation_of(campaign.annotation).known_value
    rng = np.random.default_rng(seed)
    kind = kind_of(campaign)
    return kind.known_from_values(values, wanted, size, campaign.max_groups, rng)


def _add(session: Session, campaign: Campaign, role: str, number: int, known: KnownAnswer) -> Grid:
    """Return the grid with this number: a new one, or the one that another request created at the
    same moment."""
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
    """Return practice grid `number`, which is the same for everyone, or None if no known answer is
    left."""
    query = select(Grid).where(
        Grid.campaign_id == campaign.id, Grid.role == "practice", Grid.number == number
    )
    grid = session.scalar(query) or known_grid(session, campaign, "practice", number)
    if grid is not None:
        return grid
    listed = _next_listed(session, campaign)
    # Another request may have reserved one while this one waited for its lock.
    grid = session.scalar(query)
    if grid is None and listed is not None:
        # The grid is no longer a gold grid.
        listed.role, listed.number, grid = "practice", number, listed
    return grid


def _next_listed(session: Session, campaign: Campaign) -> Grid | None:
    """Return the first grid of the requester's list that nobody has seen, locked."""
    unused = select(Grid).where(
        Grid.campaign_id == campaign.id, Grid.role == "gold", ~hooks.handed_out()
    )
    return session.scalar(unused.order_by(Grid.number).limit(1).with_for_update())


def add_known_answers(session: Session, campaign: Campaign, table: bytes) -> int:
    """Read a CSV file with the columns grid, filename and group and one line per image. Return the
    number of grids.

    Raises BadKnownAnswers with the line or grid that is wrong; then nothing is added.
    """
    # The collection is locked because positions change when images are deleted.
    collection = locked(session, Collection, campaign.collection_id)
    images = session.execute(
        select(Image.filename, Image.position).where(Image.collection_id == collection.id)
    )
    position_of = {filename: position for filename, position in images}
    rows = read_table(table, position_of)
    check_sizes(rows, campaign.grid_size)
    grids = kind_of(campaign).known_from_table(rows, campaign.max_groups)
    last = session.scalar(
        select(func.max(Grid.number)).where(Grid.campaign_id == campaign.id, Grid.role == "gold")
    )
    first = 0 if last is None else last + 1
    for index, known in enumerate(grids):
        _add(session, campaign, "gold", first + index, known)
    return len(grids)
