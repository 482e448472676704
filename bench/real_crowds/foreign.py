"""Results of each method on every category column of the foreign simulator, and on pure noise."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from statistics import mean

import numpy as np
from sklearn.cluster import KMeans

from bench.harness.measures import held_out_auc, informative, matched_mcc
from bench.harness.tables import Row, mean_sd, of, present, table, values
from bench.real_crowds.measures import HELD_OUT_SHARE, answered_images
from bench.real_crowds.methods import CONTRACT, DEFAULT, METHODS, Estimated, Fitted
from learning.arrays import BoolArray, FloatArray, IntArray
from learning.groupings import Groupings
from learning.metrics import clustering_scores, pair_scores
from learning.simulation.foreign_crowd import NOISE_KINDS
from learning.simulation.foreign_crowd_scenes import FOREIGN_SCENES, pure_noise

COMPARED = (
    DEFAULT,
    CONTRACT,
    "paper's network, annotator",
    "Bayesian crowd clustering, K=4",
    "triplet",
)
NOISE = "noise"
# An attribute of a smaller share of the answers is not counted as shown.
SHOWN_SHARE = 0.01
_PAIR_MEASURES = ("accuracy", "majority_rate", "auc")
_DIGITS = 5


def foreign(scene_name: str, seed: int, methods: Iterable[str] = COMPARED) -> Iterator[Row]:
    """One row per method on a scene, with 15 % of the grids held out.

    accuracy, auc: of pairs of held-out grids, accuracy by the method's own rule if any; mcc, ami: a
    value for each category column, K-means with the column's number of values on the places
    of the answered images; class_mcc, class_ami: the same for combinations of all columns;
    structure, attributes: of a model with attributes; seconds: of CPU, both fits of a baseline.
    """
    scene = FOREIGN_SCENES[scene_name](seed)
    train, test = scene.groupings.split(HELD_OUT_SHARE, seed)
    answered = answered_images(train)
    for method in methods:
        row = {"part": "foreign", "data": scene_name, "method": method, "seed": seed}
        model, seconds = _fit(method, train, seed)
        columns = [_agreement(model.embedding, c, answered, seed) for c in scene.categories.T]
        mcc, ami = _agreement(model.embedding, scene.classes, answered, seed)
        yield {
            **row,
            **_pair_measures(model, test),
            "mcc": [column[0] for column in columns],
            "ami": [column[1] for column in columns],
            "class_mcc": mcc,
            "class_ami": ami,
            **structure_of(model),
            "seconds": seconds,
        }


def noise(seed: int, kind: str, method: str = DEFAULT) -> Row:
    """The structure and attributes that the product finds in pure noise."""
    model, seconds = _fit(method, pure_noise(seed, kind).groupings, seed)
    row = {"part": NOISE, "data": kind, "method": method, "seed": seed}
    return {**row, **structure_of(model), "seconds": seconds}


def _fit(method: str, answers: Groupings, seed: int) -> tuple[Fitted, float]:
    began = time.process_time()
    model = METHODS[method](answers, seed, True)
    return model, time.process_time() - began


def _pair_measures(model: Fitted, test: Groupings) -> dict[str, float]:
    predicted = model.predict_same(test)
    if predicted is None:
        return {"auc": held_out_auc(model, test)}
    distance, same = informative(test, model.pair_distance(test))
    scores = pair_scores(same, predicted[test.pair_labels() >= 0], distance)
    return {name: scores[name] for name in _PAIR_MEASURES}


def _agreement(
    places: FloatArray, column: IntArray, answered: BoolArray, seed: int
) -> tuple[float, float]:
    """MCC and AMI of K-means with the values of a column (N,), over the answered images."""
    # In random order, because the order of images at one place must not give them away.
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(answered))
    distinct_values, value = np.unique(column[rows], return_inverse=True)
    kmeans = KMeans(len(distinct_values), n_init=10, random_state=seed)
    clusters = kmeans.fit_predict(places[rows]).astype(np.int64)
    ami = clustering_scores(value, clusters)["ami"]
    return round(matched_mcc(value, clusters), _DIGITS), round(ami, _DIGITS)


def structure_of(model: Fitted) -> Row:
    """The model's structure; empty for a method that has none."""
    share = model.attribute_share()
    structure = getattr(model.model, "structure_", None) if isinstance(model, Estimated) else None
    if share is None or structure is None:
        return {}
    return {"structure": structure, "attributes": int((share > SHOWN_SHARE).sum())}


def scene_table(rows: list[Row]) -> list[str]:
    """Scenes and methods, means over seeds."""
    body = []
    for scene in [name for name in FOREIGN_SCENES if of(rows, data=name)]:
        here = of(rows, data=scene)
        for method in present(here, METHODS):
            own = of(here, method=method)
            numbers = [mean_sd(own, name) for name in ("auc", "accuracy", "majority_rate")]
            columns = [_column_means(own, name) for name in ("mcc", "ami")]
            classes = f"{mean(values(own, 'class_mcc')):.2f}"
            structures = [
                f"{row['structure']} {row['attributes']}" for row in own if "structure" in row
            ]
            seconds = f"{mean(values(own, 'seconds')):.1f}"
            body.append(
                [scene, method, *numbers, *columns, classes, "; ".join(structures), seconds]
            )
    head = ["scene", "method", "AUC", "accuracy", "majority", "MCC by column", "AMI by column"]
    return table([*head, "MCC of classes", "structure, attributes", "CPU s"], body)


def _column_means(rows: list[Row], name: str) -> str:
    columns = zip(*(row[name] for row in rows), strict=True)
    return " ".join(f"{mean(column):.2f}" for column in columns)


def noise_table(rows: list[Row]) -> list[str]:
    """Crowds of each kind of noise and the structures shown for them."""
    body = []
    for kind in NOISE_KINDS:
        own = of(rows, data=kind)
        if own:
            structures = [row["structure"] for row in own]
            counts = {name: structures.count(name) for name in ("none", "pooled", "attributes")}
            shown = sum(row["attributes"] > 0 for row in own)
            cells = [*map(str, counts.values()), f"{shown} of {len(own)}"]
            body.append([kind, *cells, f"{mean(values(own, 'seconds')):.1f}"])
    head = ["noise", "none", "pooled", "attributes", "crowds that show an attribute", "CPU s"]
    return table(head, body)
