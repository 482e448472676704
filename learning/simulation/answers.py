"""Requests to simulated annotators and their answers, whatever they group by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import IntArray, as_index_array, check_index_range

GROUP_LIMITS = {"grid": 10, "bins": 4, "select": 3}


@dataclass(frozen=True, eq=False)
class SimulatedAnswer:
    """groups: (S,) int64, -1 left out; descriptions: one word per group number;
    attribute: name of the attribute that was used, None if none was."""

    groups: IntArray
    descriptions: list[str]
    attribute: str | None


class Crowd(Protocol):
    """Annotators 0..n_annotators-1 over images 0..n_images-1."""

    @property
    def n_images(self) -> int: ...

    @property
    def n_annotators(self) -> int: ...

    def answer(
        self, annotator: int, images: ArrayLike, kind: str = "grid", n_bins: int | None = None
    ) -> SimulatedAnswer:
        """The grouping of one grid, which does not depend on earlier requests."""
        ...


def check_request(
    crowd: Crowd, annotator: int, images: ArrayLike, kind: str, n_bins: int | None
) -> tuple[IntArray, int]:
    """The images as an array, and the maximum number of groups of the answer.

    kind: "grid" (up to ten groups), "bins" (up to `n_bins`, four by default) or "select". Raises
    ValueError for an unknown kind, annotator or image.
    """
    if kind not in GROUP_LIMITS:
        raise ValueError(f"kind must be one of {sorted(GROUP_LIMITS)}, got {kind!r}")
    shown = as_index_array("images", images, 1)
    check_index_range("images", shown, 0, crowd.n_images)
    check_index_range("annotator", np.array([annotator]), 0, crowd.n_annotators)
    limit = n_bins if n_bins is not None and kind == "bins" else GROUP_LIMITS[kind]
    return shown, limit
