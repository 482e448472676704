"""A crowd that groups by attributes: preferences, salience, level of detail, kinds of noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, softmax  # type: ignore[import-untyped, unused-ignore]

from learning.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    as_index_array,
    check_index_range,
)
from learning.groupings import Groupings

# What an answer that is not about one of the attributes does.
NOISE_KINDS = ("one_group", "random_groups", "other_attribute")
_SALIENCE_SAMPLE = 2_000
_BLOCK = 4_096


@dataclass(frozen=True, eq=False)
class GradedAttribute:
    """An attribute as a line on which every image has a place.

    positions: (N,) float64; cuts: increasing places where a fine grouping divides;
    coarse_cuts: those of them at which a coarse grouping divides, too;
    words: one for each of the len(cuts) + 1 fine groups, in order of position.
    """

    name: str
    positions: FloatArray
    cuts: FloatArray
    coarse_cuts: FloatArray
    words: tuple[str, ...] = ()

    def levels(self, fine: bool) -> FloatArray:
        """Cuts of one level of detail."""
        return self.cuts if fine else self.coarse_cuts

    def word(self, group: int, fine: bool) -> str:
        """What an annotator calls one group of this level of detail."""
        if not self.words:
            return f"{self.name} {group + 1}"
        if fine:
            return self.words[group]
        edges = np.concatenate(
            [[-1], np.searchsorted(self.cuts, self.coarse_cuts), [len(self.cuts)]]
        )
        return " or ".join(self.words[edges[group] + 1 : edges[group + 1] + 1])


@dataclass(frozen=True, eq=False)
class Choices:
    """What each answer was about, as only a simulation knows.

    attribute: (G,) index, -1 for a noisy answer; noise: (G,) index into NOISE_KINDS, -1
    for none; fine: (G,) bool, the fine level of detail rather than the coarse one.
    """

    attribute: IntArray
    noise: IntArray
    fine: BoolArray


@dataclass(frozen=True, eq=False)
class AttributeCrowd:
    """Annotators 0..W-1 who see one collection through the same attributes.

    An answer about attribute k is chosen with log odds log(preference) + salience * z_k,
    z_k being the standardised spread of the grid's images along k (CEN section 3.1.2:
    what varies stands out). The annotator sees each image at its position plus
    `perception` times a normal deviate and groups at the cuts of their level of detail.

    attributes:   A graded attributes of one collection
    preferences:  (W, A) rows that sum to 1
    fineness:     (W,) probability of a fine grouping
    carelessness: (W,) probability of a noisy answer, of a kind by `noise_mix` (3,)
    other:        attributes outside the A that "other_attribute" answers use
    slips:        probability that an image goes to a random group of the answer
    leftovers:    probability that an image is left out
    """

    attributes: Sequence[GradedAttribute]
    preferences: FloatArray
    fineness: FloatArray
    carelessness: FloatArray
    salience: float = 0.0
    perception: float = 0.0
    slips: float = 0.0
    leftovers: float = 0.0
    noise_mix: tuple[float, float, float] = (1 / 3, 1 / 3, 1 / 3)
    other: Sequence[GradedAttribute] = field(default=())
    max_groups: int = 10
    random_state: int = 0

    def __post_init__(self) -> None:
        sizes = {len(a.positions) for a in [*self.attributes, *self.other]}
        if len(sizes) != 1:
            raise ValueError(f"attributes must be about one collection, got {sorted(sizes)} images")
        if self.preferences.shape != (self.n_annotators, len(self.attributes)):
            raise ValueError(
                f"preferences must be ({self.n_annotators}, {len(self.attributes)}), "
                f"got {self.preferences.shape}"
            )
        rng = np.random.default_rng([self.random_state, 7])
        sample = rng.integers(0, self.n_images, (_SALIENCE_SAMPLE, 24))
        spread = self._spread(sample)
        object.__setattr__(self, "_spread_mean", spread.mean(axis=0))
        object.__setattr__(self, "_spread_sd", spread.std(axis=0) + 1e-9)

    _spread_mean: FloatArray = field(init=False, repr=False)
    _spread_sd: FloatArray = field(init=False, repr=False)

    @property
    def n_images(self) -> int:
        """Images of the collection."""
        return len(self.attributes[0].positions)

    @property
    def n_annotators(self) -> int:
        """W."""
        return len(self.carelessness)

    def answer_grids(
        self, grids: ArrayLike, annotators: ArrayLike, random_state: int = 0
    ) -> tuple[Groupings, Choices]:
        """Answers to grids (G, S), -1 padded, by annotators (G,), and what each was about."""
        images = as_index_array("grids", grids, 2)
        who = as_index_array("annotators", annotators, 1)
        check_index_range("annotators", who, 0, self.n_annotators)
        check_index_range("grids", images, -1, self.n_images)
        rng = np.random.default_rng([self.random_state, random_state])
        choices = self._choose(images, who, rng)
        groups = np.full(images.shape, -1, np.int64)
        for start in range(0, len(images), _BLOCK):
            rows = slice(start, start + _BLOCK)
            part = Choices(choices.attribute[rows], choices.noise[rows], choices.fine[rows])
            groups[rows] = self._group(images[rows], part, rng)
        answers = Groupings(images, groups, who, self.n_images, self.n_annotators)
        return answers, choices

    def attribute_odds(self, images: IntArray, annotators: IntArray) -> FloatArray:
        """(G, A) probability that an answer that is not noise is about each attribute."""
        with np.errstate(divide="ignore"):
            log_odds = np.log(self.preferences[annotators])
        if self.salience:
            z = (self._spread(images) - self._spread_mean) / self._spread_sd
            log_odds = log_odds + self.salience * z
        return np.asarray(softmax(log_odds, axis=1))

    def _spread(self, images: IntArray) -> FloatArray:
        present = images >= 0
        columns = [
            np.sqrt(np.maximum(_masked_variance(a.positions[images], present), 0.0))
            for a in self.attributes
        ]
        return np.stack(columns, axis=1)

    def _choose(self, images: IntArray, who: IntArray, rng: np.random.Generator) -> Choices:
        odds = np.concatenate(
            [self.attribute_odds(images[r], who[r]) for r in _blocks(len(images))]
            or [np.empty((0, len(self.attributes)))]
        )
        draw = rng.random((len(images), 1))
        attribute = np.minimum((draw > odds.cumsum(axis=1)).sum(axis=1), odds.shape[1] - 1)
        noisy = rng.random(len(images)) < self.carelessness[who]
        kind = rng.choice(len(NOISE_KINDS), len(images), p=np.asarray(self.noise_mix))
        return Choices(
            np.where(noisy, -1, attribute),
            np.where(noisy, kind, -1),
            rng.random(len(images)) < self.fineness[who],
        )

    def _group(self, images: IntArray, choices: Choices, rng: np.random.Generator) -> IntArray:
        present = images >= 0
        groups = np.zeros(images.shape, np.int64)
        other = rng.integers(0, max(1, len(self.other)), len(images))
        for attributes, used in (
            (self.attributes, choices.attribute),
            (self.other, np.where(choices.noise == 2, other, -1)),
        ):
            for k, attribute in enumerate(attributes):
                for fine in (False, True):
                    rows = np.flatnonzero((used == k) & (choices.fine == fine))
                    seen = attribute.positions[images[rows]]
                    seen = seen + self.perception * rng.standard_normal(seen.shape)
                    groups[rows] = np.searchsorted(attribute.levels(fine), seen)
        scattered = np.flatnonzero(choices.noise == 1)
        n_groups = rng.integers(2, 6, len(scattered))
        groups[scattered] = rng.integers(0, n_groups[:, None], (len(scattered), images.shape[1]))
        slip = (rng.random(images.shape) < self.slips) & (choices.noise < 0)[:, None]
        top = np.where(present, groups, 0).max(axis=1, initial=0) + 1
        groups = np.where(slip, (rng.random(images.shape) * top[:, None]).astype(np.int64), groups)
        groups = np.minimum(groups, self.max_groups - 1)
        left = (rng.random(images.shape) < self.leftovers) | ~present
        return np.where(left, -1, groups)

    def probability_same(
        self, images: IntArray, annotators: IntArray, attribute: IntArray | None = None
    ) -> FloatArray:
        """(G, P) the best possible prediction, in numpy.triu_indices(S, 1) order.

        Probability that two images of a grid are grouped together, by an oracle that knows
        the crowd, the annotator and the grid; with `attribute` (G,) also what the answer
        was about (-1: noise). Leftovers are not modelled.
        """
        careless = self.carelessness[annotators][:, None]
        fine = self.fineness[annotators][:, None]
        noise_same = self._noise_same(images, fine)
        same_by = [self._same_along(a, images, fine) for a in self.attributes]
        if attribute is not None:
            known = np.stack([*same_by, noise_same])
            return known[attribute, np.arange(len(images))]
        odds = self.attribute_odds(images, annotators)
        clean = sum(odds[:, [k]] * same for k, same in enumerate(same_by))
        return np.asarray((1 - careless) * clean + careless * noise_same)

    def _noise_same(self, images: IntArray, fine: FloatArray) -> FloatArray:
        width = images.shape[1] * (images.shape[1] - 1) // 2
        one, scattered, other = self.noise_mix
        same = np.full(
            (len(images), width), one + scattered * np.mean([1 / m for m in range(2, 6)])
        )
        if self.other:
            same += other * np.mean([self._same_along(a, images, fine) for a in self.other], axis=0)
        else:
            same += other
        return same

    def _same_along(
        self, attribute: GradedAttribute, images: IntArray, fine: FloatArray
    ) -> FloatArray:
        first, second = np.triu_indices(images.shape[1], 1)
        total = np.zeros((len(images), len(first)))
        for is_fine, weight in ((False, 1 - fine), (True, fine)):
            member = self._membership(attribute, is_fine)[images]
            n = member.shape[2]
            member = (1 - self.slips) * member + self.slips / n
            same = np.einsum("gsc,gtc->gst", member, member)
            total += weight * same[:, first, second]
        return total

    def _membership(self, attribute: GradedAttribute, fine: bool) -> FloatArray:
        """(N, C) probability that an annotator puts an image in each group."""
        cuts = attribute.levels(fine)
        edges = np.concatenate([[-np.inf], cuts, [np.inf]])
        if self.perception == 0:
            group = np.searchsorted(cuts, attribute.positions)
            return np.eye(len(cuts) + 1)[group]
        below = ndtr((edges[None, :] - attribute.positions[:, None]) / self.perception)
        return np.asarray(np.diff(below, axis=1))


def _masked_variance(values: FloatArray, present: BoolArray) -> FloatArray:
    count = np.maximum(present.sum(axis=1), 1)
    mean = (values * present).sum(axis=1) / count
    return np.asarray((((values - mean[:, None]) ** 2) * present).sum(axis=1) / count)


def _blocks(n: int) -> list[slice]:
    return [slice(start, start + _BLOCK) for start in range(0, n, _BLOCK)]
