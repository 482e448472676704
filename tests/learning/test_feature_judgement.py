"""How well feature sets predict held-out grids of held-out images, compared with people."""

from __future__ import annotations

import numpy as np
import pytest

from learning.arrays import FloatArray, IntArray
from learning.feature_alignment import judge
from learning.feature_alignment.ceiling import split_half
from learning.groupings import Groupings
from learning.simulation import FeatureCrowd

N = 150


def crowd_answers(n_different: int = 120, repeats: int = 1) -> tuple[FloatArray, Groupings]:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((N, 12))
    crowd = FeatureCrowd(features[:, :2], 10, 0.05)
    grids = np.stack([rng.permutation(N)[:14] for _ in range(n_different)]).repeat(repeats, axis=0)
    return features, crowd.answer_grids(grids, rng.integers(0, 10, len(grids)))


def test_the_alignment_is_better_than_the_raw_features_and_noise_is_chance() -> None:
    features, answers = crowd_answers()
    noise = np.random.default_rng(3).standard_normal((N, 12))
    places = features[:, :2]

    def campaign(_: Groupings):  # type: ignore[no-untyped-def]
        def distance(i: IntArray, j: IntArray) -> FloatArray:
            return np.asarray(np.linalg.norm(places[i] - places[j], axis=1), np.float64)

        return distance

    about = np.arange(len(answers)) % 2
    judgement = judge(
        {"real": features, "noise": noise}, answers, attribute=about, campaign=campaign
    )
    real, other = judgement.features["real"], judgement.features["noise"]
    assert judgement.seen is not None
    assert real.aligned.auc > real.raw.auc + 0.05
    assert real.aligned.auc > 0.5 + 0.8 * (judgement.seen.auc - 0.5)
    assert real.used == 1.0
    assert real.aligned.accuracy > real.aligned.majority
    assert other.used == 0.0
    assert other.aligned.auc == 0.5
    assert sorted(real.by_attribute) == [0, 1]
    # No two people answered the same grid.
    assert real.aligned.n_pairs > 100


def test_half_of_the_people_predict_the_other_half() -> None:
    _, answers = crowd_answers(20, repeats=8)
    ceiling = split_half(answers)
    assert ceiling is not None
    assert ceiling.auc > 0.8
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 4, answers.groups.shape)
    random = Groupings(answers.images, groups, answers.annotators, N, 10)
    chance = split_half(random)
    assert chance is not None
    assert chance.auc == pytest.approx(0.5, abs=0.05)


def test_without_shared_pairs_there_is_no_ceiling() -> None:
    _, answers = crowd_answers(2)
    assert split_half(answers) is None


def test_attributes_of_other_answers_are_refused() -> None:
    features, answers = crowd_answers(20)
    with pytest.raises(ValueError, match="attribute must be"):
        judge({"real": features}, answers, attribute=[0, 1])
