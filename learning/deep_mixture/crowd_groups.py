"""Groups of the annotated items from the crowd's answers alone.

This is correlation clustering: every pair has the log-odds of its labels (eq. 14's weights),
and groups are joined as long as the sum of the log-odds between two of them is positive,
largest first (greedy additive edge contraction; Keuper et al., ICCV 2015). Then single items
move. Annotators' reliabilities and groups are found in turn. The number of groups follows
from the answers.
"""

from __future__ import annotations

import heapq

import numpy as np

from learning.arrays import BoolArray, FloatArray, IntArray

_ROUNDS = 3
_SWEEPS = 3
# Right and wrong answers with which every annotator starts: slightly better than chance.
_PRIOR_RIGHT, _PRIOR_WRONG = 4.0, 1.0

Neighbours = list[dict[int, float]]


def crowd_groups(
    first: IntArray, second: IntArray, annotator: IntArray, same: BoolArray, n_items: int
) -> IntArray:
    """(n_items,) group of every item, largest first; an item without pairs is alone.

    first, second: (P,) items; annotator (P,); same (P,).
    """
    n_annotators = int(annotator.max(initial=-1)) + 1
    counts = np.tile([_PRIOR_RIGHT, _PRIOR_WRONG], (n_annotators, 2)).astype(np.float64)
    groups = np.arange(n_items)
    for _ in range(_ROUNDS):
        weights = _log_odds(counts, annotator, same)
        neighbours = _weighted(first, second, weights, n_items)
        groups = _moved(_contracted(neighbours, n_items), neighbours)
        counts = _counts(groups[first] == groups[second], annotator, same, n_annotators)
    sizes = np.bincount(groups)
    rank = np.empty(len(sizes), np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return rank[groups]


def _counts(
    together: BoolArray, annotator: IntArray, same: BoolArray, n_annotators: int
) -> FloatArray:
    """(W, 4): hits, misses, right and wrong "different", with the prior's."""
    kinds = np.where(together, np.where(same, 0, 1), np.where(same, 3, 2))
    flat: FloatArray = np.bincount(annotator * 4 + kinds, minlength=n_annotators * 4).astype(
        np.float64
    )
    prior = np.array([_PRIOR_RIGHT, _PRIOR_WRONG] * 2)
    counts: FloatArray = flat.reshape(n_annotators, 4) + prior
    return counts


def _log_odds(counts: FloatArray, annotator: IntArray, same: BoolArray) -> FloatArray:
    """(P,) log P(label | same group) - log P(label | different groups)."""
    sensitivity = counts[:, 0] / (counts[:, 0] + counts[:, 1])
    specificity = counts[:, 2] / (counts[:, 2] + counts[:, 3])
    odds_if_same = np.log(sensitivity / (1 - specificity))[annotator]
    odds_if_different = np.log((1 - sensitivity) / specificity)[annotator]
    return np.where(same, odds_if_same, odds_if_different)


def _weighted(first: IntArray, second: IntArray, weights: FloatArray, n_items: int) -> Neighbours:
    neighbours: Neighbours = [{} for _ in range(n_items)]
    for a, b, weight in zip(first.tolist(), second.tolist(), weights.tolist(), strict=True):
        total = neighbours[a].get(b, 0.0) + weight
        neighbours[a][b] = neighbours[b][a] = total
    return neighbours


def _contracted(weighted: Neighbours, n_items: int) -> IntArray:
    """(n_items,) group of every item after joining while a sum is positive."""
    neighbours = [dict(row) for row in weighted]
    heap = [
        (-w, a, b)
        for a, row in enumerate(neighbours)
        for b, w in row.items()
        if a < b < n_items and w > 0
    ]
    heapq.heapify(heap)
    parent = list(range(n_items))
    while heap:
        negative, a, b = heapq.heappop(heap)
        # Sums that have changed are in the heap again with their new value.
        if neighbours[a].get(b) != -negative:
            continue
        if len(neighbours[a]) < len(neighbours[b]):
            a, b = b, a
        _join(neighbours, a, b, heap)
        parent[b] = a
    return _numbered(parent)


def _join(neighbours: Neighbours, kept: int, gone: int, heap: list[tuple[float, int, int]]) -> None:
    del neighbours[kept][gone]
    for other, weight in neighbours[gone].items():
        if other == kept:
            continue
        total = neighbours[kept].get(other, 0.0) + weight
        neighbours[kept][other] = neighbours[other][kept] = total
        del neighbours[other][gone]
        if total > 0:
            heapq.heappush(heap, (-total, kept, other))
    neighbours[gone] = {}


def _numbered(parent: list[int]) -> IntArray:
    roots = np.empty(len(parent), np.int64)
    for item in range(len(parent)):
        root = item
        while parent[root] != root:
            parent[root] = parent[parent[root]]
            root = parent[root]
        roots[item] = root
    return np.asarray(np.unique(roots, return_inverse=True)[1], np.int64)


def _moved(groups: IntArray, neighbours: Neighbours) -> IntArray:
    """Move each item to the group with the largest sum of log-odds, or alone if none is > 0."""
    label = groups.tolist()
    free = max(label, default=-1) + 1
    for _ in range(_SWEEPS):
        changed = False
        for item, row in enumerate(neighbours):
            sums: dict[int, float] = {}
            for other, weight in row.items():
                sums[label[other]] = sums.get(label[other], 0.0) + weight
            best = max(sums, key=lambda group: sums[group], default=label[item])
            current = sums.get(label[item], 0.0)
            if sums.get(best, 0.0) > max(current, 0.0) + 1e-9:
                label[item] = best
            elif current < -1e-9:
                label[item], free = free, free + 1
            else:
                continue
            changed = True
        if not changed:
            break
    return np.asarray(np.unique(label, return_inverse=True)[1], np.int64)
