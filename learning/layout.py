"""The assignment of an embedding's columns to attributes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learning.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Layout:
    """How the subspaces of attributes fill K columns.

    turn: (M, K) maps the model's coordinates to the embedding; orthogonal within an attribute,
        so that distances are kept unless columns had to be left out
    attribute: (K,) attribute of each column, -1 for an empty one
    """

    turn: FloatArray
    attribute: IntArray

    def column(self, attribute: int) -> int:
        """The strongest column of an attribute."""
        own = np.flatnonzero(self.attribute == attribute)
        return int(attribute if attribute in own else own[0])

    def embedding(self, positions: FloatArray) -> FloatArray:
        """The embedding (N, K) of positions (N, M)."""
        return np.asarray(positions @ self.turn)

    def deviation(self, variance: FloatArray) -> FloatArray:
        """(N, K) standard deviations of the embedding from variances (N, M)."""
        return np.asarray(np.sqrt(variance @ self.turn**2))


def lay_out(positions: FloatArray, owner: IntArray, number: IntArray, k: int) -> Layout:
    """Put every attribute's strongest direction in the column of its number, and the others after.

    positions: (N, M); owner: (M,) 0..A-1; number: (A,) column and number of each attribute,
    different and below k. If there are more directions than columns, the weakest are left out.
    """
    turn, attribute = np.zeros((len(owner), k)), np.full(k, -1, np.int64)
    rest: list[tuple[float, int, FloatArray]] = []
    for place, own_number in enumerate(number):
        columns = np.flatnonzero(owner == place)
        own = positions[:, columns] - positions[:, columns].mean(axis=0)
        strength, directions = np.linalg.eigh(own.T @ own / max(1, len(own)))
        for rank, column in enumerate(np.argsort(-strength)):
            direction = np.zeros(len(owner))
            direction[columns] = _signed(directions[:, column])
            if rank == 0:
                turn[:, own_number], attribute[own_number] = direction, own_number
            else:
                rest.append((float(strength[column]), int(own_number), direction))
    free = np.flatnonzero(attribute < 0)
    rest.sort(key=lambda entry: -entry[0])
    for column, (_, own_number, direction) in zip(free, rest, strict=False):
        turn[:, column], attribute[column] = direction, own_number
    return Layout(turn, attribute)


def _signed(direction: FloatArray) -> FloatArray:
    """The direction with a positive largest entry, so that a repeated fit is not reversed."""
    largest: float = direction[np.argmax(np.abs(direction))]
    return np.asarray(direction * (1.0 if largest >= 0 else -1.0))
