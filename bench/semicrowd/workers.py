"""Measures whether workers' sensitivity and specificity are found, and a bad worker's harm."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bench.harness.tables import Row
from bench.semicrowd import data
from bench.semicrowd.parts import MOST_ON_FACES, MOST_ON_PINWHEEL
from learning.arrays import FloatArray, IntArray
from learning.groupings import Pairs
from learning.metrics import clustering_scores
from learning.semicrowd import BayesianSemiCrowdClustering

LABELS = 500
# The workers (sensitivity, specificity, labels) that each case adds to five workers at
# .95 ... .75 who give 500 labels each.
CASES: dict[str, list[tuple[float, float, int]]] = {
    "five workers": [],
    "and one who says the contrary": [(0.1, 0.15, LABELS)],
    "and one who guesses": [(0.5, 0.5, LABELS)],
    "and one with two labels": [(0.9, 0.9, 2)],
}


def collections(folder: Path | None) -> list[str]:
    return ["pinwheel"] if folder is None else ["pinwheel", "faces"]


def workers(case: str, collection: str, folder: Path | None, seed: int) -> list[Row]:
    """BayesSCDC with one crowd. Next to each estimate is the share of right labels, which needs the
    true classes: no estimate can be expected to be nearer."""
    if folder is not None and collection == "faces":
        items, most = data.faces(folder), MOST_ON_FACES
    else:
        items, most = data.pinwheel(seed), MOST_ON_PINWHEEL
    more = CASES[case]
    alpha = np.array([*data.FACE_WORKERS, *(worker[0] for worker in more)])
    beta = np.array([*data.FACE_WORKERS, *(worker[1] for worker in more)])
    counts = [*[LABELS] * len(data.FACE_WORKERS), *(worker[2] for worker in more)]
    rng = np.random.default_rng([seed, 5])
    pairs = data.two_coin_pairs(items.classes, alpha, beta, counts, rng, balanced=True)
    model = BayesianSemiCrowdClustering(max_clusters=most, device="cpu", random_state=seed)
    model.fit(items.features, pairs)
    counted = _counted(items.classes, pairs)
    return [
        {
            "case": case,
            "collection": collection,
            "seed": seed,
            **clustering_scores(items.classes, model.labels_),
            "alpha": alpha.tolist(),
            "beta": beta.tolist(),
            "sensitivity": model.annotator_sensitivity_.tolist(),
            "specificity": model.annotator_specificity_.tolist(),
            "sensitivity_interval": model.annotator_sensitivity_interval_.tolist(),
            "specificity_interval": model.annotator_specificity_interval_.tolist(),
            "counted_alpha": counted[0].tolist(),
            "counted_beta": counted[1].tolist(),
        }
    ]


def _counted(classes: IntArray, pairs: Pairs) -> tuple[FloatArray, FloatArray]:
    """(W,) shares of same pairs called same, of different ones called different."""
    together = classes[pairs.i] == classes[pairs.j]
    shares = [
        np.bincount(pairs.annotator[rows], right[rows], pairs.n_annotators)
        / np.bincount(pairs.annotator[rows], minlength=pairs.n_annotators)
        for rows, right in ((together, pairs.same), (~together, ~pairs.same))
    ]
    return np.asarray(shares[0]), np.asarray(shares[1])
