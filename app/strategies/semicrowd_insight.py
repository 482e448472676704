"""What a requester sees of a model's clusters and of the annotators, as JSON."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.strategies.memberships import Memberships
from learning.groupings import Pairs

N_SHOWN = 8
CERTAIN = 0.9
# Keeps values away from certainty, which no finite number of answers gives.
_EDGE = 1e-3


def insight_of(
    model: Any,
    components: NDArray[np.int64],
    memberships: Memberships,
    pairs: Pairs,
    n_answers: NDArray[np.int64],
) -> dict[str, Any]:
    """Return `clusters` (by number, the largest first) and `reliability` (of all who answered).

    `model` is a trained estimator of learning/semicrowd.py. `components` is (C,): the model's
    component of each cluster. `n_answers` is (W,): the answers of each annotator.
    """
    proportions = np.asarray(model.proportions_, np.float64)[components]
    return {
        "n_clusters": effective_clusters(model, memberships),
        "clusters": [
            {
                "index": index,
                "proportion": round(float(proportions[index]), 6),
                **_shown(memberships, np.asarray(model.embedding_, np.float64), index),
            }
            for index in range(memberships.n_clusters)
        ],
        "reliability": _reliability(model, pairs, n_answers),
    }


def effective_clusters(model: Any, memberships: Memberships) -> float:
    """Return the number of clusters as the model counts them, or the number of clusters that have
    images."""
    return float(getattr(model, "n_clusters_", memberships.n_clusters))


def _shown(memberships: Memberships, embedding: NDArray[np.float64], index: int) -> dict[str, Any]:
    """Return the number of images, and positions of the most and the least certain ones."""
    mine = np.flatnonzero(memberships.cluster == index)
    sure = memberships.probability[mine]
    centre = np.average(embedding[mine], axis=0, weights=np.maximum(sure, _EDGE))
    far = np.linalg.norm(embedding[mine] - centre, axis=1)
    # If many images are almost certain, those nearest the centre represent the cluster.
    best = np.lexsort((mine, far, -np.round(sure, 2)))[:N_SHOWN]
    worst = np.lexsort((mine, sure))[:N_SHOWN]
    return {
        "size": len(mine),
        "certain": mine[best].tolist(),
        "uncertain": mine[worst].tolist(),
    }


def _reliability(model: Any, pairs: Pairs, n_answers: NDArray[np.int64]) -> list[dict[str, Any]]:
    n_pairs = np.bincount(pairs.annotator, minlength=len(n_answers))
    return [
        {
            "annotator": annotator,
            "n_answers": int(n_answers[annotator]),
            "n_pairs": int(n_pairs[annotator]),
            **_measure(model, "sensitivity", annotator),
            **_measure(model, "specificity", annotator),
            "weight": round(
                _log_odds(model.annotator_sensitivity_[annotator])
                + _log_odds(model.annotator_specificity_[annotator]),
                4,
            ),
        }
        for annotator in np.flatnonzero(n_answers).tolist()
    ]


def _measure(model: Any, name: str, annotator: int) -> dict[str, Any]:
    """Return the value and, if the model provides it, its 95 % interval."""
    value = float(getattr(model, f"annotator_{name}_")[annotator])
    intervals = getattr(model, f"annotator_{name}_interval_", None)
    ends = None if intervals is None else [round(float(end), 6) for end in intervals[annotator]]
    return {name: round(value, 6), f"{name}_interval": ends}


def _log_odds(share: float) -> float:
    inside = min(max(float(share), _EDGE), 1 - _EDGE)
    return math.log(inside / (1 - inside))
