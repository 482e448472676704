"""Two embeddings of the same images: known turns, known noise, and chance."""

import numpy as np
import pytest
from scipy.spatial import procrustes
from scipy.stats import ortho_group, spearmanr

from learning.comparison import align, compare
from learning.resampling import jackknife_error

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(300, 3)) * [3.0, 2.0, 1.0]


def turned(points: np.ndarray) -> np.ndarray:
    """Turned, mirrored, scaled and moved."""
    turn = ortho_group.rvs(points.shape[1], random_state=1)
    turn[:, 0] *= -np.sign(np.linalg.det(turn))
    return np.asarray(0.2 * points @ turn + 7.0)


def test_a_turned_embedding_is_the_same() -> None:
    comparison = compare(POINTS, turned(POINTS))
    assert comparison.disparity.value == pytest.approx(0, abs=1e-12)
    assert comparison.overlap.value == 1
    assert comparison.rank_correlation.value == pytest.approx(1)
    np.testing.assert_allclose(
        comparison.alignment.aligned, comparison.alignment.reference, atol=1e-12
    )
    assert comparison.alignment.moved.max() < 1e-10


def test_disparity_is_scipys_and_dimensions_may_differ() -> None:
    other = turned(POINTS + RNG.normal(size=POINTS.shape))
    assert align(POINTS, other).disparity == pytest.approx(procrustes(POINTS, other)[2])
    flat = align(POINTS, POINTS[:, :2])
    assert flat.disparity == pytest.approx(procrustes(POINTS, POINTS * [1, 1, 0])[2])


def test_unrelated_embeddings_are_at_chance() -> None:
    comparison = compare(POINTS, np.random.default_rng(5).normal(size=(300, 2)))
    for figure in (comparison.disparity, comparison.overlap, comparison.rank_correlation):
        assert abs(figure.value - figure.chance) < 4 * figure.chance_error
    assert comparison.overlap.chance == pytest.approx(10 / 299)


def test_rank_correlation_is_of_the_distances() -> None:
    from scipy.spatial.distance import pdist

    other = POINTS + RNG.normal(size=POINTS.shape)
    comparison = compare(POINTS, other)
    assert comparison.rank_correlation.value == pytest.approx(
        spearmanr(pdist(POINTS), pdist(other)).statistic
    )
    assert 0 < comparison.rank_correlation.error < 0.1


def test_the_image_that_moved_is_found() -> None:
    other = turned(POINTS)
    other[42] += 5.0
    assert int(compare(POINTS, other).alignment.moved.argmax()) == 42


def test_errors_are_those_of_other_samples() -> None:
    """The jackknife against the spread over 60 samples of images."""
    comparisons = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        points = rng.normal(size=(150, 2))
        comparisons.append(compare(points, points + 0.5 * rng.normal(size=points.shape)))
    for name in ("disparity", "overlap", "rank_correlation"):
        figures = [getattr(comparison, name) for comparison in comparisons]
        spread = np.std([figure.value for figure in figures])
        claimed = np.sqrt(np.mean([figure.error**2 for figure in figures]))
        assert 0.6 < claimed / spread < 1.6, name


def test_the_jackknife_of_a_mean_is_its_standard_error() -> None:
    values = RNG.normal(size=400)
    error = jackknife_error(lambda kept: float(values[kept].mean()), 400, n_groups=400)
    assert error == pytest.approx(values.std(ddof=1) / 20)
    assert np.isnan(jackknife_error(lambda kept: 0.0, 2))


def test_what_cannot_be_compared_says_why() -> None:
    with pytest.raises(ValueError, match="the same images"):
        compare(POINTS, POINTS[:-1])
    with pytest.raises(ValueError, match="at least 12 images, got 11"):
        compare(POINTS[:11], POINTS[:11])
    with pytest.raises(ValueError, match="the same position"):
        compare(POINTS, np.zeros((300, 2)))
