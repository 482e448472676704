"""Answers of real annotators, with the true class of every image.

The data folder holds any of

    birds_dogs/{birds_grid4,birds_grid3_choice,dogs_grid4}.jsonl.gz
        annotator, images, groups (Chen and Vinayak, 2025); classes are ranges of the images
    semicrowd_mnist/grids.csv        grid,worker,position,item,group,true_label (Luo et al., 2018)
    labelme_crowd/{answers_train,items}.csv        item,worker,label (Rodrigues and Pereira, 2017)
    crowd_truth/{dogs4,face_sentiment,bluebirds}_{answer,truth}.csv     (Zheng et al., 2017)

The last two groups are labels: an answer is up to 24 items of one worker, grouped by the worker's
labels.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from learning.arrays import IntArray
from learning.groupings import Groupings, from_answers

LABELS_PER_GRID = 24
# Ends of the ranges of images of one class.
_SPECIES = (60, 120, 178, 235, 292, 342)
_BREEDS = (172, 322, 473)


@dataclass(frozen=True, eq=False)
class RealCrowd:
    """groupings: the answers; truth: (N,) class of each image, -1 if unknown."""

    groupings: Groupings
    truth: IntArray


@dataclass(frozen=True)
class Answer:
    """One annotator's grouping of items, by their names in the files."""

    annotator: str
    items: list[str]
    groups: list[str]


def _birds_and_dogs(condition: str, ends: tuple[int, ...], folder: Path) -> RealCrowd:
    answers = []
    with gzip.open(folder / f"birds_dogs/{condition}.jsonl.gz", "rt") as lines:
        for line in lines:
            row = json.loads(line)
            items = [str(image) for image in row["images"]]
            answers.append(Answer(str(row["annotator"]), items, [str(g) for g in row["groups"]]))
    classes = np.searchsorted(ends, np.arange(ends[-1]), side="right")
    return _crowd(answers, {str(image): str(c) for image, c in enumerate(classes)})


def _mnist(folder: Path) -> RealCrowd:
    grids: dict[str, list[dict[str, str]]] = {}
    truth = {}
    for row in _read(folder / "semicrowd_mnist/grids.csv"):
        grids.setdefault(row["grid"], []).append(row)
        truth[row["item"]] = row["true_label"]
    answers = []
    for rows in grids.values():
        # Three grids show an item twice; its first group counts.
        group = {row["item"]: row["group"] for row in reversed(rows)}
        answers.append(Answer(rows[0]["worker"], list(group), list(group.values())))
    return _crowd(answers, truth)


def _labelme(folder: Path) -> RealCrowd:
    items = _read(folder / "labelme_crowd/items.csv")
    truth = {row["item"]: row["class"] for row in items if row["split"] == "train"}
    rows = _read(folder / "labelme_crowd/answers_train.csv")
    return _crowd(_label_answers((row["worker"], row["item"], row["label"]) for row in rows), truth)


def _labels(name: str, folder: Path) -> RealCrowd:
    truth = {
        row["question"]: row["truth"] for row in _read(folder / f"crowd_truth/{name}_truth.csv")
    }
    rows = _read(folder / f"crowd_truth/{name}_answer.csv")
    return _crowd(
        _label_answers((row["worker"], row["question"], row["answer"]) for row in rows), truth
    )


# The file that identifies each set, and its loader.
SOURCES: Mapping[str, tuple[str, Callable[[Path], RealCrowd]]] = {
    "birds_grid4": (
        "birds_dogs/birds_grid4.jsonl.gz",
        partial(_birds_and_dogs, "birds_grid4", _SPECIES),
    ),
    "birds_grid3_choice": (
        "birds_dogs/birds_grid3_choice.jsonl.gz",
        partial(_birds_and_dogs, "birds_grid3_choice", _SPECIES),
    ),
    "dogs_grid4": (
        "birds_dogs/dogs_grid4.jsonl.gz",
        partial(_birds_and_dogs, "dogs_grid4", _BREEDS),
    ),
    "labelme": ("labelme_crowd/answers_train.csv", _labelme),
    "mnist": ("semicrowd_mnist/grids.csv", _mnist),
    "dogs4": ("crowd_truth/dogs4_answer.csv", partial(_labels, "dogs4")),
    "face_sentiment": (
        "crowd_truth/face_sentiment_answer.csv",
        partial(_labels, "face_sentiment"),
    ),
    "bluebirds": ("crowd_truth/bluebirds_answer.csv", partial(_labels, "bluebirds")),
}
QUICK = ("birds_grid4", "birds_grid3_choice", "dogs_grid4", "labelme")


def available(folder: Path) -> list[str]:
    """The sets in the folder."""
    return [name for name, (path, _) in SOURCES.items() if (folder / path).exists()]


@lru_cache(maxsize=2)
def load(name: str, folder: Path) -> RealCrowd:
    """Load one of SOURCES; raises FileNotFoundError if the folder lacks it."""
    return SOURCES[name][1](folder)


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _label_answers(labels: Iterable[tuple[str, str, str]]) -> list[Answer]:
    """(worker, item, label) as groupings of 24 items of one worker, drawn at random.

    In the order of the files, workers of a complete matrix would all see the same grids.
    """
    by_worker: dict[str, dict[str, str]] = {}
    for worker, item, label in labels:
        by_worker.setdefault(worker, {})[item] = label
    rng = np.random.default_rng(0)
    answers = []
    for worker, labelled in by_worker.items():
        items = list(labelled)
        order = rng.permutation(len(items))
        for start in range(0, len(items), LABELS_PER_GRID):
            shown = [items[i] for i in order[start : start + LABELS_PER_GRID]]
            if len(shown) > 1:
                answers.append(Answer(worker, shown, [labelled[item] for item in shown]))
    return answers


def _crowd(answers: list[Answer], truth: Mapping[str, str]) -> RealCrowd:
    """Names replaced by dense numbers in sorted order."""
    annotators = _numbers(answer.annotator for answer in answers)
    items = _numbers(item for answer in answers for item in answer.items)
    classes = _numbers(truth.values())
    images = [[items[item] for item in answer.items] for answer in answers]
    groups = []
    for answer in answers:
        number = _numbers(answer.groups)
        groups.append([number[group] for group in answer.groups])
    who = [annotators[answer.annotator] for answer in answers]
    groupings = from_answers(images, groups, who, len(items), len(annotators))
    return RealCrowd(
        groupings, np.array([classes[truth[item]] if item in truth else -1 for item in items])
    )


def _numbers(names: Iterable[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(sorted(set(names)))}
