"""Making known answers from the values of an attribute, or reading them from a table."""

import csv
import io
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from app.campaigns.kinds import KINDS
from app.campaigns.models import Campaign
from app.core.errors import InvalidInput
from learning.ballots import CHOICES, NO, YES

MOST_GROUPS = 4
COLUMNS = ("grid", "filename", "group")


class BadKnownAnswers(InvalidInput):
    """The known answers cannot be used."""

    code = "bad_known_answers"


@dataclass(frozen=True)
class KnownAnswer:
    """A grid with its known answer: `images` are positions in the campaign, and `truth` is the
    group of each."""

    images: list[int]
    truth: list[int]


def known_from_values(
    values: dict[str, list[int]], size: int, max_groups: int, rng: np.random.Generator
) -> KnownAnswer:
    """Return a grid of `size` images with a few values of an attribute, in random places.

    It uses as many values as it needs to fill the grid: two to four if they are enough. `values`
    has the positions of the images with each value. Raises BadKnownAnswers if fewer than two values
    have at least two images, or if there are too few images in all.
    """
    usable = [value for value, images in sorted(values.items()) if len(images) > 1]
    most = min(max_groups, len(usable), size // 2)
    if most < 2:
        raise BadKnownAnswers(
            "Known answers need an attribute with at least two values that have at least two "
            "images each."
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
    """Return how many images each value gets, as evenly as possible. Raises BadKnownAnswers."""
    if sum(available) < size:
        raise BadKnownAnswers(
            f"Known answers need {size} images with the attribute's most frequent values. There "
            f"are only {sum(available)}."
        )
    shares = [0] * len(available)
    while sum(shares) < size:
        unfilled = [k for k, n in enumerate(available) if shares[k] < n]
        fewest = min(unfilled, key=lambda k: shares[k])
        shares[fewest] += 1
    return shares


def known_votes(
    values: dict[str, list[int]], yes: str, size: int, rng: np.random.Generator
) -> KnownAnswer:
    """Return a grid of `size` images in random places. If possible, a quarter to a half of them
    have the value `yes` of an attribute and should be ticked.

    `values` has the positions of the images with each value. Raises BadKnownAnswers if no image has
    the value, no image has another value, or there are too few images in all.
    """
    shown = values.get(yes, [])
    others = [image for value, images in values.items() if value != yes for image in images]
    if not shown or not others or len(shown) + len(others) < size:
        raise BadKnownAnswers(
            f"Known answers need {size} images with the attribute, some with the value {yes!r} "
            f"and some with others. There are {len(shown)} and {len(others)}. Its values are "
            f"{', '.join(map(repr, sorted(values)))[:200]}."
        )
    wanted = int(rng.integers(max(1, size // 4), max(1, size // 2) + 1))
    n_shown = min(max(wanted, size - len(others), 1), len(shown), size - 1)
    votes = [(int(image), YES) for image in rng.permutation(shown)[:n_shown]]
    votes += [(int(image), NO) for image in rng.permutation(others)[: size - n_shown]]
    order = rng.permutation(len(votes))
    return KnownAnswer([votes[k][0] for k in order], [votes[k][1] for k in order])


def read_known(table: bytes, position_of: dict[str, int], campaign: Campaign) -> list[KnownAnswer]:
    """Return the grids of a CSV file with the columns grid, filename and group and one line per
    image. For votes, the group is yes or no. Raises BadKnownAnswers with the line or grid that is
    wrong."""
    is_vote = KINDS[campaign.kind].votes
    grids = _read_table(table, position_of, is_vote)
    for name, known in grids.items():
        _check_size(name, known, campaign)
        _check_votes(name, known) if is_vote else _check_groups(name, known, campaign)
    return list(grids.values())


def _read_table(table: bytes, position_of: dict[str, int], is_vote: bool) -> dict[str, KnownAnswer]:
    try:
        lines = csv.DictReader(io.StringIO(table.decode("utf-8-sig"), newline=""), strict=True)
        names = tuple(lines.fieldnames or ())
        if not set(COLUMNS) <= set(names):
            raise BadKnownAnswers(
                f"The table needs the columns {', '.join(COLUMNS)}. It has "
                f"{', '.join(names)[:200] or 'none'}."
            )
        grids: dict[str, KnownAnswer] = {}
        groups: dict[str, dict[str, int]] = defaultdict(dict)
        for line in lines:
            grid, filename, group = (str(line[name] or "").strip() for name in COLUMNS)
            if filename not in position_of:
                raise BadKnownAnswers(
                    f"Line {lines.line_num}: The collection has no image {filename[:200]!r}."
                )
            number = (
                _vote(group, lines.line_num)
                if is_vote
                else groups[grid].setdefault(group, len(groups[grid]))
            )
            known = grids.setdefault(grid, KnownAnswer([], []))
            known.images.append(position_of[filename])
            known.truth.append(number)
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadKnownAnswers(f"The table is not valid CSV in UTF-8: {error}.") from error
    if not grids:
        raise BadKnownAnswers("The table is empty.")
    return grids


def _vote(vote: str, line: int) -> int:
    if vote.lower() not in CHOICES[:2]:
        raise BadKnownAnswers(f"Line {line}: The group must be yes or no, not {vote[:200]!r}.")
    return CHOICES.index(vote.lower())


def _check_size(name: str, known: KnownAnswer, campaign: Campaign) -> None:
    if len(set(known.images)) != len(known.images):
        raise BadKnownAnswers(f"Grid {name!r} names an image twice.")
    if len(known.images) != campaign.grid_size:
        raise BadKnownAnswers(
            f"Grid {name!r} has {len(known.images)} images. It must have {campaign.grid_size} "
            "like all grids of this campaign, so that annotators don't recognise it as a check."
        )


def _check_votes(name: str, known: KnownAnswer) -> None:
    if len(set(known.truth)) < 2:
        raise BadKnownAnswers(
            f"Grid {name!r} needs images with the group yes and images with the group no. "
            "Otherwise the same answer for all images would be right."
        )


def _check_groups(name: str, known: KnownAnswer, campaign: Campaign) -> None:
    n_groups = max(known.truth) + 1
    if not 2 <= n_groups <= campaign.max_groups or n_groups == len(known.images):
        raise BadKnownAnswers(
            f"Grid {name!r} has {n_groups} groups of {len(known.images)} images. It needs 2 to "
            f"{campaign.max_groups} groups, one of them with at least two images."
        )
