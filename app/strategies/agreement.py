"""How well a model foretells answers it has not seen, with error bars."""

import numpy as np
from numpy.typing import ArrayLike


def agreement_of(held_out: ArrayLike, control: ArrayLike) -> dict[str, float]:
    """Share of held-out placements foretold, over all answers and over those to random grids.

    held_out: (G, 2) foretold and asked, per answer; control: (G,) bool. Grids of later rounds
    are harder, random ones are alike in all: rounds are compared on these.
    """
    counts = np.asarray(held_out, np.float64)
    chosen = np.asarray(control, np.bool_)
    return {**_share("agreement", counts), **_share("control_agreement", counts[chosen])}


def _share(name: str, counts: np.ndarray) -> dict[str, float]:
    asked = counts[:, 1].sum()
    answers = int((counts[:, 1] > 0).sum())
    if answers < 2:
        return {}
    share = counts[:, 0].sum() / asked
    # Placements of one answer hang together: the error is that of a ratio over answers.
    residual = counts[:, 0] - share * counts[:, 1]
    error = np.sqrt((residual**2).sum() * answers / (answers - 1)) / asked
    return {name: float(share), f"{name}_error": float(error)}
