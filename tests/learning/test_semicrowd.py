"""SCDC and BayesSCDC through their public surface."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from learning.deep_mixture.base import DeepMixture
from learning.deep_mixture.checks import no_pairs
from learning.groupings import Pairs
from learning.semicrowd import BayesianSemiCrowdClustering, SemiCrowdClustering
from tests.learning.semicrowd_data import blobs, crowd, matched_accuracy, pinwheel

Model = SemiCrowdClustering | BayesianSemiCrowdClustering
SMALL: dict[str, Any] = {"hidden": (32, 32), "n_epochs": 60, "pretrain_epochs": 150}
QUICK: dict[str, Any] = {"hidden": (16,), "n_epochs": 2, "pretrain_epochs": 2, "random_state": 0}
PLAIN: dict[str, Any] = QUICK | {"start": "random"}


def scdc(n_clusters: int = 3, **settings: Any) -> Model:
    return SemiCrowdClustering(n_clusters, **settings)


def bayes(n_clusters: int = 12, **settings: Any) -> Model:
    return BayesianSemiCrowdClustering(n_clusters, **settings)


BOTH = pytest.mark.parametrize("make", [scdc, bayes])


@BOTH
def test_the_crowd_s_classes_are_found_in_all_items(make: Any) -> None:
    features, labels = blobs(0)
    pairs = crowd(labels, [0.9] * 4, [0.9] * 4, [100] * 4, seed=1, n_annotated=40)
    model = make(random_state=0, **SMALL).fit(features, pairs)
    assert matched_accuracy(labels, model.labels_) > 0.9
    assert model.responsibilities_.sum(axis=1) == pytest.approx(np.ones(len(labels)))
    assert model.proportions_.sum() == pytest.approx(1.0)
    assert len(model.history_) == 60


def test_the_number_of_clusters_settles_by_itself_on_the_pinwheel() -> None:
    points, arm = pinwheel(0)
    pairs = crowd(arm, [0.9] * 10, [0.9] * 10, [98] * 10, seed=1, n_annotated=80)
    settings = SMALL | {"hidden": (100, 100)}
    model = BayesianSemiCrowdClustering(15, random_state=0, **settings).fit(points, pairs)
    assert model.n_clusters_ in (5, 6)
    assert matched_accuracy(arm, model.labels_) > 0.93
    assert len(model.effective_clusters_) == 60


def test_annotators_are_recovered_with_intervals_that_hold_them() -> None:
    features, labels = blobs(2)
    truth = [0.95, 0.85, 0.75]
    pairs = crowd(labels, truth, truth, [500] * 3, seed=3)
    model = BayesianSemiCrowdClustering(12, random_state=0, **SMALL).fit(features, pairs)
    for estimate, interval in (
        (model.annotator_sensitivity_, model.annotator_sensitivity_interval_),
        (model.annotator_specificity_, model.annotator_specificity_interval_),
    ):
        assert estimate == pytest.approx(truth, abs=0.05)
        assert list(np.argsort(-estimate)) == [0, 1, 2]
        assert (interval[:, 0] < estimate).all()
        assert (estimate < interval[:, 1]).all()
        assert (interval[:, 1] - interval[:, 0] < 0.12).all()


@BOTH
def test_an_adversary_is_turned_round_and_does_no_harm(make: Any) -> None:
    features, labels = blobs(4)
    truth = [0.9, 0.9, 0.9, 0.1]
    pairs = crowd(labels, truth, truth, [150] * 4, seed=5, n_annotated=60)
    model = make(random_state=0, **SMALL).fit(features, pairs)
    assert matched_accuracy(labels, model.labels_) > 0.95
    assert model.annotator_sensitivity_[3] < 0.3
    assert model.annotator_specificity_[3] < 0.3


@BOTH
def test_an_annotator_with_two_labels_stays_near_the_prior(make: Any) -> None:
    features, labels = blobs(6)
    truth = [0.9, 0.9, 0.0]
    pairs = crowd(labels, truth, truth, [200, 200, 2], seed=7, n_annotated=60)
    model = make(random_state=0, **SMALL).fit(features, pairs)
    # Beta(4, 1) and one wrong answer of each kind: 4 / 6.
    assert model.annotator_sensitivity_[2] == pytest.approx(4 / 6, abs=0.05)
    assert model.annotator_specificity_[2] == pytest.approx(4 / 6, abs=0.05)


@BOTH
def test_a_saved_model_predicts_the_same(make: Any, tmp_path: Path) -> None:
    features, labels = blobs(8)
    pairs = crowd(labels, [0.9], [0.9], [60], seed=9)
    model = make(**PLAIN).fit(features, pairs)
    model.save(tmp_path)
    again = type(model).load(tmp_path)
    assert (again.labels_ == model.labels_).all()
    assert again.elbo_ == model.elbo_
    assert again.history_ == model.history_
    assert again.predict_proba(features) == pytest.approx(model.predict_proba(features))
    assert again.transform(features) == pytest.approx(model.transform(features))
    assert again.annotator_sensitivity_ == pytest.approx(model.annotator_sensitivity_)
    assert again.get_params() == model.get_params()


@BOTH
def test_a_fit_repeats_with_its_random_state(make: Any) -> None:
    features, labels = blobs(10)
    pairs = crowd(labels, [0.9], [0.9], [60], seed=11)
    model, other = (make(**PLAIN).fit(features, pairs) for _ in range(2))
    assert model.elbo_ == other.elbo_
    assert (model.responsibilities_ == other.responsibilities_).all()


@BOTH
def test_of_several_starts_the_one_with_the_best_bound_is_kept(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    features, labels = blobs(12)
    pairs = crowd(labels, [0.9], [0.9], [60], seed=13)
    heard: list[tuple[int, int]] = []
    bounds: list[float] = []
    whole = DeepMixture._fit_once

    def noted(self: DeepMixture, *given: Any) -> Any:
        engine, outcome = whole(self, *given)
        bounds.append(outcome.bound)
        return engine, outcome

    monkeypatch.setattr(DeepMixture, "_fit_once", noted)
    several = make(n_init=3, **PLAIN).fit(
        features, pairs, progress=lambda done, total, metrics: heard.append((done, total))
    )
    assert len(set(bounds)) == 3
    assert several.elbo_ == max(bounds)
    assert heard == [(done, 6) for done in range(1, 7)]


@BOTH
def test_images_and_pixels_in_black_and_white(make: Any) -> None:
    rng = np.random.default_rng(0)
    images = (rng.random((40, 9, 10)) < 0.2).astype(np.float64)
    images[:20, :4] = 1.0
    labels = np.repeat([0, 1], 20)
    pairs = crowd(labels, [0.95], [0.95], [80], seed=14)
    model = make(**(QUICK | {"n_epochs": 15, "pretrain_epochs": 20})).fit(images, pairs)
    assert model._scaling.likelihood == "bernoulli"
    assert model._engine.settings.network == "conv"
    assert matched_accuracy(labels, model.labels_) > 0.9
    assert model.predict(images[:3]).shape == (3,)


@BOTH
def test_a_fit_that_fails_leaves_what_was_learned_before(make: Any) -> None:
    features, labels = blobs(20)
    pairs = crowd(labels, [0.9], [0.9], [40], seed=21)
    model = make(**PLAIN).fit(features, pairs)
    before = model.predict_proba(features)

    def stop(*_: Any) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        model.fit(100 * features + 7, pairs, progress=stop)
    assert (model.predict_proba(features) == before).all()


@BOTH
@pytest.mark.parametrize("start", ["crowd", "random"])
def test_training_that_diverges_is_told(make: Any, start: str) -> None:
    features, labels = blobs(22)
    pairs = crowd(labels, [0.9], [0.9], [16], seed=23)
    with pytest.raises(FloatingPointError, match="smaller learning_rate"):
        make(**QUICK | {"start": start, "learning_rate": 1e12}).fit(features, pairs)


@BOTH
def test_items_far_beyond_all_of_the_fit_are_placed(make: Any) -> None:
    features, labels = blobs(24)
    pairs = crowd(labels, [0.9], [0.9], [60], seed=25)
    model = make(**PLAIN).fit(features, pairs)
    far = np.full((2, 6), [[1e37], [-1e20]])
    assert model.predict_proba(far).sum(axis=1) == pytest.approx([1.0, 1.0])
    assert np.isfinite(model.transform(far)).all()


def test_without_pairs_the_fit_is_unsupervised_and_says_so() -> None:
    features, labels = blobs(15)
    with pytest.warns(UserWarning, match="unsupervised"):
        model = BayesianSemiCrowdClustering(8, random_state=0, **SMALL).fit(features)
    assert matched_accuracy(labels, model.labels_) > 0.9
    assert model.annotator_sensitivity_.shape == (0,)


@pytest.mark.parametrize("second_term", [False, True])
def test_the_paper_s_plain_start_stays_finite(second_term: bool) -> None:
    features, labels = blobs(16)
    pairs = crowd(labels, [0.9], [0.9], [100], seed=17)
    settings = QUICK | {"n_epochs": 10, "start": "random", "guidance": 0.0}
    model = BayesianSemiCrowdClustering(6, second_term=second_term, **settings)
    model.fit(features, pairs)
    assert np.isfinite(model.elbo_)
    assert np.isfinite(model.responsibilities_).all()


def test_summing_over_the_likeliest_clusters_finds_the_same_classes() -> None:
    features, labels = blobs(18)
    pairs = crowd(labels, [0.9] * 2, [0.9] * 2, [150] * 2, seed=19, n_annotated=50)
    model = SemiCrowdClustering(8, n_summed=2, random_state=0, **SMALL).fit(features, pairs)
    assert matched_accuracy(labels, model.labels_) > 0.9


BAD_FEATURES = {
    "not finite": np.array([[0.0, np.nan], [1.0, 2.0]]),
    "infinity": np.array([[0.0, np.inf], [1.0, 2.0]]),
    "beyond float32": np.array([[1e300, 0.0], [1.0, 2.0]]),
    "differences beyond float32": np.array([[3e38], [3e38], [-3e38]]),
    "complex": np.array([[1j, 0.0], [1.0, 2.0]]),
    "text": np.array([["a", "b"]]),
    "one axis": np.arange(5.0),
    "nothing": np.empty((0, 3)),
}


@pytest.mark.parametrize("features", BAD_FEATURES.values(), ids=BAD_FEATURES.keys())
@BOTH
def test_features_that_no_model_fits_are_refused(make: Any, features: Any) -> None:
    with pytest.raises(ValueError, match="X must"):
        make(**QUICK).fit(features)


def _pairs(i: list[int], j: list[int], same: list[bool], n_images: int) -> Pairs:
    return Pairs(np.zeros(len(i), np.int64), np.array(i), np.array(j), np.array(same), n_images, 1)


@BOTH
def test_pairs_of_items_that_do_not_exist_are_refused(make: Any) -> None:
    with pytest.raises(ValueError, match="refers to item 7"):
        make(**QUICK).fit(np.eye(5), _pairs([7], [1], [True], 9))


@BOTH
def test_a_pair_of_an_item_with_itself_is_refused(make: Any) -> None:
    with pytest.raises(ValueError, match="item 3 with itself"):
        make(**QUICK).fit(np.eye(5), _pairs([1, 3], [2, 3], [True, True], 5))


@BOTH
@pytest.mark.parametrize(
    "case", ["contradicting", "constant", "more clusters than items", "one item", "repeated"]
)
def test_poor_input_gives_a_sane_result_without_nan(make: Any, case: str) -> None:
    rng = np.random.default_rng(0)
    features, pairs = rng.normal(size=(30, 4)), _pairs([0] * 10, [1] * 10, [True, False] * 5, 30)
    if case == "constant":
        features = np.ones((30, 4))
    if case == "repeated":
        features = np.repeat(features[:3], 10, axis=0)
    if case == "more clusters than items":
        features, pairs = features[:3], _pairs([0, 1], [1, 2], [True, False], 3)
    if case == "one item":
        features = features[:1]
        pairs = no_pairs(1)
    with pytest.warns(UserWarning, match="unsupervised") if case == "one item" else nullcontext():
        model = make(20, **QUICK).fit(features, pairs)
    for values in (model.responsibilities_, model.embedding_, model.predict_proba(features)):
        assert np.isfinite(values).all()
    assert model.responsibilities_.shape[1] <= max(len(features), 1)
    assert np.isfinite(model.elbo_)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("max_clusters", 0),
        ("n_latent", 0),
        ("likelihood", "poisson"),
        ("network", "transformer"),
        ("hidden", ()),
        ("learning_rate", 0.0),
        ("start", "warm"),
        ("worker_prior", (0.0, 1.0)),
        ("worker_prior", 4.0),
        ("hidden", 16),
        ("natural_step", 2.0),
        ("n_epochs", 0),
        ("concentration", -1.0),
        ("n_sweeps", 0),
        ("device", "abacus"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(setting: str, value: Any) -> None:
    with pytest.raises(ValueError, match=setting):
        BayesianSemiCrowdClustering(**{setting: value}).fit(np.eye(5))


def test_convolutions_ask_for_images() -> None:
    with pytest.raises(ValueError, match="takes images"), pytest.warns(UserWarning, match="uns"):
        BayesianSemiCrowdClustering(network="conv").fit(np.eye(5))


@BOTH
def test_nothing_is_predicted_before_a_fit(make: Any) -> None:
    with pytest.raises(NotFittedError):
        make().predict(np.eye(5))


def test_new_items_must_look_like_those_of_the_fit() -> None:
    features, labels = blobs(20)
    pairs = crowd(labels, [0.9], [0.9], [40], seed=21)
    model = BayesianSemiCrowdClustering(5, **PLAIN).fit(features, pairs)
    with pytest.raises(ValueError, match="items of shape"):
        model.predict(features[:, :2])
