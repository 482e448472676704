"""Agreement of annotators with known answers, with themselves and with each other.

Agreement of two groupings of the same images is the adjusted Rand index (Hubert and Arabie 1985):
1 for the same groups, 0 on average if images are grouped at random.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

# One-sided quantiles of the normal distribution. A random annotator stays below the first in
# 99.5 % of cases and below the second in 95 %. Annotators below the second are called random;
# between the two there is no verdict.
BAND = 2.576
LIKELY = 1.645
ENOUGH_ANSWERS = 5
ONE_GROUP = 0.9
OFTEN = 0.8
HASTY = 0.25
# Cohen's kappa with a model of the crowd. Of simulated annotators with 5 to 25 answers, those who
# group at random stay below 0.17. Honest ones reach 0.7 after ten answers, whatever attribute each
# answer is about.
VOUCHED = 0.4

Verdict = Literal["unknown", "good", "chance", "one_group"]


@dataclass(frozen=True)
class Agreement:
    """Adjusted Rand index, and its standard deviation if the given groups were random."""

    value: float
    chance: float


@dataclass(frozen=True)
class Enough:
    """How many checks there must be for a verdict, for a warning, and to stop an annotator.

    The defaults are for groupings: an honest annotator who misplaces three in ten images is below
    LIKELY in one case of 100 with two checks of 20 images, in one of 6 with two of 10 images; with
    three checks in none and in one of 25, with four in fewer than one of 1,000 and in one of 35
    (measured).
    """

    verdict: int = 2
    warn: int = 3
    stop: int = 4


GROUPINGS = Enough()


@dataclass(frozen=True)
class Evidence:
    """Mean agreement of an annotator, and the value below which a random one stays (`band`)."""

    mean: float
    band: float
    n: int


def agreement(known: ArrayLike, given: ArrayLike) -> Agreement | None:
    """Agreement of two groupings (S,), with −1 for a leftover, which counts as a separate group.

    None if nothing can be compared: one of them has a single group or only leftovers, and so would
    agree equally with any other. But if only the given grouping is like that and the known one is
    not, the agreement is 0.
    Raises ValueError if the lengths differ.
    """
    reference, groups = _partition(known), _partition(given)
    if len(reference) != len(groups):
        raise ValueError(
            f"Groupings of {len(reference)} and {len(groups)} images cannot be compared."
        )
    if _is_trivial(reference):
        return None
    if _is_trivial(groups):
        return Agreement(0.0, 0.0)
    return Agreement(_adjusted_rand(reference, groups), _chance_deviation(reference, groups))


def consistency(earlier: ArrayLike, later: ArrayLike) -> Agreement | None:
    """Agreement of an annotator's two answers to the same images.

    None if either has a single group: an annotator who never sorts would agree perfectly.
    """
    if _is_trivial(_partition(later)):
        return None
    return agreement(earlier, later)


def _partition(groups: ArrayLike) -> NDArray[np.int64]:
    """(S,) dense group numbers in which each leftover is alone."""
    given = np.asarray(groups, np.int64)
    alone = given < 0
    apart = given.copy()
    apart[alone] = given.max(initial=0) + 1 + np.arange(alone.sum())
    return np.unique(apart, return_inverse=True)[1]


def _is_trivial(partition: NDArray[np.int64]) -> bool:
    n_groups = len(np.unique(partition))
    return n_groups <= 1 or n_groups == len(partition)


def _pairs(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    return counts * (counts - 1) / 2


def _adjusted_rand(reference: NDArray[np.int64], groups: NDArray[np.int64]) -> float:
    together, expected, most = _rand_terms(reference, groups)
    return float((together - expected) / (most - expected))


def _rand_terms(
    reference: NDArray[np.int64], groups: NDArray[np.int64]
) -> tuple[float, float, float]:
    """The number of pairs together in both, the number expected by chance, and the maximum."""
    table = np.zeros((reference.max() + 1, groups.max() + 1), np.int64)
    np.add.at(table, (reference, groups), 1)
    a, b = _pairs(table.sum(1)).sum(), _pairs(table.sum(0)).sum()
    expected = a * b / _pairs(np.array([len(reference)]))[0]
    return float(_pairs(table).sum()), float(expected), float((a + b) / 2)


def _chance_deviation(reference: NDArray[np.int64], groups: NDArray[np.int64]) -> float:
    """Standard deviation of the index over all permutations of `groups`.

    It has a closed form: the variance of the number of pairs together in two random partitions of
    given sizes (Mantel 1967's permutation moments for 0/1 matrices).
    """
    n = len(reference)
    degree = [np.bincount(part)[part] - 1.0 for part in (reference, groups)]
    pairs = [row.sum() for row in degree]  # ordered pairs together
    paths = [(row * (row - 1)).sum() for row in degree]  # ordered pairs of pairs that share one
    apart = [m * m - 2 * m - 4 * p for m, p in zip(pairs, paths, strict=True)]
    square = 2 * pairs[0] * pairs[1] / (n * (n - 1))
    if n > 2:
        square += 4 * paths[0] * paths[1] / (n * (n - 1) * (n - 2))
    if n > 3:
        square += apart[0] * apart[1] / (n * (n - 1) * (n - 2) * (n - 3))
    mean = pairs[0] * pairs[1] / (n * (n - 1))
    _, expected, most = _rand_terms(reference, groups)
    # Ordered pairs count each pair twice.
    return float(np.sqrt(max(0.0, square - mean * mean)) / 2 / (most - expected))


@dataclass
class Tally:
    """A running sum of an annotator's agreements."""

    n: int = 0
    values: float = 0.0
    squares: float = 0.0

    def add(self, check: Agreement) -> None:
        self.n += 1
        self.values += check.value
        self.squares += check.chance**2

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.n + other.n, self.values + other.values, self.squares + other.squares)

    def evidence(self) -> Evidence | None:
        """The mean of the agreements with its chance band; None without agreements."""
        if not self.n:
            return None
        return Evidence(self.values / self.n, BAND * self.squares**0.5 / self.n, self.n)


def evidence(agreements: Iterable[Agreement]) -> Evidence | None:
    """The mean of several agreements with its chance band; None without agreements."""
    tally = Tally()
    for result in agreements:
        tally.add(result)
    return tally.evidence()


def is_one_group(groups: ArrayLike) -> bool:
    """Whether (nearly) all images of an answer are in one group, or in none."""
    given = np.asarray(groups, np.int64)
    return bool(np.bincount(given + 1).max(initial=0) >= ONE_GROUP * len(given))


def verdict(
    checks: Evidence | None, n_answers: int, n_one_group: int, needed: Enough = GROUPINGS
) -> Verdict:
    """The verdict on an annotator.

    `one_group`: hardly ever sorts. `chance`: agrees no better than random groups do.
    `good`: agrees better than they do. `unknown`: too little evidence.
    """
    enough = checks is not None and checks.n >= needed.verdict
    if checks is not None and enough and checks.mean > checks.band:
        return "good"
    # This comes after the checks: if the images of most grids are similar, one group may be right.
    if n_answers >= ENOUGH_ANSWERS and n_one_group >= OFTEN * n_answers:
        return "one_group"
    if checks is None or not enough:
        return "unknown"
    return "chance" if checks.mean <= checks.band * LIKELY / BAND else "unknown"


def with_model(given: Verdict, agreement: float | None) -> Verdict:
    """The verdict if a model of the crowd agrees with an annotator's answers by that much (Cohen's
    kappa, given the attribute of each answer; None if unknown).

    Somebody who groups a repeated or known grid by another attribute agrees with it no better than
    random groups do, but a model that knows the attributes predicts their answers.
    """
    if given == "chance" and agreement is not None and agreement >= VOUCHED:
        return "good"
    return given


def deserves(
    given: Verdict, checks: Evidence | None, n_flat: int, needed: Enough = GROUPINGS
) -> Literal["nothing", "warning", "stop"]:
    """The consequence of a verdict.

    n_flat: number of gold grids with several known groups that were answered as one; without any,
    one group may be right.
    """
    if given == "chance" and checks is not None:
        if checks.n >= needed.stop:
            return "stop"
        return "warning" if checks.n >= needed.warn else "nothing"
    if given == "one_group" and n_flat > 0:
        return "stop" if n_flat >= needed.verdict else "warning"
    return "nothing"


def is_hasty(seconds: float | None, typical: float | None) -> bool:
    """Whether an annotator's median time is a small share of the others' (both in seconds)."""
    return seconds is not None and typical is not None and seconds < HASTY * typical
