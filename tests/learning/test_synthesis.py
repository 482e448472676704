"""Facts about grids made to be about one attribute, and of images known least."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from learning.arrays import FloatArray, IntArray
from learning.baselines import PaperContextEmbedding
from learning.cen import ContextEmbeddingNetwork
from learning.simulation.scenes import celeba_like
from learning.synthesis import distinct_rows, least_known_grids, vagueness

SCENE = celeba_like(seed=0, n_grids=300)


@cache
def fitted_model() -> ContextEmbeddingNetwork:
    return ContextEmbeddingNetwork(n_starts=1, random_state=0).fit(SCENE.groupings)


def relative_spread(embedding: FloatArray, grids: IntArray) -> FloatArray:
    """(K,) mean deviation of the grids' images over that of random grids."""
    random = distinct_rows(500, grids.shape[1], len(embedding), np.random.default_rng(1))
    return np.asarray(
        embedding[grids].std(axis=1).mean(axis=0) / embedding[random].std(axis=1).mean(axis=0)
    )


@pytest.mark.parametrize("attribute", range(4))
@pytest.mark.parametrize("method", ["search", "stream"])
def test_grids_about_an_attribute_spread_on_it_and_little_on_others(
    attribute: int, method: str
) -> None:
    grids = fitted_model().synthesize_grids(
        20, 24, attribute, n_candidates=20_000, random_state=0, method=method
    )
    assert grids.shape == (20, 24)
    assert all(len(set(grid)) == 24 for grid in grids.tolist())
    spread = relative_spread(fitted_model().embedding_, grids)
    others = np.delete(spread, attribute)
    assert spread[attribute] > 1.02
    assert others.max() < (0.8 if method == "search" else 0.97)
    # And so they do in the attributes that the crowd really sees, not only in the model's.
    true = np.stack([a.positions for a in SCENE.crowd.attributes], axis=1)
    match = np.abs(np.corrcoef(fitted_model().embedding_.T, true.T)[:4, 4:]).argmax(axis=1)
    seen = relative_spread(true, grids)
    margin = 0.03 if method == "search" else 0.0
    assert seen[match[attribute]] > np.delete(seen, match[attribute]).max() + margin


def test_a_search_finds_clearer_grids_than_a_stream_of_as_many() -> None:
    def cost(method: str) -> float:
        grids = fitted_model().synthesize_grids(
            10, 24, 1, n_candidates=100_000, random_state=0, method=method
        )
        spread = fitted_model().embedding_[grids].std(axis=1) / fitted_model().embedding_.std(
            axis=0
        )
        return float(vagueness(10 * spread, 1).mean())

    assert cost("search") < cost("stream")


def test_grids_about_every_attribute_in_turn_use_many_images() -> None:
    grids = fitted_model().synthesize_grids(40, 24, random_state=0)
    about = fitted_model().embedding_[grids].std(axis=1) / fitted_model().embedding_.std(axis=0)
    assert np.bincount(about.argmax(axis=1), minlength=4).min() >= 8
    assert len(np.unique(grids)) > 180
    assert np.array_equal(grids, fitted_model().synthesize_grids(40, 24, random_state=0))


def test_the_papers_network_streams_through_its_context_encoder() -> None:
    model = PaperContextEmbedding(n_epochs=3, n_hidden=16, random_state=0).fit(SCENE.groupings)
    grids = model.synthesize_grids(5, 24, n_candidates=3_000, random_state=0)
    random = distinct_rows(200, 24, 300, np.random.default_rng(2))
    ordinary = vagueness(model.grid_activation(random), None)
    assert vagueness(model.grid_activation(grids), None).max() < np.quantile(ordinary, 0.05)


def test_images_known_least_are_asked_first() -> None:
    information = np.full((100, 3), 20.0)
    information[:10] = 0.0
    # An attribute that no answer is about says nothing about what is known.
    information[:, 2] = 0.0
    grids = least_known_grids(information, 50, 12, np.random.default_rng(0))
    assert all(len(set(grid)) == 12 for grid in grids.tolist())
    assert np.mean(grids < 10) > 0.4
    assert len(np.unique(grids)) > 80


def test_the_papers_annotator_variant_has_no_context_to_stream_through() -> None:
    model = PaperContextEmbedding(variant="annotator", n_epochs=1, n_hidden=4)
    model.fit(SCENE.groupings)
    with pytest.raises(ValueError, match="no context encoder"):
        model.synthesize_grids(2, 24)


def test_uncertain_grids_have_their_shape() -> None:
    assert fitted_model().uncertain_grids(3, 24, random_state=0).shape == (3, 24)


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"attribute": 4}, r"0\.\.3, got 4"),
        ({"grid_size": 301}, "at most 300 images, got 301"),
        ({"n": 10, "n_candidates": 5}, "at least n=10, got 5"),
        ({"method": "guess"}, "guess"),
        ({"n": -1}, "-1"),
    ],
)
def test_impossible_wishes_are_refused(wish: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fitted_model().synthesize_grids(**({"n": 2, "grid_size": 24} | wish))


def test_an_attribute_that_no_answer_is_about_is_refused() -> None:
    wide = ContextEmbeddingNetwork(n_dimensions=9, n_starts=1, random_state=0)
    wide.fit(SCENE.groupings)
    with pytest.raises(ValueError, match="no answer is about attribute 8"):
        wide.synthesize_grids(2, 24, attribute=8)


def test_grids_may_take_all_images() -> None:
    small = celeba_like(seed=0, n_grids=30, n_images=24).groupings
    model = ContextEmbeddingNetwork(n_starts=1, random_state=0).fit(small)
    used = int(np.flatnonzero(model.embedding_.std(axis=0) > 0)[0])
    grids = model.synthesize_grids(2, 24, attribute=used)
    assert np.array_equal(np.sort(grids, axis=1), np.tile(np.arange(24), (2, 1)))
