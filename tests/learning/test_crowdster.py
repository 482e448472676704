"""Facts about CrowdSter."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError  # type: ignore[import-untyped, unused-ignore]

from learning.crowdster import CrowdSter
from learning.groupings import Groupings, from_answers
from learning.metrics import nearest_neighbors, neighbor_overlap
from learning.simulation import FeatureCrowd

COLOURS = np.random.default_rng(7).random((300, 3))
CROWD = FeatureCrowd(COLOURS, 1)


def asked(model: CrowdSter, n: int) -> Groupings:
    return CROWD.answer_grids(model.select_grids(n), np.zeros(n, np.int64), "bins")


def after_phases(n_phases: int, per_phase: int, **parameters: float) -> CrowdSter:
    model = CrowdSter(300, random_state=0, **parameters)  # type: ignore[arg-type]
    for _ in range(n_phases):
        model.update(asked(model, per_phase))
    return model


def test_local_phases_find_40_percent_more_neighbors_than_random_grids() -> None:
    true = nearest_neighbors(COLOURS, 10)
    local = neighbor_overlap(true, after_phases(5, 47).kneighbors(10))
    random = neighbor_overlap(true, after_phases(1, 235).kneighbors(10))
    assert local >= 1.4 * random


def test_neighborhoods_narrow_from_phase_to_phase() -> None:
    model = CrowdSter(1_000)
    widths = [model.n_neighbors_at(phase) for phase in range(7)]
    assert widths[0] == 1_000
    assert widths == sorted(widths, reverse=True)
    assert widths[4:] == [35, 35, 35]


def test_the_same_random_state_repeats_everything() -> None:
    one, other = after_phases(2, 20), after_phases(2, 20)
    assert np.array_equal(one.embedding_, other.embedding_)
    assert np.array_equal(one.select_grids(5), other.select_grids(5))


def test_two_calls_in_a_phase_give_different_grids() -> None:
    model = CrowdSter(300, random_state=0)
    assert not np.array_equal(model.select_grids(5), model.select_grids(5))


def test_a_loaded_model_goes_on_alike(tmp_path: Path) -> None:
    model = after_phases(2, 20)
    model.save(tmp_path / "model")
    loaded = CrowdSter.load(tmp_path / "model")
    assert loaded.get_params() == model.get_params()
    assert np.array_equal(loaded.select_grids(10), model.select_grids(10))
    answers = asked(CrowdSter(300, random_state=5), 20)
    assert np.array_equal(loaded.update(answers).embedding_, model.update(answers).embedding_)


def test_pairs_never_asked_may_have_a_small_weight() -> None:
    assert np.isfinite(after_phases(2, 20, epsilon=0.01).embedding_).all()


def test_answers_that_agree_on_everything_stay_finite() -> None:
    images = [list(range(start, start + 20)) for start in range(0, 300, 20)] * 3
    together = from_answers(images, [[0] * 20] * 45, [0] * 45, 300, 1)
    model = CrowdSter(300, random_state=0)
    for _ in range(4):
        model.update(together)
    assert np.isfinite(model.embedding_).all()
    assert len(np.unique(model.select_grids(30))) > 20


def test_before_the_first_answers_there_are_grids_but_no_neighbors() -> None:
    model = CrowdSter(300, random_state=0)
    assert model.select_grids(3).shape == (3, 20)
    with pytest.raises(NotFittedError):
        model.kneighbors(10)


def test_bad_input_is_refused_with_the_offending_value() -> None:
    with pytest.raises(ValueError, match="no informative pair"):
        CrowdSter(300).update(from_answers([], [], [], 300, 1))
    with pytest.raises(ValueError, match="299"):
        CrowdSter(300).update(from_answers([[0, 1]], [[0, 0]], [0], 299, 1))
    with pytest.raises(ValueError, match="oracle"):
        CrowdSter(300, algorithm="oracle").select_grids(1)
    with pytest.raises(ValueError, match="beta"):
        CrowdSter(300, beta=0.5).select_grids(1)
    with pytest.raises(ValueError, match="grid_size"):
        CrowdSter(10).select_grids(1)
