"""Streams the pairs and triplets that follow from the answers; see docs/exports.md."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.core.cells import csv_line
from app.kinds import Kind, kind_of
from app.results.answers import AnswerRow, read_answers

PAIR_COLUMNS = ["annotator", "grid", "i", "j", "same"]
TRIPLET_COLUMNS = ["anchor", "near", "far"]
PER_ANSWER = 100
# Number of pairs in one piece of the file, so that large grids do not need more memory than small
# ones.
ANSWERS_AT_ONCE = 250
BARE = pyarrow.csv.WriteOptions(include_header=False)
BARE_SPACED = pyarrow.csv.WriteOptions(include_header=False, delimiter=" ")


def pairs_csv(session: Session, campaign: Campaign) -> Iterator[bytes]:
    """Yield one line per informative pair: `same` is 1 for images in one group and 0 for others.
    Two leftovers are not a pair."""
    yield csv_line(PAIR_COLUMNS).encode()
    for rows in answers_by_size(session, campaign):
        images, groups = arrays_of(rows)
        first, second = compared_places(images.shape[1], kind_of(campaign))
        known = (groups[:, first] >= 0) | (groups[:, second] >= 0)
        known &= (images[:, first] >= 0) & (images[:, second] >= 0)
        same = (groups[:, first] == groups[:, second])[known].astype(np.int8)
        answer = np.nonzero(known)[0]
        annotators = np.array([row.annotator for row in rows])[answer]
        grids = np.array([row.grid for row in rows])[answer]
        pair = [images[:, first][known], images[:, second][known]]
        yield _csv([annotators, grids, *pair, same], BARE)


def compared_places(size: int, kind: Kind) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of the pairs about which an answer to a grid of so many images says
    something: all of them, or those with the first image, if the others are compared with it."""
    first, second = np.triu_indices(size, 1)
    n = size - 1 if kind.has_reference else len(first)
    return first[:n], second[:n]


def triplets_csv(session: Session, campaign: Campaign, per_answer: int) -> Iterator[bytes]:
    """Yield lines of anchor, near, far: the anchor was grouped with near and not with far.

    This is the order of cblearn's list-order arrays (n, 3). There are at most `per_answer` of each
    answer, drawn at random but the same every time, because one grid of 24 has about 2,000.
    """
    yield csv_line(TRIPLET_COLUMNS).encode()
    for triplets in _drawn_triplets(session, campaign, per_answer, both_ways=True):
        yield _csv(triplets, BARE)


def trainset_txt(session: Session, campaign: Campaign, per_answer: int) -> Iterator[bytes]:
    """Yield lines of three images, of which the third is the odd one out, separated by spaces.

    This is the form of the THINGS data (Hebart et al. 2020), without a header. The number of lines
    of each answer is limited as in `triplets_csv`.
    """
    for triplets in _drawn_triplets(session, campaign, per_answer, both_ways=False):
        yield _csv(triplets, BARE_SPACED)


def _drawn_triplets(
    session: Session, campaign: Campaign, per_answer: int, *, both_ways: bool
) -> Iterator[list[NDArray[np.int64]]]:
    """Yield (n,) anchors, (n,) near and (n,) far images. Each pair that belongs together is in one
    order or in both, unless only the first image of a grid is an anchor."""
    only_first = kind_of(campaign).has_reference
    for rows in answers_by_size(session, campaign):
        images, groups = arrays_of(rows)
        size = images.shape[1]
        order = ~np.eye(size, dtype=np.bool_) if both_ways else ~np.tri(size, dtype=np.bool_)
        if only_first:
            order[1:] = False
        # These values are part of an archive, so that a restored campaign gives the same triplets.
        seeds = [[campaign.seed, row.annotator, *row.images] for row in rows]
        places, answer = _triplets(groups, images >= 0, order, per_answer, seeds)
        yield [images[answer, place] for place in places]


def _triplets(
    groups: NDArray[np.int64],
    seen: NDArray[np.bool_],
    order: NDArray[np.bool_],
    most: int,
    seeds: list[list[int]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (3, n) places in the grid (anchor and near in one group, far in another or in none),
    and (n,) the indices of their answers.

    groups, seen: (B, S). order: (S, S) which places can be anchor and near. All triplets are
    numbered, answer by answer and pair by pair. Those drawn are computed from their numbers,
    without enumerating the others.
    """
    same_group = (groups[:, :, None] == groups[:, None, :]) & (groups >= 0)[:, None, :]
    same_group &= seen[:, :, None] & seen[:, None, :] & order
    answer, anchor, near = np.nonzero(same_group)
    apart = (groups[answer] != groups[answer, anchor][:, None]) & seen[answer]
    fars = apart.sum(1)
    ends = np.cumsum(fars)
    totals = np.bincount(answer, fars, len(groups)).astype(np.int64)
    drawn = [_drawn(total, most, seed) for total, seed in zip(totals, seeds, strict=True)]
    firsts = np.repeat(np.cumsum(totals) - totals, [len(numbers) for numbers in drawn])
    numbers = np.concatenate(drawn) + firsts
    pair = np.searchsorted(ends, numbers, side="right")
    rank = numbers - (ends - fars)[pair]
    # Return the place of the rank-th image that is apart from the pair.
    far = np.argmax(np.cumsum(apart[pair], 1) > rank[:, None], 1)
    return np.stack([anchor[pair], near[pair], far]), answer[pair]


def _drawn(total: int, most: int, seed: list[int]) -> NDArray[np.int64]:
    """Draw at most `most` of the numbers below `total`, in ascending order."""
    if total <= most:
        return np.arange(total)
    return np.sort(np.random.default_rng(seed).choice(total, most, replace=False))


def answers_by_size(session: Session, campaign: Campaign) -> Iterator[Sequence[AnswerRow]]:
    """Yield answers of annotators who are not left out, with those of one size together."""
    for rows in read_answers(session, campaign, left_out=False):
        for start in range(0, len(rows), ANSWERS_AT_ONCE):
            some = rows[start : start + ANSWERS_AT_ONCE]
            for _, same_size in groupby(some, lambda row: len(row.images)):
                yield list(same_size)


def arrays_of(rows: Sequence[AnswerRow]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (B, S) images, −1 for those that the annotator could not see, and their groups."""
    images = np.array([row.images for row in rows], np.int64)
    groups = np.array([row.groups for row in rows], np.int64)
    for at, row in enumerate(rows):
        if row.unseen:
            images[at, np.isin(images[at], row.unseen)] = -1
    return images, groups


def _csv(columns: list[NDArray[Any]], options: pyarrow.csv.WriteOptions) -> bytes:
    """Write lines of numbers."""
    table = pa.table({str(at): column for at, column in enumerate(columns)})
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(table, sink, options)
    return bytes(sink.getvalue())
