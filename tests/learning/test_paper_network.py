"""Facts about the Context Embedding Network as it was published."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from learning.arrays import FloatArray
from learning.baselines import PUBLISHED_SETTINGS, PaperContextEmbedding
from learning.groupings import Groupings, from_answers
from learning.metrics import pair_auc
from learning.paper_cen.network import PaperNetwork, Sizes
from learning.simulation.scenes import celeba_like

ANSWERS = celeba_like(seed=0, n_grids=240, n_images=120, n_annotators=24).groupings
VARIANTS = ("mixture", "annotator", "context")
MARGIN_SAME, MARGIN_DIFFERENT = 1.0, 6.0


def quick(**parameters: Any) -> PaperContextEmbedding:
    return PaperContextEmbedding(
        **({"n_epochs": 2, "n_hidden": 16, "random_state": 0} | parameters)
    )


def first_distances(seed: int) -> FloatArray:
    """Distances of the pairs of all grids before training, of the mixture."""
    sizes = Sizes(ANSWERS.n_images, ANSWERS.n_annotators, 4, 200, "mixture")
    network = PaperNetwork(sizes, torch.Generator().manual_seed(seed))
    images = torch.as_tensor(ANSWERS.images.copy())
    annotators = torch.as_tensor(ANSWERS.annotators.copy())
    first, second = np.triu_indices(ANSWERS.grid_size, 1)
    with torch.no_grad():
        activation = network.grid_activation(images) + network.annotator_activation(annotators)
        weighted = activation.unsqueeze(1) * network.embed(images)
        apart = (weighted[:, first] - weighted[:, second]).norm(dim=2)
    return np.asarray(apart.double().numpy())


@pytest.mark.parametrize("seed", range(3))
def test_training_starts_with_all_pairs_inside_the_margin(seed: int) -> None:
    """Beyond it, different pairs have no gradient, and same ones pull every activation to zero."""
    distance = first_distances(seed)
    assert distance.max() < MARGIN_DIFFERENT
    assert (distance > 0).mean() > 0.8


@pytest.mark.parametrize("seed", range(3))
def test_activations_live_after_a_fit(seed: int) -> None:
    model = PaperContextEmbedding(random_state=seed).fit(ANSWERS)
    of_grids = model.grid_activation(ANSWERS.images)
    for activation in (model.annotator_activation_, of_grids):
        assert ((activation > 0).any(axis=0)).sum() >= 2, "more than half of the units are dead"
        assert (activation.sum(axis=1) > 0).mean() > 0.9
    distance = model.pair_distance(ANSWERS)
    same = ANSWERS.pair_labels() == 1
    assert np.nanquantile(distance, 0.1) < MARGIN_SAME
    assert np.nanquantile(distance, 0.9) > MARGIN_DIFFERENT / 2
    assert np.nanmax(distance) > MARGIN_DIFFERENT
    known = ~np.isnan(distance)
    assert pair_auc(same[known], distance[known]) > 0.8


def test_the_distance_is_equation_5() -> None:
    model = quick().fit(ANSWERS)
    activation, images = model.activation(ANSWERS)[4], ANSWERS.images[4]
    gap = model.embedding_[images[0]] - model.embedding_[images[2]]
    assert model.pair_distance(ANSWERS)[4, 1] == pytest.approx(np.linalg.norm(activation * gap))
    both = model.annotator_activation_[ANSWERS.annotators] + model.grid_activation(ANSWERS.images)
    assert np.allclose(model.activation(ANSWERS), both)


def test_variants_have_no_more_encoders_than_they_use() -> None:
    assert not quick(variant="context").fit(ANSWERS).annotator_activation_.any()
    assert not quick(variant="annotator").fit(ANSWERS).grid_activation(ANSWERS.images).any()


def test_a_step_of_pairs_and_one_of_grids_have_the_same_loss() -> None:
    one_grid = ANSWERS.subset([3])
    losses: list[float] = []
    for pairs_per_step in (None, 276):
        quick(n_epochs=1, pairs_per_step=pairs_per_step, threshold="midpoint").fit(
            one_grid, progress=lambda done, total, metrics: losses.append(metrics["loss"])
        )
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def test_the_published_settings_train() -> None:
    small = ANSWERS.subset(np.arange(6))
    model = PaperContextEmbedding(**(PUBLISHED_SETTINGS | {"n_epochs": 1})).fit(small)
    assert model.threshold_ == 3.5
    assert np.isfinite(model.embedding_).all()


@pytest.mark.parametrize("variant", VARIANTS)
def test_save_and_load_keep_every_prediction(variant: str, tmp_path: Path) -> None:
    model = quick(variant=variant).fit(ANSWERS)
    model.save(tmp_path / "model")
    loaded = PaperContextEmbedding.load(tmp_path / "model")
    assert loaded.get_params() == model.get_params()
    assert np.array_equal(loaded.embedding_, model.embedding_)
    assert np.array_equal(loaded.activation(ANSWERS), model.activation(ANSWERS))
    assert np.array_equal(loaded.predict_same(ANSWERS), model.predict_same(ANSWERS))
    assert np.array_equal(loaded.predict_attribute(ANSWERS), model.predict_attribute(ANSWERS))
    assert np.array_equal(loaded.attribute_share_, model.attribute_share_)


def test_an_aligned_model_predicts_the_same_in_the_order_of_the_earlier_one() -> None:
    earlier, later = quick(random_state=1).fit(ANSWERS), quick(random_state=2).fit(ANSWERS)
    aligned = later.aligned_with(earlier)
    distance = aligned.pair_distance(ANSWERS)
    assert np.allclose(distance, later.pair_distance(ANSWERS), equal_nan=True)
    assert sorted(aligned.attribute_share_) == pytest.approx(sorted(later.attribute_share_))
    for k in range(4):
        assert np.corrcoef(earlier.embedding_[:, k], aligned.embedding_[:, k])[0, 1] >= 0
    with pytest.raises(ValueError, match="4 dimensions, this one 3"):
        quick(n_dimensions=3).fit(ANSWERS).aligned_with(earlier)


def test_images_and_annotators_without_answers_take_the_mean() -> None:
    answers = from_answers([[0, 1, 2], [0, 1, 2]], [[0, 0, 1]] * 2, [0, 0], 5, 2)
    model = quick().fit(answers)
    assert model.embedding_[4] == pytest.approx(model.embedding_[:3].mean(axis=0))
    assert model.annotator_activation_[1] == pytest.approx(model.annotator_activation_[0])


def test_bad_input_is_refused_with_the_offending_value() -> None:
    for name, value in {
        "variant": "siamese",
        "threshold": "high",
        "n_dimensions": 0,
        "n_hidden": 0,
        "gamma": float("nan"),
        "sparsity": -1.0,
        "pairs_per_step": -1,
    }.items():
        with pytest.raises(ValueError, match=f"{name}.*{value}"):
            quick(**{name: value}).fit(ANSWERS)
    model = quick().fit(ANSWERS)
    with pytest.raises(ValueError, match="120"):
        model.grid_activation(np.array([[120]]))
    with pytest.raises(ValueError, match="24"):
        model.activation(from_answers([[0, 1]], [[0, 0]], [24], 120, 25))
    with pytest.raises(ValueError, match=r"0\.\.3, got 4"):
        model.synthesize_grids(2, 12, attribute=4)
    alike = Groupings(ANSWERS.images, ANSWERS.groups * 0 - 1, ANSWERS.annotators, 120, 24)
    with pytest.raises(ValueError, match="no informative pair"):
        quick(threshold="midpoint").fit(alike)
