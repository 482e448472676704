"""Votes: what they say of an item, and what crowd-kit makes of them."""

import numpy as np
import pytest

from learning.aggregation import METHODS, aggregate
from learning.votes import as_votes, assured_by_probability, assured_by_votes


def test_assurance_is_the_papers_where_all_have_voted() -> None:
    votes = [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [0, 0, 0, 0, 0]]
    assured = assured_by_votes(as_votes(votes))
    np.testing.assert_allclose(assured.assurance, [1.0, 0.2, 1.0])
    assert assured.label.tolist() == [1, 1, 0]


def test_ties_and_items_without_votes_are_known_nothing_of() -> None:
    assured = assured_by_votes(as_votes([[1, 0, -1], [-1, -1, -1], [1, 1, 1]]))
    assert assured.known.tolist() == [False, False, True]


def test_one_vote_is_less_sure_than_three_alike() -> None:
    one_vote, three = assured_by_votes(as_votes([[1, -1, -1], [1, 1, 1]])).assurance
    assert 0 < one_vote < three == 1.0


def test_probabilities_give_label_and_assurance() -> None:
    assured = assured_by_probability([0.9, 0.5, 0.0])
    assert assured.label.tolist() == [1, 0, 0]
    np.testing.assert_allclose(assured.assurance, [0.8, 0.0, 1.0])


@pytest.mark.parametrize(
    ("votes", "says"),
    [
        ([[0, 2]], "got 2 in row 0, column 1"),
        ([[0.5, 1]], "got 0.5 in row 0"),
        ([[float("nan"), 1]], "got nan in row 0"),
        ([1, 0], r"must be \(n, d\)"),
    ],
)
def test_what_is_no_vote_is_named(votes: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        as_votes(votes)  # type: ignore[arg-type]


def a_crowd(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Votes of six good annotators and a spammer, a third of them missing, and the truth."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, n)
    right = rng.random((n, 7)) < [0.85] * 6 + [0.5]
    votes = np.where(right, truth[:, None], 1 - truth[:, None])
    votes[rng.random((n, 7)) < 0.33] = -1
    votes[0] = -1
    return votes, truth


@pytest.mark.parametrize("method", METHODS)
def test_aggregation_finds_the_truth_and_the_spammer(method: str) -> None:
    votes, truth = a_crowd()
    estimate = aggregate(votes, method)
    assert ((estimate.probability > 0.5) == truth)[1:].mean() > 0.88
    assert estimate.probability[0] == 0.5
    assert int(estimate.quality.argmin()) == 6


def test_an_annotator_who_always_says_yes_misleads_nobody() -> None:
    votes, truth = a_crowd()
    votes[:, 6] = 1
    estimate = aggregate(votes)
    assert ((estimate.probability > 0.5) == truth)[1:].mean() > 0.88


@pytest.mark.parametrize("method", METHODS)
def test_without_any_vote_nothing_is_known(method: str) -> None:
    estimate = aggregate([[-1, -1]], method)
    assert estimate.probability.tolist() == [0.5]
    assert np.isnan(estimate.quality).all()


def test_unknown_methods_are_errors() -> None:
    with pytest.raises(ValueError, match="method must be one of"):
        aggregate([[1]], "loudest")


def test_votes_of_one_kind_only_are_no_error() -> None:
    assert aggregate([[0, 0], [0, -1]], "majority").probability.tolist() == [0.0, 0.0]
