"""Attributes of a collection as lines with cuts, as a simulated crowd sees them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class GradedAttribute:
    """An attribute as a line on which every image has a position.

    positions: (N,) float64; cuts: increasing positions at which a fine grouping divides;
    coarse_cuts: those of them at which a coarse grouping also divides;
    words: one for each of the len(cuts) + 1 fine groups, in order of position.
    """

    name: str
    positions: FloatArray
    cuts: FloatArray
    coarse_cuts: FloatArray
    words: tuple[str, ...] = ()

    @classmethod
    def of_values(cls, name: str, values: ArrayLike) -> GradedAttribute:
        """A column of a table: one fine group per value, two coarse ones.

        Numbers with more than ten different values become thirds, cut coarsely at the
        median. Raises ValueError when the values are not one column.
        """
        column = np.asarray(values)
        if column.ndim != 1:
            raise ValueError(f"values of {name!r} must be one column, got shape {column.shape}")
        numbers = _as_numbers(column)
        if numbers is not None and len(np.unique(numbers)) > 10:
            cuts = np.quantile(numbers, [1 / 3, 1 / 2, 2 / 3])
            words = tuple(f"{size} {name}" for size in ("low", "middle", "high"))
            return cls(name, numbers, cuts[[0, 2]], cuts[[1]], words)
        kinds, positions = np.unique(column.astype(np.str_), return_inverse=True)
        cuts = np.arange(len(kinds) - 1, dtype=np.float64) + 0.5
        middle = cuts[[(len(cuts) - 1) // 2]] if len(cuts) else cuts
        return cls(name, positions.astype(np.float64), cuts, middle, tuple(kinds.tolist()))

    def levels(self, fine: bool) -> FloatArray:
        """Cuts of one level of detail."""
        return self.cuts if fine else self.coarse_cuts

    def word(self, group: int, fine: bool) -> str:
        """An annotator's word for one group of this level of detail."""
        if not self.words:
            return f"{self.name} {group + 1}"
        if fine or not np.isin(self.coarse_cuts, self.cuts).all():
            return self.words[min(group * (1 if fine else 2), len(self.words) - 1)]
        edges = [-1, *np.searchsorted(self.cuts, self.coarse_cuts).tolist(), len(self.cuts)]
        joined = self.words[edges[group] + 1 : edges[group + 1] + 1]
        return " or ".join(joined) if len(joined) < 3 else f"{joined[0]} and so on"

    def membership(self, fine: bool, perception: float) -> FloatArray:
        """(N, C) probability that an image is put in each group if it is seen at its
        position plus `perception` times a normal variable."""
        cuts = self.levels(fine)
        if perception == 0:
            return np.asarray(np.eye(len(cuts) + 1)[np.searchsorted(cuts, self.positions)])
        edges = np.concatenate([[-np.inf], cuts, [np.inf]])
        below = scipy.special.ndtr((edges[None, :] - self.positions[:, None]) / perception)
        return np.asarray(np.diff(below, axis=1))


def _as_numbers(column: np.ndarray[tuple[int], np.dtype[np.generic]]) -> FloatArray | None:
    try:
        numbers = column.astype(np.float64)
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None
