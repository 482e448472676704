"""The parts of the benchmark, each of which yields rows of results."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.cen.measures import (
    oracle_scores,
    prediction_scores,
    retrieval,
    retrieval_scores,
    species_score,
)
from bench.cen.methods import (
    DEFAULT,
    METHODS,
    Task,
    methods_named,
    split_with,
    uses_attributes,
)
from bench.harness.measures import informative
from bench.harness.tables import Row
from learning.baselines import PUBLISHED_SETTINGS, PaperContextEmbedding
from learning.cen import ContextEmbeddingNetwork
from learning.metrics import majority_rate, pair_accuracy, pair_auc
from learning.simulation.oracle import probability_same
from learning.simulation.scenes import SCENES, Scene, celeba_like
from learning.synthesis import distinct_rows, vagueness

DIMENSIONS = {"celeba": 4, "birds": 4, "retina": 10}
FRACTIONS = (0.1, 0.25, 0.5, 1.0)


def prediction(scene_name: str, seed: int, only: str) -> Iterator[Row]:
    """Paper 4.3, 4.5 and supplements D and F: the named methods by training size."""
    scene = SCENES[scene_name](seed)
    for fraction in FRACTIONS:
        train, test, train_attributes, test_attributes = split_with(
            scene.groupings, scene.choices.attribute, seed, fraction
        )
        task = Task(train, test, train_attributes, test_attributes, DIMENSIONS[scene_name], seed)
        start = {"scene": scene_name, "seed": seed, "fraction": fraction, "grids": len(train)}
        if fraction == 1.0 and not only:
            yield from _oracles(scene, task, start)
        for name, method in methods_named(only).items():
            began = time.perf_counter()
            predicted = method(task)
            row = {**start, "method": name, "seconds": time.perf_counter() - began}
            row |= prediction_scores(test, predicted)
            if fraction == 1.0:
                row |= _beyond(scene, task, name, predicted.model)
            yield row


def _oracles(scene: Scene, task: Task, start: Row) -> Iterator[Row]:
    test, crowd = task.test, scene.crowd
    known: dict[str, Any] = {
        "oracle, annotator": {"knows_grid": False},
        "oracle, annotator and grid": {},
        "oracle, attribute": {"attribute": task.test_attributes},
    }
    for name, knowledge in known.items():
        probability = probability_same(crowd, test.images, test.annotators, **knowledge)
        yield {**start, "method": name, **oracle_scores(test, probability)}


def _beyond(scene: Scene, task: Task, name: str, model: Any) -> Row:
    """Attribute retrieval on training answers and held-out ones, and species."""
    row: Row = {}
    if isinstance(model, ContextEmbeddingNetwork | PaperContextEmbedding):
        n = len(scene.crowd.attributes)
        table = retrieval(task.train_attributes, model.predict_attribute(task.train), n)
        row |= retrieval_scores(table)
        row["confusion"] = table.tolist()
        for before, title in ((True, "before"), (False, "after")):
            predicted = model.predict_attribute(task.test, before_grouping=before)
            held_out = retrieval(task.test_attributes, predicted, n)
            row[f"held_out_{title}"] = retrieval_scores(held_out)["retrieval"]
    if scene.species is not None and not uses_attributes(name):
        row["mcc"] = species_score(model.embedding_, scene.species, task.seed)
    return row


def dimensions(seed: int, only: str) -> Iterator[Row]:
    """Supplement E: more dimensions than attributes."""
    scene = SCENES["retina"](seed)
    train, test, train_attributes, test_attributes = split_with(
        scene.groupings, scene.choices.attribute, seed, 1.0
    )
    for k in (4, 10, 20, 30):
        for name, method in methods_named(only).items():
            if name not in (DEFAULT, "paper's CEN, mixture"):
                continue
            predicted = method(Task(train, test, train_attributes, test_attributes, k, seed))
            share = np.sort(predicted.model.activation(train).mean(axis=0))[::-1]
            yield {
                "k": k,
                "seed": seed,
                "method": name,
                "shares": (share / share.sum()).tolist(),
                **prediction_scores(test, predicted),
            }


def gamma(scene_name: str, seed: int) -> Iterator[Row]:
    """Table S1: the paper's network at several weights of same pairs, both thresholds, and
    with its published settings (a step of 100 pairs)."""
    scene = SCENES[scene_name](seed)
    train, test, _, _ = split_with(scene.groupings, scene.choices.attribute, seed, 1.0)
    settings: dict[str, dict[str, Any]] = {
        f"{value:g}": {"gamma": value} for value in (1.0, 2.0, 4.0, 6.0, 8.0, 10.0)
    }
    settings["6, as published"] = PUBLISHED_SETTINGS | {"threshold": "calibrated"}
    for name, parameters in settings.items():
        began = time.perf_counter()
        model = PaperContextEmbedding(
            n_dimensions=DIMENSIONS[scene_name], random_state=seed, **parameters
        ).fit(train)
        seconds = time.perf_counter() - began
        distance, same = informative(test, model.pair_distance(test))
        midpoint = (model.margin_same + model.margin_different) / 2
        yield {
            "scene": scene_name,
            "seed": seed,
            "gamma": name,
            "seconds": seconds,
            "calibrated": pair_accuracy(same, distance < model.threshold_),
            "midpoint": pair_accuracy(same, distance < midpoint),
            "called_same": float((distance < midpoint).mean()),
            "auc": pair_auc(same, distance),
            "majority_rate": majority_rate(same),
        }


def reliability(seed: int) -> Iterator[Row]:
    """Whether every seed finds all four attributes, and the effect of having no context effect."""
    scene = celeba_like(seed)
    began = time.perf_counter()
    model = ContextEmbeddingNetwork(random_state=seed).fit(scene.groupings)
    seconds = time.perf_counter() - began
    table = retrieval(scene.choices.attribute, model.predict_attribute(scene.groupings), 4)
    row: Row = {"seed": seed, "seconds": seconds, **retrieval_scores(table)}
    if seed < 5:
        plain = celeba_like(seed, salience=0.0)
        train, test, train_attributes, test_attributes = split_with(
            plain.groupings, plain.choices.attribute, seed, 1.0
        )
        task = Task(train, test, train_attributes, test_attributes, 4, seed)
        for name in (DEFAULT, "latent attribute, annotator"):
            row[f"no context: {name}"] = prediction_scores(test, METHODS[name](task))["accuracy"]
    yield row


def warm(scene_name: str, seed: int) -> Iterator[Row]:
    """A warm start after 10 % more answers, compared with a cold fit and its own seed noise."""
    scene = SCENES[scene_name](seed)
    train, test, _, _ = split_with(scene.groupings, scene.choices.attribute, seed, 1.0)
    earlier = train.subset(np.arange(round(len(train) / 1.1)))
    known = test.pair_labels() >= 0
    previous = ContextEmbeddingNetwork(random_state=seed).fit(earlier)
    row: Row = {"scene": scene_name, "seed": seed}
    for name, random_state, init in (
        ("cold", seed, None),
        ("cold again", seed + 1_000, None),
        ("warm", seed, previous),
    ):
        began = time.perf_counter()
        model = ContextEmbeddingNetwork(random_state=random_state).fit(train, init=init)
        row[f"{name} seconds"] = time.perf_counter() - began
        distance, same = informative(test, model.pair_distance(test))
        row[f"{name} auc"] = pair_auc(same, distance)
        row[f"{name} accuracy"] = pair_accuracy(same, model.predict_same(test)[known])
    yield row


def synthesis(n_streamed: int = 10_000_000) -> Iterator[Row]:
    """Section 4.6: ten million random grids compared with a search, for every attribute."""
    scene = celeba_like(0)
    model = ContextEmbeddingNetwork(random_state=0).fit(scene.groupings)
    places = model.embedding_
    random = distinct_rows(2_000, 24, len(places), np.random.default_rng(0))
    ordinary = places[random].std(axis=1)
    n_grids = 20
    for method, n_candidates in (("stream", n_streamed), ("search", 100_000)):
        for attribute in range(4) if method == "search" else range(1):
            began = time.perf_counter()
            grids = model.synthesize_grids(
                n_grids, 24, attribute, n_candidates, random_state=0, method=method
            )
            seconds = time.perf_counter() - began
            spread = places[grids].std(axis=1)
            score = (spread - ordinary.mean(axis=0)) / ordinary.std(axis=0)
            relative = spread.mean(axis=0) / ordinary.mean(axis=0)
            yield {
                "method": method,
                "candidates": n_candidates,
                "attribute": attribute,
                "seconds": seconds,
                "entropy": float(vagueness(score, None).mean()),
                "wanted": float(relative[attribute]),
                "others": float(np.delete(relative, attribute).mean()),
                "images": len(np.unique(grids)),
            }
