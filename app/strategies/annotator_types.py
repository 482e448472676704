"""Types of annotators of a model."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from app.strategies.stored_arrays import StoredArrays
from learning.annotator_types import (
    FEWEST_ANSWERS,
    FEWEST_PEOPLE,
    MOST_TYPES,
    UNCLEAR,
    find_types,
)
from learning.groupings import Groupings

FILE = "annotator_types.safetensors"


@dataclass(frozen=True, eq=False)
class StoredTypes(StoredArrays):
    """One row per annotator; see learning/annotator_types.py.

    type: (W,) int64, −1 if unclear; probability: (W,); scores: (W, D); n_answers: (W,) int64.
    p_values: (k,) of the directions in which people may differ.
    """

    contents: ClassVar[str] = "types of annotators"
    type: NDArray[np.int64]
    probability: NDArray[np.float64]
    scores: NDArray[np.float64]
    n_answers: NDArray[np.int64]
    p_values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.type)

    @property
    def n_types(self) -> int:
        return int(self.type.max(initial=0)) + 1

    @property
    def p(self) -> float:
        return float(self.p_values[0])

    def _check(self) -> None:
        width = self.scores.shape[1] if self.scores.ndim == 2 else 0
        shapes = {"scores": (len(self), width), "p_values": (max(1, self.p_values.size),)}
        self._check_columns((len(self),), {"type": "i", "n_answers": "i"}, shapes)
        limits = {
            "type": (UNCLEAR, MOST_TYPES - 1),
            "probability": (0, 1),
            "scores": (-np.inf, np.inf),
            "n_answers": (0, np.inf),
            "p_values": (0, 1),
        }
        for name, (least, most) in limits.items():
            values = getattr(self, name)
            if not (np.isfinite(values) & (values >= least) & (values <= most)).all():
                raise ValueError(f"{name} has values that are not from {least} to {most}")


def types_of(groupings: Groupings, seed: int) -> StoredTypes | None:
    """Return the types of the annotators, or None while too few people have answered enough."""
    informative = groupings.annotators[groupings.informative_grids()]
    if (np.bincount(informative) >= FEWEST_ANSWERS).sum() < 2 * FEWEST_PEOPLE:
        return None
    types = find_types(groupings, seed)
    if (types.n_answers >= FEWEST_ANSWERS).sum() < 2 * FEWEST_PEOPLE:
        return None
    return StoredTypes(types.type, types.probability, types.scores, types.n_answers, types.p_values)
