"""How well a model predicts answers that it has not seen, with standard errors."""

import numpy as np
from numpy.typing import ArrayLike


def agreement_of(held_out: ArrayLike, control: ArrayLike) -> dict[str, float]:
    """Return the share of held-out placements that were predicted, over all answers and over
    answers to random grids.

    `held_out` is (G, 2): predicted and asked, per answer. `control` is (G,) bool. Grids of later
    rounds are harder, but random grids are similar in all rounds, so rounds are compared on random
    grids.
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
    # Placements of one answer are dependent, so the error is that of a ratio over answers.
    residual = counts[:, 0] - share * counts[:, 1]
    error = np.sqrt((residual**2).sum() * answers / (answers - 1)) / asked
    return {name: float(share), f"{name}_error": float(error)}
