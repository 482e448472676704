"""A crowd that groups by attributes, with preferences, salience, level of detail and noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    as_index_array,
    check_count,
    check_index_range,
)
from learning.groupings import Groupings
from learning.simulation.answers import MOST_GROUPS, SimulatedAnswer, check_request
from learning.simulation.attributes import GradedAttribute

# The kinds of answers that are not about one of the attributes.
NOISE_KINDS = ("one_group", "random_groups", "other_attribute")
_RANDOM_GROUPS = (2, 6)
_SALIENCE_SAMPLE = 2_000
_SALIENCE_GRID = 24
_BLOCK = 4_096


@dataclass(frozen=True, eq=False)
class Choices:
    """What each answer was about, which only a simulation knows.

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
    where z_k is the standardised spread of the grid's images along k (CEN section 3.1.2:
    what varies stands out). The annotator sees each image at its position plus
    `perception` times a normal variable and groups at the cuts of their level of detail.

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
    other: Sequence[GradedAttribute] = ()
    random_state: int = 0
    _spread_mean: FloatArray = field(init=False, repr=False)
    _spread_deviation: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        sizes = {len(a.positions) for a in [*self.attributes, *self.other]}
        if len(sizes) != 1:
            raise ValueError(f"attributes must be about one collection, got {sorted(sizes)} images")
        expected = (self.n_annotators, len(self.attributes))
        if self.preferences.shape != expected:
            raise ValueError(f"preferences must be {expected}, got {self.preferences.shape}")
        rng = np.random.default_rng([self.random_state, 7])
        sample = rng.integers(0, self.n_images, (_SALIENCE_SAMPLE, _SALIENCE_GRID))
        spread = self._spread(sample)
        object.__setattr__(self, "_spread_mean", spread.mean(axis=0))
        object.__setattr__(self, "_spread_deviation", spread.std(axis=0) + 1e-9)

    @classmethod
    def from_table(
        cls,
        table: Mapping[str, ArrayLike],
        n_annotators: int,
        noise: float = 0.0,
        preference: float = 0.8,
        coarse: float = 0.0,
        careless: float = 0.0,
        salience: float = 0.0,
        random_state: int = 0,
    ) -> Self:
        """A crowd for a table of attributes, with annotators for each attribute.

        table: name -> (N,) values; noise: probability that an image goes to a random group;
        preference: share of the annotator's own attribute in their answers, the others
        sharing the rest; coarse: share of annotators who group coarsely; careless: share of
        answers that are noise. Raises ValueError for a share outside 0..1 or no attribute.
        """
        check_count("n_annotators", n_annotators)
        shares = {"noise": noise, "preference": preference, "coarse": coarse, "careless": careless}
        for name, value in shares.items():
            if not 0.0 <= value <= 1.0:
                raise ValueError(f"{name} must be in 0..1, got {value!r}")
        if not table:
            raise ValueError("a crowd needs at least one attribute to group by")
        attributes = [GradedAttribute.of_values(name, column) for name, column in table.items()]
        rng = np.random.default_rng(random_state)
        # Attributes are spread evenly, so that a small crowd has someone for each.
        own = rng.permutation(np.arange(n_annotators) % len(attributes))
        preferences = np.full(
            (n_annotators, len(attributes)), (1 - preference) / max(1, len(attributes) - 1)
        )
        preferences[np.arange(n_annotators), own] = preference if len(attributes) > 1 else 1.0
        fineness = (rng.permutation(n_annotators) >= round(coarse * n_annotators)).astype(float)
        return cls(
            attributes,
            preferences,
            fineness=fineness,
            carelessness=np.full(n_annotators, careless),
            salience=salience,
            slips=noise,
            noise_mix=(0.5, 0.5, 0.0),
            random_state=random_state,
        )

    @property
    def n_images(self) -> int:
        """Images of the collection."""
        return len(self.attributes[0].positions)

    @property
    def n_annotators(self) -> int:
        """W."""
        return len(self.carelessness)

    def answer(
        self,
        annotator: int,
        images: ArrayLike,
        max_groups: int = MOST_GROUPS,
        n_bins: int | None = None,
    ) -> SimulatedAnswer:
        """The grouping of one grid by one annotator, which is the same every time.

        images: (S,) dense positions. If there are more than `max_groups` groups, images of the
        rarest are left out. `n_bins` changes nothing. Raises ValueError for an unknown annotator or
        image.
        """
        shown = check_request(self, annotator, images, max_groups)
        rng = np.random.default_rng([self.random_state, annotator, *shown.tolist()])
        grid, who = shown[None, :], np.array([annotator])
        choices = self._choose(grid, who, rng)
        groups = self._group(grid, choices, rng)[0]
        attribute, fine = int(choices.attribute[0]), bool(choices.fine[0])
        used, first, place, counts = np.unique(
            groups, return_index=True, return_inverse=True, return_counts=True
        )
        kept = np.argsort(-np.where(used >= 0, counts, 0), kind="stable")[:max_groups]
        kept = kept[used[kept] >= 0]
        kept = kept[np.argsort(first[kept], kind="stable")]
        number = np.full(len(used), -1, np.int64)
        number[kept] = np.arange(len(kept))
        if attribute < 0:
            words = [f"group {n + 1}" for n in range(len(kept))]
            return SimulatedAnswer(number[place], words, None)
        seen = self.attributes[attribute]
        words = [seen.word(int(used[group]), fine) for group in kept]
        return SimulatedAnswer(number[place], words, seen.name)

    def answer_grids(
        self, grids: ArrayLike, annotators: ArrayLike, random_state: int = 0
    ) -> tuple[Groupings, Choices]:
        """Answers to grids (G, S), -1 padded, by annotators (G,), and what each was about.

        It draws other random numbers than `answer`, and is made for many answers at once.
        """
        images = as_index_array("grids", grids, 2)
        who = as_index_array("annotators", annotators, 1)
        check_index_range("annotators", who, 0, self.n_annotators)
        check_index_range("grids", images, -1, self.n_images)
        rng = np.random.default_rng([self.random_state, random_state])
        choices = self._choose(images, who, rng)
        groups = np.full(images.shape, -1, np.int64)
        for rows in _blocks(len(images)):
            part = Choices(choices.attribute[rows], choices.noise[rows], choices.fine[rows])
            groups[rows] = self._group(images[rows], part, rng)
        answers = Groupings(images, groups, who, self.n_images, self.n_annotators)
        return answers, choices

    def attribute_odds(self, images: IntArray, annotators: IntArray) -> FloatArray:
        """(G, A) probability that an answer that is not noise is about each attribute."""
        log_odds = np.log(self.preferences[annotators] + 1e-12)
        if self.salience:
            z = (self._spread(images) - self._spread_mean) / self._spread_deviation
            log_odds = log_odds + self.salience * z
        return np.asarray(scipy.special.softmax(log_odds, axis=1))

    def _spread(self, images: IntArray) -> FloatArray:
        present = images >= 0
        columns = [_deviation(a.positions[images], present) for a in self.attributes]
        return np.stack(columns, axis=1)

    def _choose(self, images: IntArray, who: IntArray, rng: np.random.Generator) -> Choices:
        odds = np.empty((len(images), len(self.attributes)))
        for rows in _blocks(len(images)):
            odds[rows] = self.attribute_odds(images[rows], who[rows])
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
        """(G, S) groups by the cuts of each answer's attribute; -1 left out or padding."""
        groups = np.zeros(images.shape, np.int64)
        other = rng.integers(0, max(1, len(self.other)), len(images))
        outside = np.where(choices.noise == 2, other, -1)
        for attributes, used in ((self.attributes, choices.attribute), (self.other, outside)):
            for k, attribute in enumerate(attributes):
                for fine in (False, True):
                    rows = np.flatnonzero((used == k) & (choices.fine == fine))
                    seen = attribute.positions[images[rows]]
                    seen = seen + self.perception * rng.standard_normal(seen.shape)
                    groups[rows] = np.searchsorted(attribute.levels(fine), seen)
        scattered = np.flatnonzero(choices.noise == 1)
        n_groups = rng.integers(*_RANDOM_GROUPS, len(scattered))[:, None]
        groups[scattered] = rng.integers(0, n_groups, (len(scattered), images.shape[1]))
        return self._with_slips(images, groups, choices.noise < 0, rng)

    def _with_slips(
        self, images: IntArray, groups: IntArray, clean: BoolArray, rng: np.random.Generator
    ) -> IntArray:
        """Move images that slip to a random group of their answer."""
        present = images >= 0
        slip = (rng.random(images.shape) < self.slips) & clean[:, None]
        n_groups = np.where(present, groups, 0).max(axis=1, initial=0) + 1
        anywhere = (rng.random(images.shape) * n_groups[:, None]).astype(np.int64)
        left = (rng.random(images.shape) < self.leftovers) | ~present
        return np.where(left, -1, np.where(slip, anywhere, groups))


def _deviation(values: FloatArray, present: BoolArray) -> FloatArray:
    """(G,) standard deviation of (G, S) values that are present."""
    count = np.maximum(present.sum(axis=1), 1)
    mean = (values * present).sum(axis=1) / count
    squares = ((values - mean[:, None]) ** 2 * present).sum(axis=1) / count
    return np.asarray(np.sqrt(squares))


def _blocks(n: int) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, n, _BLOCK))
