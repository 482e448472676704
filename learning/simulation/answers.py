"""Requests to simulated annotators and their answers, whatever they group by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import IntArray, as_index_array, check_count, check_index_range

MOST_GROUPS = 10


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

    @property
    def random_state(self) -> int: ...

    def answer(
        self,
        annotator: int,
        images: ArrayLike,
        max_groups: int = MOST_GROUPS,
        n_bins: int | None = None,
    ) -> SimulatedAnswer:
        """The grouping of one grid, which does not depend on earlier requests.

        max_groups: maximum number of groups; n_bins: how many groups are offered, if their number
        is fixed.
        """
        ...


def check_request(crowd: Crowd, annotator: int, images: ArrayLike, max_groups: int) -> IntArray:
    """The images as an array. Raises ValueError for an unknown annotator or image, or without
    groups."""
    check_count("max_groups", max_groups)
    shown = as_index_array("images", images, 1)
    check_index_range("images", shown, 0, crowd.n_images)
    check_index_range("annotator", np.array([annotator]), 0, crowd.n_annotators)
    return shown
