"""Facts about CrowdSter."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.kernel_approximation import Nystroem

from learning.arrays import FloatArray, IntArray
from learning.crowdster import CrowdSter
from learning.groupings import Groupings, from_answers
from learning.metrics import neighbor_overlap
from learning.neighbors import nearest_neighbors
from learning.queries import random_grids
from learning.simulation import FeatureCrowd

COLOURS = np.random.default_rng(7).random((300, 3))
CROWD = FeatureCrowd(COLOURS, 1)
ANSWERS = CROWD.answer_grids(
    random_grids(20, 20, 300, np.random.default_rng(0)), np.zeros(20, np.int64)
)


def asked(model: CrowdSter, n: int) -> Groupings:
    return CROWD.answer_grids(model.select_grids(n), np.zeros(n, np.int64))


def after_phases(n_phases: int, per_phase: int, **parameters: Any) -> CrowdSter:
    model = CrowdSter(300, random_state=0, **parameters)
    for _ in range(n_phases):
        model.update(asked(model, per_phase))
    return model


TRUE = nearest_neighbors(COLOURS, 10)


def overlap(model: CrowdSter) -> float:
    return neighbor_overlap(TRUE, model.kneighbors(10))


def test_local_phases_find_more_neighbors_than_random_grids() -> None:
    paper = {"algorithm": "paper", "neighbors_start": 0.15, "neighbors_end": 1.75}
    assert overlap(after_phases(5, 47, **paper)) >= 1.4 * overlap(after_phases(1, 235, **paper))
    assert overlap(after_phases(5, 47)) >= 1.25 * overlap(after_phases(1, 235))


def test_the_default_finds_as_many_with_half_the_answers_and_knows_the_dimensions() -> None:
    model = after_phases(5, 24)
    assert overlap(model) > overlap(after_phases(5, 47, algorithm="paper"))
    # Which of those near the truth, 3, does best on a few held-out grids is a matter of chance.
    assert 3 <= model.n_dimensions_ <= 5


@pytest.mark.parametrize("n_dimensions", [1, 20])
def test_as_many_dimensions_as_wanted(n_dimensions: int) -> None:
    model = CrowdSter(300, n_dimensions=n_dimensions, random_state=0).update(ANSWERS)
    assert model.embedding_.shape == (300, n_dimensions)
    assert model.n_dimensions_ == n_dimensions


def test_careless_annotators_are_known_and_do_little_harm() -> None:
    rng = np.random.default_rng(0)
    model = CrowdSter(300, random_state=0)
    for _ in range(5):
        right = asked(model, 60)
        who = np.arange(60) % 6
        stray = (rng.random(right.groups.shape) < 0.7) & (who[:, None] < 2)
        groups = np.where(stray, rng.integers(0, 4, right.groups.shape), right.groups)
        model.update(Groupings(right.images, groups, who, 300, 6))
    assert model.carelessness_[:2].min() > 0.5
    assert model.carelessness_[2:].max() < 0.2
    assert overlap(model) > 6.5


def test_images_may_join_and_are_asked_about_first() -> None:
    model = CrowdSter(250, random_state=0)
    before, now = FeatureCrowd(COLOURS[:250], 1), FeatureCrowd(COLOURS, 1)
    nobody = np.zeros(40, np.int64)
    model.update(before.answer_grids(model.select_grids(40), nobody))
    model.update(now.answer_grids(model.select_grids(40), nobody))
    assert model.embedding_.shape[0] == 300
    grids = model.select_grids(40)
    assert ((grids >= 250).sum(axis=1)[:5] == 10).all()
    assert set(range(250, 300)) <= set(grids[:5].ravel().tolist())
    model.update(now.answer_grids(grids, nobody))
    assert "new" not in dict(model.plan_grids(20))


def test_images_always_left_over_are_not_new_for_ever() -> None:
    model = CrowdSter(300, random_state=0)
    grids = model.select_grids(40)
    right = CROWD.answer_grids(grids, np.zeros(40, np.int64))
    groups = np.where(grids % 3 == 0, -1, right.groups)
    model.update(Groupings(grids, groups, right.annotators, 300, 1))
    assert [purpose for purpose, _ in model.plan_grids(20)] == ["local"]


def test_a_collection_not_covered_yet_leaves_the_shares_as_they_are(tmp_path: Path) -> None:
    model = CrowdSter(300, random_share=0.2, random_state=0)
    model.update(asked(model, 5))
    model.save(tmp_path / "model")
    for fitted in (model, CrowdSter.load(tmp_path / "model")):
        planned = {purpose: len(grids) for purpose, grids in fitted.plan_grids(20, focus=[3, 4])}
        assert planned == {"new": 4, "random": 4, "focus": 8, "local": 4}
        fitted.plan_grids(60)
        # What is planned already is not new a second time, unless no answers come.
        assert "new" not in dict(fitted.plan_grids(20))
        fitted.update(
            Groupings(np.array([[0, 1]]), np.array([[0, 0]]), np.zeros(1, np.int64), 300, 1)
        )
        assert "new" in dict(fitted.plan_grids(20))


def test_grids_have_purposes_in_the_shares_wanted() -> None:
    model = CrowdSter(300, random_share=0.2, random_state=0)
    assert [(purpose, len(grids)) for purpose, grids in model.plan_grids(20)] == [("random", 20)]
    model.update(asked(model, 40))
    planned = {purpose: len(grids) for purpose, grids in model.plan_grids(20, focus=[3, 4])}
    assert planned == {"random": 4, "focus": 8, "local": 8}
    focused = dict(model.plan_grids(20, focus=[3, 4]))["focus"]
    assert np.isin(focused, [3, 4]).any(axis=1).all()


def test_no_set_of_images_is_asked_twice() -> None:
    model = CrowdSter(60, random_state=0)
    seen: set[frozenset[int]] = set()
    for _ in range(4):
        grids = model.select_grids(30)
        sets = {frozenset(grid) for grid in grids.tolist()}
        assert len(sets) == 30
        assert not sets & seen
        seen |= sets
        rng = np.random.default_rng(len(seen))
        groups = rng.integers(0, 4, grids.shape)
        model.update(Groupings(grids, groups, np.zeros(30, np.int64), 60, 1))
    model.mark_asked(grids[:3])
    assert len(model.asked_) == 120


def test_uncertainty_is_largest_for_images_seen_least() -> None:
    model = CrowdSter(300, random_state=0)
    for _ in range(3):
        grids = model.select_grids(40)
        model.update(CROWD.answer_grids(grids, np.zeros(40, np.int64)))
    views = np.bincount(model.asked_.grids.ravel(), minlength=300)
    few, many = views <= np.quantile(views, 0.2), views >= np.quantile(views, 0.8)
    assert model.uncertainty_[few].mean() > model.uncertainty_[many].mean()
    assert (model.uncertainty_ > 0).all()


def test_what_was_held_out_says_how_well_answers_are_foretold() -> None:
    model = after_phases(3, 40)
    foretold, asked_for = model.held_out_.sum(axis=0)
    assert len(model.held_out_) == 120
    assert 0.05 < asked_for / (120 * 20) < 0.15
    assert foretold > 0.7 * asked_for


def after_two_rounds(features: FloatArray | None) -> float:
    model = CrowdSter(300, random_state=0)
    for _ in range(2):
        model.update(asked(model, 20), features=features)
    return overlap(model)


def test_features_help_early_as_far_as_they_tell_something() -> None:
    rng = np.random.default_rng(0)
    plain = after_two_rounds(None)
    assert after_two_rounds(COLOURS + 0.1 * rng.normal(size=COLOURS.shape)) > plain + 0.5
    assert after_two_rounds(rng.normal(size=(300, 8))) > plain - 0.3


def test_features_are_prepared_once_for_all_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: list[int] = []
    fit = Nystroem.fit

    def counted(self: Any, table: FloatArray) -> Any:
        prepared.append(len(table))
        return fit(self, table)

    monkeypatch.setattr(Nystroem, "fit", counted)
    CrowdSter(300, random_state=0).update(ANSWERS, features=COLOURS)
    assert len(prepared) == 1


@pytest.mark.parametrize(
    ("features", "reason"),
    [
        (COLOURS[:299], r"features must be \(300, F\), got shape \(299, 3\)"),
        (np.full((300, 2), np.nan), "finite numbers below 1e\\+100"),
        (1e200 * COLOURS, "finite numbers below 1e\\+100"),
    ],
)
def test_refused_features_leave_the_model_as_it_was(features: FloatArray, reason: str) -> None:
    model = CrowdSter(300, random_state=0)
    with pytest.raises(ValueError, match=reason):
        model.update(ANSWERS, features=features)
    assert not hasattr(model, "n_phases_seen_")
    # Every answer was taken in once.
    assert len(model.update(ANSWERS).held_out_) == len(ANSWERS)


@pytest.mark.parametrize("device", ["bogus", "meta", "cuda:99"])
def test_a_device_that_cannot_compute_is_refused_before_anything_changes(device: str) -> None:
    model = CrowdSter(300, device=device, random_state=0)
    for _ in range(2):
        with pytest.raises(ValueError, match=f"device must be .* got '{device}'"):
            model.update(ANSWERS)
    assert len(model.set_params(device="cpu").update(ANSWERS).held_out_) == len(ANSWERS)


def test_images_that_cannot_join_leave_the_model_as_it_was() -> None:
    model = CrowdSter(300, algorithm="paper", random_state=0).update(ANSWERS)
    with pytest.raises(ValueError, match="cannot add images"):
        model.update(from_answers([[0, 300]], [[0, 0]], [0], 301, 1))
    assert model.select_grids(40).max() < 300
    assert model.update(ANSWERS).n_phases_seen_ == 2


def only_leftovers(grids: IntArray) -> Groupings:
    return Groupings(grids, np.full(grids.shape, -1), np.zeros(len(grids), np.int64), 300, 1)


@pytest.mark.parametrize("algorithm", ["likelihood", "paper"])
@pytest.mark.filterwarnings("error")
def test_a_round_of_leftovers_only_does_no_harm(algorithm: str) -> None:
    model = CrowdSter(300, algorithm=algorithm, random_state=0)
    silent = only_leftovers(model.select_grids(2))
    with pytest.raises(ValueError, match="no informative pair"):
        model.update(silent)
    model.update(silent, learn=False)
    assert dict(model.plan_grids(2)).keys() == {"random"}
    model.update(ANSWERS)
    before = model.embedding_
    model.update(only_leftovers(model.select_grids(1)))
    assert model.n_phases_seen_ == 3
    if algorithm == "paper":
        assert np.array_equal(model.embedding_, before)


def test_answers_may_be_taken_in_without_learning() -> None:
    model, other = CrowdSter(300, random_state=0), CrowdSter(300, random_state=0)
    first = asked(model, 40)
    model.update(first)
    second = asked(model, 40)
    model.update(second)
    other.update(first, learn=False).update(second)
    assert overlap(other) > 0.8 * overlap(model)
    assert other.n_phases_seen_ == 2


def test_several_rounds_may_be_taken_in_at_once() -> None:
    model, other = CrowdSter(300, random_state=0), CrowdSter(300, random_state=0)
    model.update(ANSWERS, learn=False).update(ANSWERS, learn=False).update(ANSWERS)
    other.update(Groupings.concatenate([ANSWERS] * 3), n_phases=3)
    assert other.n_phases_seen_ == model.n_phases_seen_ == 3
    assert abs(overlap(model) - overlap(other)) < 0.5
    with pytest.raises(ValueError, match="one round at a time, got n_phases=3"):
        CrowdSter(300, algorithm="paper").update(ANSWERS, n_phases=3)


def test_neighborhoods_narrow_from_phase_to_phase() -> None:
    model = CrowdSter(1_000)
    widths = [model.n_neighbors_at(phase) for phase in range(7)]
    assert widths[0] == 1_000
    assert widths == sorted(widths, reverse=True)
    assert widths[4:] == [25, 25, 25]


def test_the_same_random_state_repeats_everything() -> None:
    model, other = after_phases(2, 20), after_phases(2, 20)
    assert np.array_equal(model.embedding_, other.embedding_)
    assert np.array_equal(model.select_grids(5), other.select_grids(5))


def test_two_calls_in_a_phase_give_different_grids() -> None:
    model = CrowdSter(300, random_state=0)
    assert not np.array_equal(model.select_grids(5), model.select_grids(5))


@pytest.mark.parametrize("algorithm", ["likelihood", "paper"])
def test_a_loaded_model_goes_on_alike(tmp_path: Path, algorithm: str) -> None:
    model = after_phases(2, 20, algorithm=algorithm)
    model.save(tmp_path / "model")
    loaded = CrowdSter.load(tmp_path / "model")
    assert loaded.get_params() == model.get_params()
    assert np.array_equal(loaded.select_grids(10), model.select_grids(10))
    answers = asked(CrowdSter(300, random_state=5), 20)
    assert np.array_equal(loaded.update(answers).embedding_, model.update(answers).embedding_)


def test_pairs_never_asked_may_have_a_small_weight() -> None:
    model = after_phases(2, 20, algorithm="paper", epsilon=0.01)
    assert np.isfinite(model.embedding_).all()


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
    for random_state in (1.5, -1):
        with pytest.raises(ValueError, match=f"random_state .* {random_state}"):
            CrowdSter(300).set_params(random_state=random_state).select_grids(1)
    with pytest.raises(ValueError, match="grid_size"):
        CrowdSter(10).select_grids(1)


@pytest.mark.parametrize("features", [None, COLOURS])
@pytest.mark.parametrize("n_dimensions", [None, 3])
@pytest.mark.parametrize("n_answers", [1, 20])
def test_progress_ends_at_its_total(
    features: FloatArray | None, n_dimensions: int | None, n_answers: int
) -> None:
    heard: list[tuple[int, int]] = []
    model = CrowdSter(300, n_dimensions=n_dimensions, random_state=0)
    answers = ANSWERS.subset(np.arange(n_answers))
    model.update(answers, lambda d, t, _: heard.append((d, t)), features=features)
    assert heard[-1][0] == heard[-1][1]
    assert [done for done, _ in heard] == list(range(1, len(heard) + 1))


@pytest.mark.filterwarnings("error")
def test_one_answer_gives_no_reason_for_more_than_two_dimensions() -> None:
    model = CrowdSter(300, random_state=0).update(ANSWERS.subset([0]))
    assert model.n_dimensions_ == 2


def test_a_space_of_many_dimensions_is_given_many() -> None:
    rng = np.random.default_rng(0)
    middles = rng.normal(size=(20, 40))
    images = middles[rng.integers(0, 20, 300)] + 0.8 * rng.normal(size=(300, 40))
    crowd = FeatureCrowd(images, 1)
    answers = crowd.answer_grids(random_grids(200, 20, 300, rng), np.zeros(200, np.int64))
    model = CrowdSter(300, random_state=0).update(answers)
    flat = CrowdSter(300, n_dimensions=5, random_state=0).update(answers)
    true = nearest_neighbors(images, 10)
    assert model.n_dimensions_ >= 10
    of_many, of_five = (neighbor_overlap(true, fitted.kneighbors(10)) for fitted in (model, flat))
    assert of_many > 1.1 * of_five
