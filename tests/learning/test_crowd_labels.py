"""Votes of a crowd, what they say together with a classifier, and where the next ones go."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import cohen_kappa_score

from learning.aggregation import aggregate
from learning.ballots import (
    NO,
    UNSURE,
    YES,
    ballot_agreement,
    ballot_consistency,
    counts_of,
    votes_of,
)
from learning.calibration import binary_scores
from learning.crowd_labels import CrowdLabels
from learning.groupings import Groupings
from learning.quality import Agreement
from learning.redundancy import expected_error, gain_per_vote
from learning.select_queries import covering_selections, telling_selections
from learning.simulation import VoteCrowd
from learning.vote_model import hear
from tests.support.scale import FULL

QUICK: dict[str, Any] = {"candidates": [{}], "n_networks": 1, "parameters": {"n_epochs": 12}}
VOTES = st.lists(st.sampled_from([YES, NO]), min_size=20, max_size=20)


def some_votes(crowd: VoteCrowd, per_item: int, seed: int = 0) -> NDArray[np.int8]:
    """(N, W) votes of `per_item` annotators on each item."""
    rng = np.random.default_rng(seed)
    votes = np.full((crowd.n_images, crowd.n_annotators), -1, np.int8)
    for item in range(crowd.n_images):
        for who in rng.choice(crowd.n_annotators, per_item, replace=False):
            votes[item, who] = crowd.answer(int(who), [item]).groups[0] == YES
    return votes


def test_votes_are_read_from_answers_and_the_last_of_each_annotator_counts() -> None:
    answers = Groupings(
        np.array([[0, 1, 2, 3], [3, 2, 1, -1], [0, 1, 2, 3]]),
        np.array([[YES, NO, UNSURE, -1], [YES, YES, NO, -1], [NO, YES, YES, UNSURE]]),
        np.array([0, 0, 1]),
        5,
        2,
    )
    assert votes_of(answers).tolist() == [[1, 0], [0, 1], [1, 1], [1, -1], [-1, -1]]
    yes, no, unsure = (counts.tolist() for counts in counts_of(answers))
    assert yes == [1, 1, 2, 1, 0]
    assert no == [1, 1, 0, 0, 0]
    assert unsure == [0, 0, 0, 1, 0]


@given(known=VOTES, cast=VOTES)
def test_votes_agree_as_cohens_kappa_says(known: list[int], cast: list[int]) -> None:
    measured = ballot_agreement(known, cast)
    if len(set(known)) == 1:
        assert measured is None
    elif len(set(cast)) == 1:
        assert measured == Agreement(0.0, 0.0)
    else:
        assert measured is not None
        assert measured.value == pytest.approx(cohen_kappa_score(known, cast))


def test_the_deviation_of_agreement_is_that_of_votes_dealt_out_at_random() -> None:
    rng = np.random.default_rng(0)
    known, cast = np.repeat([YES, NO], [6, 14]), np.repeat([YES, NO], [9, 11])
    measured = ballot_agreement(known, cast)
    dealt = [ballot_agreement(known, rng.permutation(cast)) for _ in range(4_000)]
    values = [agreement.value for agreement in dealt if agreement is not None]
    assert measured is not None
    assert measured.chance == pytest.approx(np.std(values), rel=0.05)
    assert np.mean(values) == pytest.approx(0.0, abs=0.02)


def test_who_says_the_opposite_does_not_agree_and_unsure_votes_are_left_out() -> None:
    known = [YES, YES, NO, NO, NO, YES]
    opposite = [NO, NO, YES, YES, YES, NO]
    measured = ballot_agreement(known, opposite)
    assert measured is not None
    assert measured.value < -0.9
    unsure = ballot_agreement(known, [YES, UNSURE, NO, NO, UNSURE, YES])
    assert unsure is not None
    assert unsure.value == pytest.approx(1.0)
    assert ballot_agreement(known, [UNSURE] * 6) == Agreement(0.0, 0.0)
    assert ballot_consistency(known, [NO] * 6) is None


def test_a_jury_finds_out_who_guesses_and_who_says_yes_to_all() -> None:
    rng = np.random.default_rng(1)
    truth = rng.random(400) < 0.4
    sensitivity = np.array([0.9, 0.85, 0.95, 0.9, 0.5, 1.0, 0.1])
    specificity = np.array([0.9, 0.95, 0.85, 0.9, 0.5, 0.0, 0.1])
    crowd = VoteCrowd(truth, sensitivity, specificity)
    estimate = hear(some_votes(crowd, 7), np.full(400, 0.4))
    assert ((estimate.probability > 0.5) == truth).mean() > 0.97
    assert np.abs(estimate.sensitivity - sensitivity).max() < 0.1
    assert np.abs(estimate.specificity - specificity).max() < 0.1


def test_the_prior_decides_where_there_are_no_votes_and_counts_where_there_are() -> None:
    votes = np.array([[1, 1], [1, -1], [0, 1], [-1, -1]], np.int8)
    low, high = (hear(votes, np.full(4, prior)).probability for prior in (0.2, 0.8))
    assert (high > low).all()
    assert high[3] == pytest.approx(0.8)
    with pytest.raises(ValueError, match="prior must be"):
        hear(votes, np.full(3, 0.5))
    with pytest.raises(ValueError, match="prior must be"):
        hear(votes, np.full(4, 1.5))


@given(st.floats(0.0, 1.0), st.floats(0.5, 1.0), st.floats(0.5, 1.0))
def test_votes_never_make_the_expected_error_larger(
    probability: float, sensitivity: float, specificity: float
) -> None:
    errors = [expected_error([probability], sensitivity, specificity, n)[0] for n in range(5)]
    assert errors[0] == pytest.approx(min(probability, 1 - probability))
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(errors))
    assert gain_per_vote([probability], sensitivity, specificity)[0] >= 0


def test_the_expected_error_is_that_of_drawn_votes() -> None:
    rng = np.random.default_rng(0)
    n, p, sensitivity, specificity = 200_000, 0.3, 0.8, 0.9
    truth = rng.random(n) < p
    share = np.where(truth, sensitivity, 1 - specificity)
    n_yes = (rng.random((n, 3)) < share[:, None]).sum(axis=1)
    wrong = sum(min(truth[n_yes == k].sum(), (~truth[n_yes == k]).sum()) for k in range(4)) / n
    assert expected_error([p], sensitivity, specificity, 3)[0] == pytest.approx(wrong, abs=0.003)


def test_what_is_contested_gains_most() -> None:
    gain = gain_per_vote([0.5, 0.8, 0.99, 0.01], 0.85, 0.85)
    assert gain[0] > gain[1] > gain[2]
    assert gain[3] == pytest.approx(gain[2])
    assert gain_per_vote([0.5], 0.5, 0.5)[0] == pytest.approx(0.0)


def test_first_grids_cover_all_before_any_image_comes_twice() -> None:
    grids = covering_selections(7, 4, 20, np.random.default_rng(0))
    assert len(np.unique(grids[:5])) == 20
    assert all(len(set(grid)) == 4 for grid in grids.tolist())
    uneven = covering_selections(50, 7, 20, np.random.default_rng(1))
    assert all(len(set(grid)) == 7 for grid in uneven.tolist())
    counts = np.bincount(uneven.ravel(), minlength=20)
    assert counts.max() - counts.min() <= 1
    with pytest.raises(ValueError, match="only 20 images"):
        covering_selections(1, 21, 20, np.random.default_rng(0))


def test_later_grids_ask_what_gains_most_and_some_at_random() -> None:
    gain = np.linspace(1, 0, 100)
    rng = np.random.default_rng(0)
    grids = telling_selections(gain, 4, 10, rng)
    assert set(grids.ravel().tolist()) == set(range(40))
    mixed = telling_selections(gain, 4, 10, rng, random_share=0.2)
    assert len(set(mixed.ravel().tolist()) & set(range(32))) == 32
    assert all(len(set(grid)) == 10 for grid in mixed.tolist())
    # More places than images: all are asked again.
    many = telling_selections(gain[:12], 5, 10, rng)
    assert np.bincount(many.ravel(), minlength=12)[:10].min() >= 4


def test_small_grids_have_their_share_of_random_images_over_all_of_them() -> None:
    gain = np.r_[np.ones(400), np.zeros(10_000)]
    grids = telling_selections(gain, 100, 4, np.random.default_rng(0), random_share=0.1)
    n_random = (grids >= 400).sum(axis=1)
    assert set(n_random.tolist()) == {0, 1}
    # 40 of 100 expected; five standard deviations are 25.
    assert 15 < n_random.sum() < 65


def adaptive(seed: int) -> tuple[float, float, float, float]:
    """Accuracy with five votes everywhere (majority, Dawid-Skene), adaptive, and its votes."""
    rng = np.random.default_rng(seed)
    truth = rng.random(400) < 0.3
    features = rng.normal(size=(400, 12))
    features[:, :3] += 1.2 * truth[:, None]
    crowd = VoteCrowd.of_people(truth, 20, noise=0.18, random_state=seed)
    five = some_votes(crowd, 5, seed)
    fixed = [
        ((aggregate(five, method).probability > 0.5) == truth).mean()
        for method in ("majority", "dawid_skene")
    ]
    votes = np.full((400, 20), -1, np.int8)
    asked = np.arange(400)
    # 1 vote on each, then on the half that gains most: 2.5 votes each.
    for _ in range(4):
        for item in asked:
            who = int(rng.choice(np.flatnonzero(votes[item] < 0)))
            votes[item, who] = crowd.answer(who, [int(item)]).groups[0] == YES
        model = CrowdLabels(QUICK, random_state=seed).fit(features, votes)
        gain = gain_per_vote(model.probability_, *model.mean_annotator_)
        asked = np.argsort(-gain)[:200]
    right = ((model.probability_ > 0.5) == truth).mean()
    return (*fixed, right, (votes >= 0).sum() / 400)


def test_adaptive_redundancy_is_as_good_as_five_votes_with_fewer() -> None:
    n_collections = 2 if FULL else 1
    figures = np.array([adaptive(seed) for seed in range(n_collections)])
    majority, dawid_skene, right, n_votes = figures.mean(axis=0)
    assert n_votes <= 0.6 * 5
    # A collection of 400 has a standard error of 0.011.
    assert right >= max(majority, dawid_skene) - 0.015 / n_collections**0.5, figures


def test_features_that_tell_nothing_leave_the_votes_to_decide() -> None:
    rng = np.random.default_rng(3)
    truth = rng.random(200) < 0.5
    crowd = VoteCrowd.of_people(truth, 9, noise=0.15, random_state=3)
    votes = some_votes(crowd, 5)
    model = CrowdLabels(QUICK, random_state=0).fit(rng.normal(size=(200, 5)), votes)
    alone = hear(votes, np.full(200, 0.5)).probability > 0.5
    assert ((model.probability_ > 0.5) == alone).mean() > 0.97
    assert np.abs(model.prior_ - 0.5).max() < 0.25


def test_probabilities_are_as_often_right_as_they_say() -> None:
    rng = np.random.default_rng(4)
    truth = rng.random(600) < 0.4
    features = rng.normal(size=(600, 8)) + 0.9 * truth[:, None]
    crowd = VoteCrowd.of_people(truth, 15, noise=0.2, random_state=4)
    model = CrowdLabels(QUICK, random_state=0).fit(features, some_votes(crowd, 2))
    right = ((model.probability_ > 0.5) == truth).mean()
    expected = np.maximum(model.probability_, 1 - model.probability_).mean()
    assert expected == pytest.approx(right, abs=0.04)


def test_it_is_saved_and_read_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    truth = rng.random(80) < 0.5
    features = rng.normal(size=(80, 4)) + 2 * truth[:, None]
    votes = some_votes(VoteCrowd.of_people(truth, 5, random_state=5), 3)
    model = CrowdLabels(QUICK, random_state=0).fit(features, votes)
    model.save(tmp_path / "model")
    again = CrowdLabels.load(tmp_path / "model")
    assert np.array_equal(again.probability_, model.probability_)
    assert np.allclose(again.predict_proba(features), model.predict_proba(features))


def test_votes_of_one_class_need_no_classifier(tmp_path: Path) -> None:
    features = np.random.default_rng(0).normal(size=(40, 3))
    votes = np.ones((40, 3), np.int8)
    model = CrowdLabels(QUICK, random_state=0).fit(features, votes)
    assert model.classifier_ is None
    assert (model.probability_ > 0.5).all()
    assert model.embedding_.shape == (40, 3)
    with pytest.raises(ValueError, match="one class"):
        model.predict_proba(features)
    model.save(tmp_path / "model")
    assert CrowdLabels.load(tmp_path / "model").classifier_ is None


@pytest.mark.parametrize(
    ("features", "votes", "message"),
    [
        (np.array([[np.nan], [1.0]]), np.ones((2, 1)), "finite"),
        (np.zeros((3, 2)), np.ones((2, 2)), "3 rows, but votes has 2"),
        (np.zeros((2, 2)), np.array([[2], [1]]), "got 2 in row 0"),
    ],
)
def test_bad_input_is_refused(features: Any, votes: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CrowdLabels(QUICK).fit(features, votes)


def test_where_all_are_unsure_every_label_is_open() -> None:
    features = np.random.default_rng(0).normal(size=(6, 3))
    model = CrowdLabels(QUICK, random_state=0).fit(features, np.full((6, 2), -1))
    assert model.classifier_ is None
    assert model.probability_ == pytest.approx(np.full(6, 0.5))
    assert model.embedding_.shape == (6, 3)


def test_constant_features_and_items_without_votes_are_taken() -> None:
    votes = some_votes(VoteCrowd.of_people(np.arange(40) % 2 == 0, 4, random_state=0), 3)
    votes[:5] = -1
    model = CrowdLabels(QUICK, random_state=0).fit(np.ones((40, 3)), votes)
    assert model.classifier_ is None
    assert np.isfinite(model.probability_).all()
    assert model.probability_[:5] == pytest.approx(np.full(5, model.prior_[0]))


def test_scores_of_known_labels() -> None:
    truth = np.array([True, True, False, False])
    scores = binary_scores(truth, [0.9, 0.6, 0.7, 0.1])
    assert (scores.accuracy, scores.auc) == (0.75, 0.75)
    assert (scores.recall[0], scores.recall[-1]) == (0.0, 1.0)
    with pytest.raises(ValueError, match="both true and false labels"):
        binary_scores(truth[:2], [0.5, 0.5])
