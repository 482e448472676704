"""The training examples that a method makes of the votes: rows, labels and weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bench.neucrowd.data import Question
from learning.aggregation import aggregate
from learning.arrays import BoolArray, FloatArray, IntArray
from learning.votes import count_votes

Labelling = Callable[[Question], "Labelled"]
HELD_OUT = 0.2


@dataclass(frozen=True, eq=False)
class Labelled:
    """share: (n,) of yes, from 0 to 1; weight: (n,), 0 for items without information."""

    share: FloatArray
    weight: FloatArray

    @property
    def label(self) -> IntArray:
        return (self.share > 0.5).astype(np.int64)

    def held_out(self, seed: int) -> BoolArray:
        """(n,) a fifth of the items of each class, for choosing parameters."""
        rng = np.random.default_rng([seed, 3])
        chosen = np.zeros(len(self.share), np.bool_)
        for label in (0, 1):
            items = np.flatnonzero((self.weight > 0) & (self.label == label))
            chosen[rng.permutation(items)[: round(HELD_OUT * len(items))]] = True
        return chosen

    def doubled(self, rows: BoolArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Every item once as no and once as yes: items, labels, and weights above 0."""
        items = np.flatnonzero(rows)
        weight = np.concatenate([1 - self.share[items], self.share[items]])
        weight *= np.tile(self.weight[items], 2)
        label = np.repeat([0, 1], len(items))
        weighted = weight > 0
        return np.tile(items, 2)[weighted], label[weighted], weight[weighted]


def all_votes(question: Question) -> Labelled:
    """Every vote as a separate example (SoftProb)."""
    yes, given = count_votes(question.votes)
    return Labelled(yes / np.maximum(given, 1), given.astype(np.float64))


def majority(question: Question) -> Labelled:
    yes, given = count_votes(question.votes)
    share = yes / np.maximum(given, 1)
    return Labelled((share > 0.5).astype(np.float64), (share != 0.5) * (given > 0) * 1.0)


def dawid_skene(question: Question) -> Labelled:
    return _aggregated(question, "dawid_skene")


def glad(question: Question) -> Labelled:
    return _aggregated(question, "glad")


def _aggregated(question: Question, method: str) -> Labelled:
    chance = aggregate(question.votes, method).probability
    return Labelled((chance > 0.5).astype(np.float64), (chance != 0.5) * 1.0)
