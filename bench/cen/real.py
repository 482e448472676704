"""Held-out accuracy on groupings that real crowds made, where such data are at hand.

`--data FOLDER` names a folder with any of
    semicrowd_mnist/grids.csv       grid,worker,position,item,group
    labelme_crowd/answers_train.csv item,worker,label
    crowd_truth/dogs4_answer.csv    question,worker,answer
The latter two are labels: a worker's items, 24 at a time in the order given, are a grid
grouped by their labels.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.cen.measures import prediction_scores
from bench.cen.methods import Task, methods_named, split_with, uses_attributes
from learning.groupings import Groupings, from_answers

Answer = tuple[str, list[str], list[str]]
GRID = 24


def real(folder: Path, seed: int, only: str) -> Iterator[dict[str, Any]]:
    """Methods named so that need no known attribute, on every data set found."""
    for name, (path, read) in SOURCES.items():
        if not (folder / path).exists():
            continue
        groupings = _groupings(list(read(folder / path)))
        nothing = np.full(len(groupings), -1)
        train, test, told, told_test = split_with(groupings, nothing, seed, 1.0)
        for title, method in methods_named(only).items():
            if uses_attributes(title):
                continue
            predicted = method(Task(train, test, told, told_test, 4, seed))
            yield {
                "data": name,
                "seed": seed,
                "method": title,
                "grids": len(groupings),
                "images": groupings.n_images,
                "annotators": groupings.n_annotators,
                **prediction_scores(test, predicted),
            }


def _groupings(answers: list[Answer]) -> Groupings:
    workers = sorted({worker for worker, _, _ in answers})
    items = sorted({item for _, shown, _ in answers for item in shown})
    who = {worker: index for index, worker in enumerate(workers)}
    place = {item: index for index, item in enumerate(items)}
    images, groups = [], []
    for _, shown, labels in answers:
        number = {label: index for index, label in enumerate(dict.fromkeys(labels))}
        images.append([place[item] for item in shown])
        groups.append([number[label] for label in labels])
    annotators = [who[worker] for worker, _, _ in answers]
    return from_answers(images, groups, annotators, len(items), len(workers))


def _grids(path: Path) -> Iterator[Answer]:
    rows: dict[str, list[dict[str, str]]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            rows.setdefault(row["grid"], []).append(row)
    for grid in rows.values():
        # An item that a grid shows twice counts once.
        first = {row["item"]: row["group"] for row in reversed(grid)}
        yield grid[0]["worker"], list(first), list(first.values())


def _labels(item: str, worker: str, label: str) -> Callable[[Path], Iterator[Answer]]:
    def read(path: Path) -> Iterator[Answer]:
        by_worker: dict[str, dict[str, str]] = {}
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                by_worker.setdefault(row[worker], {})[row[item]] = row[label]
        for name, labelled in by_worker.items():
            shown = list(labelled)
            for start in range(0, len(shown), GRID):
                part = shown[start : start + GRID]
                if len(part) > 1:
                    yield name, part, [labelled[one] for one in part]

    return read


SOURCES: dict[str, tuple[str, Callable[[Path], Iterator[Answer]]]] = {
    "MNIST grids": ("semicrowd_mnist/grids.csv", _grids),
    "LabelMe labels": ("labelme_crowd/answers_train.csv", _labels("item", "worker", "label")),
    "Dogs labels": ("crowd_truth/dogs4_answer.csv", _labels("question", "worker", "answer")),
}
