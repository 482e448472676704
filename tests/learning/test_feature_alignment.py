"""Learned alignment: places of images that nobody was shown, from features and groupings."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from learning.arrays import FloatArray
from learning.feature_alignment import FeatureAlignment
from learning.groupings import Groupings
from learning.metrics import pair_auc
from learning.simulation import FeatureCrowd

N, N_NEW, N_ANNOTATORS = 160, 120, 10
DOCUMENT = Path(__file__).parents[2] / "docs" / "learned_alignment.md"


@lru_cache
def world(seed: int = 0) -> tuple[FloatArray, FloatArray, Groupings, Groupings]:
    """Features and true positions (N + N_NEW, .), answers about the first N images and about the
    others. The crowd sees two directions of 24."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((N + N_NEW, 24))
    truth = features @ rng.standard_normal((24, 2)) / np.sqrt(24)
    crowd = FeatureCrowd(truth, N_ANNOTATORS, 0.05, seed)

    def answers(first: int, last: int, n: int) -> Groupings:
        grids = np.stack([rng.permutation(np.arange(first, last))[:14] for _ in range(n)])
        return crowd.answer_grids(grids, rng.integers(0, N_ANNOTATORS, n))

    return features, truth, answers(0, N, 80), answers(N, N + N_NEW, 60)


@lru_cache
def fitted() -> FeatureAlignment:
    features, truth, answers, _ = world()
    return FeatureAlignment().fit(features, answers, embedding=truth)


def auc_of(model: FeatureAlignment, features: FloatArray, answers: Groupings) -> float:
    pairs, places = answers.pairs(), model.metric_places(features)
    return pair_auc(pairs.same, -model.probability_of_places(places[pairs.i], places[pairs.j]))


def true_auc(truth: FloatArray, answers: Groupings) -> float:
    pairs = answers.pairs()
    return pair_auc(pairs.same, np.linalg.norm(truth[pairs.i] - truth[pairs.j], axis=1))


def test_a_planted_metric_is_recovered_on_images_never_shown() -> None:
    features, truth, _, new = world()
    model = fitted()
    assert model.used_
    ceiling = true_auc(truth, new)
    assert ceiling > 0.75
    assert auc_of(model, features, new) - 0.5 > 0.95 * (ceiling - 0.5)


def test_probabilities_are_calibrated_on_images_never_shown() -> None:
    features, _, _, new = world()
    pairs = new.pairs()
    p = fitted().probability_same(features[pairs.i], features[pairs.j])
    likely = p > 0.5
    for some in (likely, ~likely):
        assert p[some].mean() == pytest.approx(pairs.same[some].mean(), abs=0.15)


@pytest.mark.parametrize("seed", range(3))
def test_noise_features_are_not_used(seed: int) -> None:
    noise = np.random.default_rng(100 + seed).standard_normal((N + N_NEW, 24))
    _, truth, answers, _ = world()
    model = FeatureAlignment(seed).fit(noise, answers, embedding=truth)
    assert not model.used_
    assert model.auc_ == 0.5
    assert not model.explained_.any()
    places = model.places(noise)
    assert np.ptp(places.positions, axis=0).max() == 0
    # An image that could be anywhere is as uncertain as all images vary.
    assert places.deviations[0] == pytest.approx(truth[:N].std(axis=0), rel=0.2)
    p = model.probability_same(noise[:5], noise[5:10])
    assert p == pytest.approx(answers.pairs().same.mean(), abs=0.01)


def test_intervals_cover_the_true_places_of_new_images() -> None:
    # Positions are what the features predict plus a deviation of 0.5, measured with errors.
    features, truth, answers, _ = world()
    rng = np.random.default_rng(5)
    places = truth + 0.5 * rng.standard_normal(truth.shape)
    error = np.full(truth.shape, 0.3)
    # The mean and deviation of the true place, given its measurement.
    shrink = places.var(axis=0) / (places.var(axis=0) + error**2)
    measured = shrink * (places + error * rng.standard_normal(truth.shape))
    model = FeatureAlignment().fit(
        features, answers, embedding=measured, embedding_error=error * np.sqrt(shrink)
    )
    new = model.places(features[N:])
    z = (places[N:] - new.positions) / new.deviations
    assert 0.80 <= (np.abs(z) < 1.645).mean() <= 0.97
    assert 0.58 <= (np.abs(z) < 1.0).mean() <= 0.80
    assert new.deviations.mean() == pytest.approx(0.5, abs=0.15)


def test_what_features_do_not_say_is_at_its_centre_and_stated_as_unexplained() -> None:
    features, truth, answers, _ = world()
    wide = np.hstack([features, np.random.default_rng(5).standard_normal((N + N_NEW, 90))])
    other = np.random.default_rng(6).standard_normal((N + N_NEW, 6))
    places = np.hstack([truth, other])
    model = FeatureAlignment().fit(wide, answers, embedding=places)
    missed = ((model.places(wide[N:]).positions - places[N:]) ** 2).mean(axis=0)
    explained = 1 - missed / places[N:].var(axis=0)
    assert (explained[:2] > 0.6).all()
    assert (explained[2:] > -0.15).all()
    assert (np.abs(model.explained_ - np.maximum(explained, 0)) < 0.15).all()


def test_rows_without_features_may_contain_anything() -> None:
    features, truth, answers, new = world()
    known = np.ones(len(features), np.bool_)
    known[:N:3] = False
    table = features.copy()
    table[~known] = np.nan
    model = FeatureAlignment().fit(table, answers, known, embedding=truth)
    assert model.used_
    assert auc_of(model, features, new) > 0.5 + 0.8 * (true_auc(truth, new) - 0.5)


def test_scaling_and_shifting_columns_changes_nothing() -> None:
    features, truth, answers, _ = world()
    rng = np.random.default_rng(1)
    scale = np.exp(rng.uniform(-9, 9, 24))
    shifted = features * scale + 10 * rng.standard_normal(24)
    same = FeatureAlignment().fit(shifted, answers, embedding=truth)
    one, other = fitted().places(features), same.places(shifted)
    assert np.abs(one.positions - other.positions).max() < 0.05 * truth.std()


def test_one_wide_noise_column_does_not_drown_the_rest() -> None:
    features, truth, answers, new = world()
    wide = 1e4 * np.random.default_rng(2).standard_normal((len(features), 1))
    table = np.concatenate([features, wide], axis=1)
    model = FeatureAlignment().fit(table, answers, embedding=truth)
    assert auc_of(model, table, new) > auc_of(fitted(), features, new) - 0.01


def test_the_same_seed_gives_the_same_places() -> None:
    features, truth, answers, _ = world()
    again = FeatureAlignment().fit(features, answers, embedding=truth)
    assert (again.places(features).positions == fitted().places(features).positions).all()


def test_without_an_embedding_one_is_learned_from_the_answers() -> None:
    features, truth, answers, new = world()
    model = FeatureAlignment().fit(features, answers)
    places = model.places(features)
    assert places.positions.shape == places.deviations.shape
    assert true_auc(places.positions, new) > 0.5 + 0.8 * (true_auc(truth, new) - 0.5)


def test_neighbours_of_a_new_image_have_distances_with_deviations() -> None:
    features, truth, _, _ = world()
    nearest = fitted().neighbours(features[N:], truth[:N], 5)
    assert nearest.images.shape == nearest.distances.shape == nearest.deviations.shape
    assert (np.diff(nearest.distances, axis=1) >= 0).all()
    assert (nearest.deviations > 0).all()
    apart = np.linalg.norm(truth[N:, None] - truth[None, :N], axis=2)
    true_nearest = np.argsort(apart, axis=1)[:, :20]
    hits = (nearest.images[:, :1] == true_nearest).any(axis=1).mean()
    assert hits > 0.6


def test_attributes_have_their_columns() -> None:
    features, truth, answers, _ = world()
    model = FeatureAlignment().fit(features, answers, embedding=truth, attribute=[0, 1])
    both, own = model.places(features), model.attribute_places(features)
    assert sorted(own) == [0, 1]
    assert (own[1].positions[:, 0] == both.positions[:, 1]).all()


def test_arrays_and_files_round_trip(tmp_path: Path) -> None:
    features, _, _, _ = world()
    model = fitted()
    metadata = json.loads(json.dumps(model.metadata()))
    restored = FeatureAlignment.from_arrays(model.to_arrays(), metadata)
    model.save(tmp_path)
    for other in (restored, FeatureAlignment.load(tmp_path)):
        assert (other.places(features).positions == model.places(features).positions).all()
        same = [m.probability_same(features[:9], features[9:18]) for m in (model, other)]
        assert (same[0] == same[1]).all()
        assert other.metadata() == model.metadata()


def test_stored_arrays_that_do_not_fit_are_refused() -> None:
    model = fitted()
    arrays, metadata = model.to_arrays(), model.metadata()
    missing = {name: array for name, array in arrays.items() if name != "weights"}
    with pytest.raises(ValueError, match="no array 'weights'"):
        FeatureAlignment.from_arrays(missing, metadata)
    with pytest.raises(ValueError, match="offset has"):
        FeatureAlignment.from_arrays(arrays | {"offset": np.zeros(3)}, metadata)
    with pytest.raises(ValueError, match="not finite"):
        FeatureAlignment.from_arrays(arrays | {"position": np.full(2, np.nan)}, metadata)
    with pytest.raises(ValueError, match="format must be"):
        FeatureAlignment.from_arrays(arrays, metadata | {"format": 99})


def test_the_documented_loader_needs_only_numpy_and_safetensors(tmp_path: Path) -> None:
    features, _, _, _ = world()
    save_file(fitted().to_arrays(), tmp_path / "alignment.safetensors")
    save_file({"features": features}, tmp_path / "features.safetensors")
    (code,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    blocked = ["learning", "app", "likewise", "torch", "sklearn", "scipy"]
    program = f"""
import sys
for name in {blocked!r}:
    sys.modules[name] = None
{code}
from safetensors.numpy import save_file
position, deviation = places(load_file("features.safetensors")["features"],
                             "alignment.safetensors")
save_file({{"position": position, "deviation": deviation}}, "places.safetensors")
"""
    subprocess.run([sys.executable, "-I", "-c", program], cwd=tmp_path, check=True)
    loaded, ours = load_file(tmp_path / "places.safetensors"), fitted().places(features)
    assert loaded["position"] == pytest.approx(ours.positions, abs=1e-4)
    assert loaded["deviation"] == pytest.approx(ours.deviations, rel=1e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": np.zeros(5)}, r"features must be \(N, F\)"),
        ({"features": np.ones((N + N_NEW, 4))}, "constant"),
        ({"features": np.ones((7, 4))}, "features of 7 images"),
        ({"features": np.full((N + N_NEW, 2), np.nan)}, "row 0, column 0"),
        ({"features": np.full((N + N_NEW, 2), "a")}, "must be numbers"),
        ({"known": np.ones(3, np.bool_)}, "known must be"),
        ({"known": np.zeros(N + N_NEW, np.bool_)}, "no image has features"),
        ({"known": np.arange(N + N_NEW) < 9}, "only 9 images"),
        ({"embedding": np.zeros((4, 2))}, "embedding must be"),
        ({"embedding": np.full((N + N_NEW, 2), np.inf)}, "not finite"),
        ({"embedding_error": np.zeros((4, 2))}, "embedding_error must be"),
        ({"attribute": [0]}, "attribute must be"),
    ],
)
def test_bad_input_is_refused(change: dict[str, object], message: str) -> None:
    features, truth, answers, _ = world()
    given: dict[str, object] = {"features": features, "embedding": truth} | change
    with pytest.raises(ValueError, match=message):
        FeatureAlignment().fit(groupings=answers, **given)  # type: ignore[arg-type]


def test_new_rows_of_another_width_or_not_finite_are_refused() -> None:
    with pytest.raises(ValueError, match="24 columns, got 3"):
        fitted().places(np.zeros((2, 3)))
    table = np.zeros((2, 24))
    table[1, 4] = np.inf
    with pytest.raises(ValueError, match="row 1, column 4"):
        fitted().places(table)


def test_a_constant_column_is_ignored() -> None:
    features, truth, answers, _ = world()
    table = np.concatenate([features, np.full((len(features), 1), 7.0)], axis=1)
    model = FeatureAlignment().fit(table, answers, embedding=truth)
    moved = table.copy()
    moved[:, -1] = -1e6
    assert (model.places(moved).positions == model.places(table).positions).all()
