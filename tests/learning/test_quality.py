"""Agreement, its chance band, and telling careless annotators from honest, noisy ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from learning.quality import (
    Agreement,
    Verdict,
    agreement,
    consistency,
    deserves,
    evidence,
    is_hasty,
    is_one_group,
    verdict,
    with_model,
)

SIZE = 20
GROUPS = arrays(np.int64, SIZE, elements=st.integers(0, 4))


@given(known=GROUPS, given=GROUPS)
def test_agreement_is_the_adjusted_rand_index(
    known: NDArray[np.int64], given: NDArray[np.int64]
) -> None:
    measured = agreement(known, given)
    n_known, n_given = len(np.unique(known)), len(np.unique(given))
    if n_known == 1:
        assert measured is None
    elif n_given == 1:
        assert measured == Agreement(0.0, 0.0)
    else:
        assert measured is not None
        assert measured.value == pytest.approx(adjusted_rand_score(known, given))


@pytest.mark.parametrize("seed", range(5))
def test_chance_is_the_spread_over_all_ways_to_deal_out_the_images(seed: int) -> None:
    rng = np.random.default_rng(seed)
    known = np.repeat(np.arange(4), 5)
    given = rng.integers(0, rng.integers(2, 6), SIZE)
    measured = agreement(known, given)
    assert measured is not None
    dealt = [adjusted_rand_score(known, rng.permutation(given)) for _ in range(3000)]
    assert measured.chance == pytest.approx(np.std(dealt), rel=0.08)


def test_each_leftover_is_alone() -> None:
    measured = agreement([0, 0, 1, 1], [0, 0, -1, -1])
    assert measured is not None
    assert measured.value == pytest.approx(adjusted_rand_score([0, 0, 1, 1], [0, 0, 1, 2]))
    assert agreement([0, 0, 1, 1], [-1, -1, -1, -1]) == Agreement(0.0, 0.0)


def test_who_never_sorts_is_not_consistent() -> None:
    assert consistency([0, 0, 0, 0], [0, 0, 0, 0]) is None
    assert consistency([0, 0, 1, 1], [0, 0, 0, 0]) is None
    assert consistency([0, 0, 1, 1], [1, 1, 0, 0]) is not None


def test_groupings_of_different_images_are_refused() -> None:
    with pytest.raises(ValueError, match="4 and 3 images"):
        agreement([0, 0, 1, 1], [0, 1, 1])


def test_one_group_and_haste() -> None:
    assert is_one_group([0] * 18 + [1, 2])
    assert is_one_group([-1] * 20)
    assert not is_one_group([0] * 17 + [1, 2, 3])
    assert is_hasty(2.0, 40.0)
    assert not is_hasty(20.0, 40.0)
    assert not is_hasty(None, 40.0)


def a_grid(rng: np.random.Generator, size: int) -> NDArray[np.int64]:
    """Known groups of a gold grid: two to four, of about the same size."""
    return rng.permutation(np.arange(size) % rng.integers(2, 5))


def answer(
    truth: NDArray[np.int64], noise: float, n_groups: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The truth under other numbers, a share of the images misplaced."""
    groups = rng.permutation(n_groups)[truth]
    misplaced = rng.random(len(truth)) < noise
    groups[misplaced] = rng.integers(0, n_groups, misplaced.sum())
    return groups


class Annotator:
    """Sorts grids: one of ten is gold, one of ten a repeat of an earlier one."""

    def __init__(self, kind: str, noise: float, size: int, n_groups: int, seed: int) -> None:
        self.kind, self.noise, self.size, self.n_groups = kind, noise, size, n_groups
        self.rng = np.random.default_rng(seed)
        self.given: list[NDArray[np.int64]] = []
        self.checks: list[Agreement] = []
        self.n_flat = 0

    def sort(self, truth: NDArray[np.int64]) -> NDArray[np.int64]:
        if self.kind == "random":
            groups = self.rng.integers(0, self.n_groups, self.size)
        elif self.kind == "lazy":
            groups = np.zeros(self.size, np.int64)
        else:
            groups = answer(truth, self.noise, self.n_groups, self.rng)
        self.given.append(groups)
        return groups

    def ten_grids(self) -> None:
        asked = [a_grid(self.rng, self.size) for _ in range(8)]
        first = [self.sort(truth) for truth in asked][3]
        gold = a_grid(self.rng, self.size)
        sorted_gold = self.sort(gold)
        self.n_flat += is_one_group(sorted_gold)
        agreements = [consistency(first, self.sort(asked[3])), agreement(gold, sorted_gold)]
        self.checks += [check for check in agreements if check is not None]

    @property
    def verdict(self) -> Verdict:
        n_one_group = sum(is_one_group(groups) for groups in self.given)
        return verdict(evidence(self.checks), len(self.given), n_one_group)

    @property
    def would_be_stopped(self) -> bool:
        return deserves(self.verdict, evidence(self.checks), self.n_flat) == "stop"


CASES = pytest.mark.parametrize(("size", "n_groups"), [(24, 10), (20, 4)], ids=["grid", "bins"])


def after_ten(kind: str, noise: float, size: int, n_groups: int) -> list[str]:
    verdicts: list[str] = []
    for seed in range(50):
        annotator = Annotator(kind, noise, size, n_groups, seed)
        annotator.ten_grids()
        verdicts.append(annotator.verdict)
    return verdicts


@CASES
def test_ten_grids_tell_spammers_from_honest_annotators(size: int, n_groups: int) -> None:
    for noise in (0.0, 0.1, 0.2):
        honest = after_ten("honest", noise, size, n_groups)
        assert honest.count("good") >= 49
        assert not {"chance", "one_group"} & set(honest)
    assert set(after_ten("lazy", 0, size, n_groups)) == {"one_group"}
    random = after_ten("random", 0, size, n_groups)
    assert random.count("chance") >= 44
    assert random.count("good") <= 2


@CASES
def test_an_honest_annotator_is_never_stopped_in_a_hundred_grids(size: int, n_groups: int) -> None:
    for noise in (0.0, 0.1, 0.2, 0.3):
        for seed in range(50):
            annotator = Annotator("honest", noise, size, n_groups, seed)
            for _ in range(10):
                annotator.ten_grids()
                assert not annotator.would_be_stopped, (noise, seed)


@CASES
def test_spammers_are_stopped_within_fifty_grids(size: int, n_groups: int) -> None:
    for kind, fewest in (("random", 48), ("lazy", 50)):
        n_stopped = 0
        for seed in range(50):
            annotator = Annotator(kind, 0, size, n_groups, seed)
            stopped = False
            for _ in range(5):
                annotator.ten_grids()
                stopped = stopped or annotator.would_be_stopped
            n_stopped += stopped
        assert n_stopped >= fewest, kind


def test_who_answers_gold_rightly_is_good_though_all_else_is_one_group() -> None:
    """Late rounds show images that are alike: one group may be the honest answer."""
    gold = evidence([Agreement(1.0, 0.1)] * 2)
    assert verdict(gold, 20, 18) == "good"
    assert deserves(verdict(evidence([Agreement(1.0, 0.1)]), 20, 18), None, 0) == "nothing"
    assert deserves("one_group", None, 1) == "warning"
    assert deserves("one_group", None, 2) == "stop"


def test_a_warning_needs_more_than_two_checks_and_a_stop_one_more() -> None:
    random = [evidence([Agreement(0.0, 0.1)] * n) for n in (2, 3, 4)]
    assert {verdict(record, 20, 0) for record in random} == {"chance"}
    assert [deserves("chance", record, 0) for record in random] == ["nothing", "warning", "stop"]


@pytest.mark.parametrize(
    ("given", "agreement", "expected"),
    [
        ("chance", 0.4, "good"),
        ("chance", 0.39, "chance"),
        ("chance", None, "chance"),
        ("one_group", 0.9, "one_group"),
        ("unknown", 0.9, "unknown"),
    ],
)
def test_a_model_vouches_only_for_those_who_look_random(
    given: Verdict, agreement: float | None, expected: Verdict
) -> None:
    assert with_model(given, agreement) == expected
