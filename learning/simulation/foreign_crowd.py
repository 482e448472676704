"""A crowd that shares no structure with the models, with nominal categories and human shortcuts.

Annotators see unordered categories, group by one attribute or by several at once, change their
mind over time, take shortcuts, copy, or answer at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from learning.arrays import BoolArray, FloatArray, IntArray
from learning.groupings import Groupings, from_answers

# The interface has this many groups; images of further ones are left out.
MAX_GROUPS = 10
LAZY_KINDS = ("one_group", "two_groups", "position")
NOISE_KINDS = ("uniform", "restaurant", "position")
_POSITION_WIDTH = 4


@dataclass(frozen=True, eq=False)
class GivenAnswer:
    """images, groups: (S,); used: (A,) attributes that it grouped by, none for a shortcut."""

    annotator: int
    images: IntArray
    groups: IntArray
    used: BoolArray


@dataclass(frozen=True, eq=False)
class Request:
    """What an annotator sees and knows about a grid.

    images: (S,); categories: (N, A) of all images; progress: 0 for the annotator's first
    answer to 1 for the last; earlier: answers of everyone so far.
    """

    images: IntArray
    categories: IntArray
    progress: float
    earlier: Sequence[GivenAnswer]

    @property
    def nothing_used(self) -> BoolArray:
        return np.zeros(self.categories.shape[1], np.bool_)


class Behaviour(Protocol):
    """How one annotator answers. `name` is the annotator's type."""

    @property
    def name(self) -> str: ...

    def answer(self, request: Request, rng: np.random.Generator) -> tuple[IntArray, BoolArray]:
        """(S,) groups and (A,) attributes used."""
        ...


@dataclass(frozen=True, eq=False)
class Categorizer:
    """Two images are grouped together iff they are equal in every attribute of a subset.

    subsets: (M, A) bool, the attributes of each way to answer; start, end: (M,) probability
    of each way at the first and at the last answer, interpolated between them (a drift of
    preference or of granularity); confusion: probability that an image is mistaken for a
    random other one.
    """

    subsets: BoolArray
    start: FloatArray
    end: FloatArray | None = None
    confusion: float = 0.0

    @property
    def name(self) -> str:
        return "careful" if self.end is None else "drifting"

    def answer(self, request: Request, rng: np.random.Generator) -> tuple[IntArray, BoolArray]:
        end = self.start if self.end is None else self.end
        odds = (1 - request.progress) * self.start + request.progress * end
        used = self.subsets[rng.choice(len(odds), p=odds / odds.sum())]
        confused = rng.random(len(request.images)) < self.confusion
        other = rng.integers(0, len(request.categories), len(request.images))
        seen = request.categories[np.where(confused, other, request.images)]
        _, groups = np.unique(seen[:, used], axis=0, return_inverse=True)
        return groups.ravel(), used


@dataclass(frozen=True)
class Lazy:
    """Everything in one group, in two at random, or in blocks of neighbouring positions."""

    kind: str

    @property
    def name(self) -> str:
        return f"lazy, {self.kind}"

    def answer(self, request: Request, rng: np.random.Generator) -> tuple[IntArray, BoolArray]:
        size = len(request.images)
        groups = {
            "one_group": np.zeros(size, np.int64),
            "two_groups": rng.integers(0, 2, size),
            "position": np.arange(size) // _POSITION_WIDTH,
        }[self.kind]
        return groups, request.nothing_used


@dataclass(frozen=True)
class Copier:
    """Repeats the latest answer of `source` that shares images with the grid; images not in it
    form one more group. Without such an answer, alternates between two groups."""

    source: int

    @property
    def name(self) -> str:
        return "copying"

    def answer(self, request: Request, rng: np.random.Generator) -> tuple[IntArray, BoolArray]:
        for given in reversed(request.earlier):
            if given.annotator == self.source and np.isin(given.images, request.images).any():
                known = dict(zip(given.images.tolist(), given.groups.tolist(), strict=True))
                rest = int(given.groups.max()) + 1
                copied = [known.get(image, rest) for image in request.images.tolist()]
                return np.array(copied, np.int64), given.used
        return np.arange(len(request.images)) % 2, request.nothing_used


@dataclass(frozen=True)
class PatternCopier:
    """Repeats the latest answer of another annotator by position, whatever the images are:
    the pattern starts again where the grid is longer. Without one, everything in one group."""

    annotator: int

    @property
    def name(self) -> str:
        return "copying positions"

    def answer(self, request: Request, rng: np.random.Generator) -> tuple[IntArray, BoolArray]:
        size = len(request.images)
        for given in reversed(request.earlier):
            if given.annotator != self.annotator:
                return np.resize(given.groups, size), request.nothing_used
        return np.zeros(size, np.int64), request.nothing_used


@dataclass(frozen=True)
class Noise:
    """Random partitions: "uniform" (every image in any of 2 to 6 groups), "restaurant" (a
    Chinese restaurant process with concentration 1.5) or "position" (runs of neighbouring
    positions with random ends)."""

    kind: str

    @property
    def name(self) -> str:
        return f"noise, {self.kind}"

    def answer(self, request: Request, rng: np.random.Generator) -> tuple[IntArray, BoolArray]:
        draw = {"uniform": _uniform, "restaurant": _restaurant, "position": _runs}[self.kind]
        return draw(len(request.images), rng), request.nothing_used


@dataclass(frozen=True, eq=False)
class ForeignScene:
    """Answers with the truth that only a simulation knows.

    categories: (N, A) nominal values; classes: (N,) images equal in every attribute;
    used: (G, A) attributes that each answer grouped by, none for shortcuts and noise;
    annotator_type: (W,) names of the annotators' behaviours.
    """

    name: str
    groupings: Groupings
    categories: IntArray
    used: BoolArray
    annotator_type: tuple[str, ...]

    @property
    def classes(self) -> IntArray:
        return np.unique(self.categories, axis=0, return_inverse=True)[1].ravel()

    @property
    def attributes(self) -> IntArray:
        """(G, 2) attributes that each answer grouped by, in increasing order, -1 for none.

        Raises ValueError for an answer by more than two.
        """
        count = self.used.sum(axis=1)
        if count.max(initial=0) > 2:
            raise ValueError(
                f"an answer groups by {count.max()} attributes, but at most 2 are supported"
            )
        chosen = np.full((len(self.used), 2), -1, np.int64)
        answer, attribute = np.nonzero(self.used)
        rank = self.used.cumsum(axis=1)[answer, attribute] - 1
        chosen[answer, rank] = attribute
        return chosen


def play(
    name: str,
    categories: IntArray,
    behaviours: Sequence[Behaviour],
    grids: Sequence[IntArray],
    annotators: IntArray,
    seed: int,
) -> ForeignScene:
    """Answer the grids in order, the g-th by annotators[g].

    categories: (N, A); grids: G arrays of image indices. The same seed gives the same scene.
    Raises ValueError when grids and annotators differ in number.
    """
    if len(grids) != len(annotators):
        raise ValueError(f"{len(grids)} grids but {len(annotators)} annotators")
    rng = np.random.default_rng([seed, 11])
    totals = np.bincount(annotators, minlength=len(behaviours))
    done = np.zeros(len(behaviours), np.int64)
    given: list[GivenAnswer] = []
    for images, annotator in zip(grids, annotators.tolist(), strict=True):
        progress = float(done[annotator] / max(1, totals[annotator] - 1))
        request = Request(images, categories, progress, given)
        groups, used = behaviours[annotator].answer(request, rng)
        given.append(GivenAnswer(annotator, images, _within_limit(groups), used))
        done[annotator] += 1
    answers = from_answers(
        [answer.images for answer in given],
        [answer.groups for answer in given],
        annotators,
        len(categories),
        len(behaviours),
    )
    used_by_answer = np.array([answer.used for answer in given]).reshape(len(given), -1)
    types = tuple(behaviour.name for behaviour in behaviours)
    return ForeignScene(name, answers, categories, used_by_answer, types)


def _within_limit(groups: IntArray) -> IntArray:
    """The same groups, with images of all but the ten largest left out."""
    numbers, counts = np.unique(groups[groups >= 0], return_counts=True)
    kept = numbers[np.argsort(-counts, kind="stable")[:MAX_GROUPS]]
    return np.where(np.isin(groups, kept), groups, -1)


def _uniform(size: int, rng: np.random.Generator) -> IntArray:
    return rng.integers(0, rng.integers(2, 7), size)


def _restaurant(size: int, rng: np.random.Generator) -> IntArray:
    groups: list[int] = []
    for _ in range(size):
        counts = [*np.bincount(np.array(groups, np.int64)).tolist(), 1.5]
        odds = np.array(counts, np.float64)
        groups.append(int(rng.choice(len(odds), p=odds / odds.sum())))
    return np.array(groups, np.int64)


def _runs(size: int, rng: np.random.Generator) -> IntArray:
    n_ends = int(rng.integers(1, max(2, size // 3) + 1))
    ends = np.sort(rng.choice(size, min(n_ends, size), replace=False))
    return np.searchsorted(ends, np.arange(size)).astype(np.int64)
