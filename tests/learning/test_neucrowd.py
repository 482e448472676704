"""NeuCrowd: the parts by their definitions, the estimators by what they find."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score

from learning.neucrowd import NeuCrowd, NeuCrowdClassifier
from learning.ntuplet.networks import EmbeddingNetwork
from learning.ntuplet.products import Products
from learning.ntuplet.safety import safe_examples
from learning.ntuplet.training import wrong_order
from learning.ntuplet.tuplets import Examples, draw_tuplets, robust_anchor, tuplet_losses

QUICK: dict[str, Any] = {
    "n_steps": 10,
    "n_epochs": 20,
    "batch_size": 64,
    "layers": (16, 8),
    "activation": "tanh",
    "learning_rate": 0.02,
    "l2": 0.003,
    "feature_sparsity": 0.0,
}


def a_task(n: int = 240, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, votes of five annotators, truth: a ring around a blob, which no line parts."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    angle = rng.uniform(0, 2 * np.pi, n)
    radius = np.where(truth == 1, 3.0, 0.0)
    features = np.stack([np.cos(angle), np.sin(angle)], 1) * radius[:, None]
    features += rng.normal(0, 0.5, features.shape)
    wrong = rng.random((n, 5)) < 0.2
    return features, np.where(wrong, 1 - truth[:, None], truth[:, None]), truth


# --- parts -----------------------------------------------------------------------------------


def test_safe_examples_are_those_among_their_own() -> None:
    places = torch.tensor([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [0.15]])
    label = torch.tensor([1, 1, 1, 0, 0, 0, 0])
    sure = torch.ones(7)
    generator = torch.Generator().manual_seed(0)
    safe = safe_examples(places, label, sure, 2, 0.0, generator)
    assert safe.tolist() == [False, False, False, True, True, True, False]
    # The stranger's label is doubtful: it harms nobody any more.
    sure[6] = 0.1
    safe = safe_examples(places, label, sure, 2, 0.0, generator)
    assert safe.tolist() == [True, True, True, True, True, True, False]
    assert not safe_examples(places, label, sure, 2, 2.0, generator).any()


def test_tuplets_have_an_anchor_another_of_its_class_and_negatives() -> None:
    label = torch.tensor([1, 1, 1, 0, 0])
    examples = Examples(torch.zeros(5, 2), label, torch.ones(5))
    weight = torch.tensor([1.0, 1.0, 0.0, 1.0, 0.0])
    drawn = draw_tuplets(examples, weight, 200, 5, 1, torch.Generator().manual_seed(1))
    assert drawn.shape == (200, 5)
    assert (label[drawn[:, :2]] == 1).all()
    assert (drawn[:, 2:] == 3).all()
    assert (drawn[:, 0] != drawn[:, 1]).all()
    assert 2 not in drawn


def test_the_robust_anchor_is_the_mean_by_assurance_whatever_the_batch() -> None:
    examples = Examples(
        torch.tensor([[0.0, 0.0], [4.0, 8.0]]), torch.tensor([1, 1]), torch.tensor([0.25, 0.75])
    )
    anchors = torch.tensor([0, 1])
    assert robust_anchor(examples, anchors).tolist() == [3.0, 6.0]
    assert robust_anchor(examples, anchors.repeat(50)).tolist() == pytest.approx([3.0, 6.0])


def test_the_loss_is_that_of_the_paper() -> None:
    anchor = torch.zeros(1, 2)
    others = torch.tensor([[[3.0, 4.0], [0.0, 1.0], [6.0, 8.0]]])
    sure = torch.tensor([[1.0, 0.5, 1.0]])
    logits = 2.0 * np.array([1.0 * (1 - 5), 0.5 * (1 - 1), 1.0 * (1 - 10)])
    expected = -(logits[0] - np.log(np.exp(logits).sum()))
    losses = tuplet_losses(anchor, others, sure, 2.0, 1.0)
    assert losses.item() == pytest.approx(expected, rel=1e-6)


def test_features_that_tell_nothing_are_shrunk_to_nothing() -> None:
    torch.manual_seed(0)
    network = EmbeddingNetwork(3, (4, 2), 0.0, "tanh")
    first = network.layers[0].weight
    assert isinstance(first, torch.Tensor)
    with torch.no_grad():
        first[:, 1] = 0.01
    network.shrink_features(0.05)
    assert (first[:, 1] == 0).all()
    assert (first[:, [0, 2]] != 0).any()


def test_products_are_the_components_of_all_products_of_two_features() -> None:
    rng = np.random.default_rng(0)
    scaled, unseen = rng.normal(size=(40, 4)), rng.normal(size=(9, 4))
    products = Products.of(scaled, 6, rng)
    # All 16 products written out, and their principal components.
    written, new = (
        (table[:, :, None] * table[:, None]).reshape(len(table), -1) for table in (scaled, unseen)
    )
    mean = written.mean(axis=0)
    axes = np.linalg.svd(written - mean, full_matrices=False)[2][:6].T
    places, expected = (written - mean) @ axes, (new - mean) @ axes
    size = np.sqrt((places**2).mean())
    np.testing.assert_allclose(np.abs(products(scaled)), np.abs(places) / size, atol=1e-3)
    np.testing.assert_allclose(np.abs(products(unseen)), np.abs(expected) / size, atol=1e-3)


def test_pairs_in_the_wrong_order_count_by_assurance() -> None:
    scores, label = torch.tensor([0.0, 2.0, 1.0, 2.0]), torch.tensor([0, 0, 1, 1])
    # Of four pairs one is wrong, one is a tie.
    assert wrong_order(scores, label, torch.ones(4)) == pytest.approx(1.5 / 4)
    sure = torch.tensor([1.0, 0.5, 1.0, 1.0])
    assert wrong_order(scores, label, sure) == pytest.approx(0.5 * 1.5 / 3)


# --- the representation ----------------------------------------------------------------------


def test_items_of_one_label_come_to_lie_together() -> None:
    features, votes, truth = a_task()
    # The mean of a ring is not on it: there its own examples are the better anchors.
    own = {**QUICK, "l2": 0.0, "robust_anchors": False}
    model = NeuCrowd(**own, random_state=0).fit(features, votes)
    places = model.embedding_
    apart = np.linalg.norm(places[truth == 1].mean(0) - places[truth == 0].mean(0))
    within = np.mean([places[truth == label].std(0).mean() for label in (0, 1)])
    assert apart > 3 * within
    np.testing.assert_allclose(model.transform(features), places)


@pytest.mark.parametrize("products", [0, 3])
def test_a_fit_repeats_and_outlives_saving(products: int, tmp_path: Path) -> None:
    features, votes, _ = a_task(80)
    model, other = (
        NeuCrowd(**QUICK, products=products, random_state=4).fit(features, votes) for _ in range(2)
    )
    np.testing.assert_array_equal(model.embedding_, other.embedding_)
    model.save(tmp_path / "model")
    again = NeuCrowd.load(tmp_path / "model")
    np.testing.assert_array_equal(again.transform(features), model.transform(features))


def test_items_without_votes_change_nothing() -> None:
    features, votes, _ = a_task(80)
    more = np.vstack([features, np.full((20, 2), 99.0)])
    unasked = np.vstack([votes, np.full((20, 5), -1)])
    alone = NeuCrowd(**QUICK, random_state=1).fit(features, votes)
    both = NeuCrowd(**QUICK, random_state=1).fit(more, unasked)
    np.testing.assert_allclose(both.embedding_[:80], alone.embedding_)
    assert (both.assurance_[80:] == 0).all()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"X": np.full((80, 2), np.nan)}, "must be finite, got nan in row 0, feature 0"),
        ({"X": np.ones((80, 2))}, "all features of X are constant"),
        ({"X": np.ones((79, 2))}, "79 items, but votes are about 80"),
        ({"X": np.empty((0, 2))}, "not empty"),
        ({"votes": np.ones((80, 5))}, "mostly 'no' votes, got 0"),
        ({"votes": np.full((80, 5), -1)}, "mostly 'yes' votes, got 0"),
        ({"votes": np.full((80, 5), 3)}, "must be 0, 1 or -1"),
        ({"products": -1}, "products must be a whole number >= 0"),
        ({"n": 2}, "n must be a whole number >= 3"),
        ({"activation": "step"}, "activation must be one of"),
        ({"eta": 0.0}, "eta must be > 0"),
    ],
)
def test_what_cannot_be_learned_from_is_said(change: dict[str, Any], says: str) -> None:
    features, votes, _ = a_task(80)
    given: dict[str, Any] = {"X": features, "votes": votes}
    given |= {name: value for name, value in change.items() if name in given}
    parameters = {name: value for name, value in change.items() if name not in given}
    with pytest.raises(ValueError, match=says):
        NeuCrowd(**{**QUICK, **parameters}).fit(**given)


def test_some_constant_features_and_an_annotator_who_always_says_yes_are_no_harm() -> None:
    features, votes, truth = a_task()
    wider = np.hstack([features, np.full((len(features), 3), 0.1)])
    votes[:, 0] = 1
    for assurance in ("votes", "dawid_skene"):
        model = NeuCrowd(**QUICK, assurance=assurance, random_state=0).fit(wider, votes)
        assert np.isfinite(model.embedding_).all()
        known = model.assurance_ > 0
        assert (model.label_ == truth)[known].mean() > 0.8


# --- the classifier --------------------------------------------------------------------------


def test_the_classifier_finds_what_no_line_parts_and_knows_how_sure_it_is(tmp_path: Path) -> None:
    features, votes, _ = a_task()
    unseen, _, truth = a_task(400, seed=9)
    candidates: list[dict[str, Any]] = [{"l2": 0.0}, {"layers": (1, 1)}]
    model = NeuCrowdClassifier(QUICK, candidates, n_networks=2, random_state=0)
    heard: list[tuple[int, int]] = []
    model.fit(features, votes, progress=lambda done, total, _: heard.append((done, total)))
    assert model.chosen_ == {"l2": 0.0}
    assert heard == [(1, 3), (2, 3), (3, 3)]
    chance = model.predict_proba(unseen)
    np.testing.assert_allclose(chance.sum(axis=1), 1.0)
    assert (model.predict(unseen) == truth).mean() > 0.95
    # Sure ones are right nearly always, and it is sure of most.
    sure = np.abs(chance[:, 1] - 0.5) > 0.4
    assert sure.mean() > 0.5
    assert ((chance[:, 1] > 0.5) == truth)[sure].mean() > 0.95
    model.save(tmp_path / "model")
    again = NeuCrowdClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(unseen), chance)


def two_clouds(n: int, seed: int, width: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two classes with the same mean, long in different directions; five annotators."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    long = np.where(np.arange(width) < width // 2, 2.0, 0.5)
    features = rng.normal(size=(n, width)) * np.where(truth[:, None] == 1, long, long[::-1])
    wrong = rng.random((n, 5)) < 0.2
    return features, np.where(wrong, 1 - truth[:, None], truth[:, None]), truth


def test_the_default_candidates_learn_what_only_products_tell() -> None:
    features, votes, _ = two_clouds(240, 0, 40)
    unseen, _, truth = two_clouds(400, 1, 40)
    model = NeuCrowdClassifier(random_state=0).fit(features, votes)
    assert model.chosen_["products"] > 0
    assert (model.predict(unseen) == truth).mean() > 0.95


def test_the_default_candidates_find_the_one_feature_that_tells() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 500)
    features = rng.normal(size=(500, 60))
    features[:, 7] += 2.0 * truth
    wrong = rng.random((200, 5)) < 0.2
    votes = np.where(wrong, 1 - truth[:200, None], truth[:200, None])
    model = NeuCrowdClassifier(random_state=0).fit(features[:200], votes)
    # That feature alone has 0.92.
    assert roc_auc_score(truth[200:], model.predict_proba(features[200:])[:, 1]) > 0.78


def test_a_regression_on_the_features_has_its_part_where_few_items_lie_along_a_line(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 700)
    features = rng.normal(size=(700, 80)) + 0.25 * (2 * truth[:, None] - 1)
    wrong = rng.random((100, 5)) < 0.2
    votes = np.where(wrong, 1 - truth[:100, None], truth[:100, None])
    given: dict[str, Any] = {"n_networks": 2, "random_state": 0}
    both = NeuCrowdClassifier(QUICK, [{}], **given).fit(features[:100], votes)
    alone = NeuCrowdClassifier(QUICK, [{}], regression=False, **given).fit(features[:100], votes)
    assert both.share_ > 0
    assert both.losses_[0] < alone.losses_[0]
    assert alone.share_ == 0
    assert not alone.plain_coef_.any()
    chance, before = (model.predict_proba(features[100:])[:, 1] for model in (both, alone))
    assert roc_auc_score(truth[100:], chance) > roc_auc_score(truth[100:], before)
    both.save(tmp_path / "model")
    again = NeuCrowdClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(features)[100:, 1], chance)


def test_an_annotator_who_always_says_yes_leaves_the_classifier_sane() -> None:
    features, votes, truth = a_task()
    votes[:, 0] = 1
    votes[:40] = -1
    model = NeuCrowdClassifier(QUICK, [{}], n_networks=2, random_state=0).fit(features, votes)
    assert np.isfinite(model.probability_).all()
    # Also of those that nobody voted on.
    assert ((model.probability_[:40] > 0.5) == truth[:40]).mean() > 0.8


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"X": np.full((80, 2), np.nan)}, "must be finite, got nan in row 0, feature 0"),
        ({"X": np.ones((80, 2))}, "all features of X are constant"),
        ({"votes": np.ones((80, 5))}, "mostly 'no' votes, got 0"),
        ({"votes": np.full((80, 5), -1)}, "mostly 'yes' votes, got 0"),
    ],
)
def test_the_classifier_says_what_cannot_be_learned_from(change: dict[str, Any], says: str) -> None:
    features, votes, _ = a_task(80)
    with pytest.raises(ValueError, match=says):
        NeuCrowdClassifier(QUICK, [{}]).fit(**{"X": features, "votes": votes} | change)


def test_the_classifier_says_what_is_wrong() -> None:
    features, votes, _ = a_task(40)
    with pytest.raises(NotFittedError):
        NeuCrowdClassifier().predict(features)
    with pytest.raises(ValueError, match="n_networks must be a whole number"):
        NeuCrowdClassifier(n_networks=0).fit(features, votes)
    with pytest.raises(ValueError, match="no parameter 'depth'"):
        NeuCrowdClassifier(candidates=[{"depth": 3}]).fit(features, votes)


def test_very_few_items_are_learned_from_without_holding_any_out() -> None:
    features, votes, _ = a_task(8)
    model = NeuCrowdClassifier(QUICK, [{}], random_state=0).fit(features, votes)
    assert np.isfinite(model.probability_).all()
