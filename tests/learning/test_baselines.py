"""Facts about the baselines."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError

from learning.baselines import (
    BayesianCrowdClustering,
    ConditionalSimilarity,
    PaperContextEmbedding,
    SiameseEmbedding,
    TripletEmbedding,
)
from learning.baselines.common import EmbeddingBaseline, random_triplets
from learning.groupings import Groupings, from_answers
from learning.metrics import best_threshold, pair_scores
from learning.simulation.scenes import celeba_like

SCENE = celeba_like(seed=0, n_grids=200, n_images=80, n_annotators=12)
ANSWERS, ABOUT = SCENE.groupings, SCENE.choices.attribute
TRAIN, TEST = np.arange(160), np.arange(160, 200)
BLIND = (SiameseEmbedding, TripletEmbedding, BayesianCrowdClustering, PaperContextEmbedding)
ALL = (*BLIND, ConditionalSimilarity)


def quick(kind: type[EmbeddingBaseline], **parameters: Any) -> Any:
    usual: dict[str, Any] = {"random_state": 0}
    usual["n_sweeps" if kind is BayesianCrowdClustering else "n_epochs"] = 10
    return kind(**(usual | parameters))


def extra(kind: type[EmbeddingBaseline], rows: Any) -> list[Any]:
    """The attributes, for the one that is told them."""
    return [ABOUT[rows]] if kind is ConditionalSimilarity else []


def scores(model: Any, rows: Any) -> dict[str, float]:
    answers, about = ANSWERS.subset(rows), extra(type(model), rows)
    distance = model.pair_distance(answers, *about)
    known = ~np.isnan(distance)
    same = answers.pair_labels()[known] == 1
    return pair_scores(same, model.predict_same(answers, *about)[known], distance[known])


@pytest.mark.parametrize("kind", ALL)
def test_each_beats_the_majority_rate_on_unseen_grids(kind: type[EmbeddingBaseline]) -> None:
    model = quick(kind).fit(ANSWERS.subset(TRAIN), *extra(kind, TRAIN))
    measured = scores(model, TEST)
    assert measured["accuracy"] > measured["majority_rate"] + 0.03
    assert measured["auc"] > 0.6


def test_who_is_told_the_attribute_is_far_ahead() -> None:
    informed = quick(ConditionalSimilarity).fit(ANSWERS.subset(TRAIN), ABOUT[TRAIN])
    blind = quick(SiameseEmbedding).fit(ANSWERS.subset(TRAIN))
    assert scores(informed, TEST)["auc"] > scores(blind, TEST)["auc"] + 0.1


@pytest.mark.parametrize("kind", ALL)
def test_save_and_load_keep_every_prediction(kind: type[EmbeddingBaseline], tmp_path: Path) -> None:
    model = quick(kind).fit(ANSWERS, *extra(kind, slice(None)))
    model.save(tmp_path / "model")
    loaded = kind.load(tmp_path / "model")
    about = extra(kind, slice(None))
    assert np.array_equal(model.predict_same(ANSWERS, *about), loaded.predict_same(ANSWERS, *about))
    assert loaded.get_params() == model.get_params()


@pytest.mark.parametrize("kind", ALL)
def test_the_same_random_state_repeats_the_fit(kind: type[EmbeddingBaseline]) -> None:
    model, other = (quick(kind).fit(ANSWERS, *extra(kind, slice(None))) for _ in range(2))
    assert np.array_equal(model.embedding_, other.embedding_)


@pytest.mark.parametrize("kind", ALL)
def test_one_group_for_all_never_gives_nan(kind: type[EmbeddingBaseline]) -> None:
    answers = from_answers([[0, 1, 2], [1, 2, 3]], [[0, 0, 0], [0, 0, 0]], [0, 0], 5, 1)
    about = [np.zeros(2, np.int64)] if kind is ConditionalSimilarity else []
    model = quick(kind).fit(answers, *about)
    assert np.isfinite(model.embedding_).all()
    assert model.predict_same(answers, *about).all()


@pytest.mark.parametrize("kind", ALL)
def test_padding_and_leftovers_have_no_distance(kind: type[EmbeddingBaseline]) -> None:
    answers = from_answers([[0, 1, 2, 3], [4, 5]], [[0, 0, -1, -1], [0, 1]], [0, 1], 6, 2)
    about = [np.array([0, 1])] if kind is ConditionalSimilarity else []
    distance = quick(kind).fit(answers, *about).pair_distance(answers, *about)
    assert np.isnan(distance[0]).tolist() == [False] * 5 + [True]
    assert np.isnan(distance[1]).tolist() == [False] + [True] * 5


@pytest.mark.parametrize("kind", ALL)
def test_bad_input_is_refused(kind: type[EmbeddingBaseline]) -> None:
    empty = from_answers([[0, 1]], [[-1, -1]], [0], 2, 1)
    about = [np.array([0])] if kind is ConditionalSimilarity else []
    with pytest.raises(ValueError, match="no informative pair"):
        quick(kind).fit(empty, *about)
    with pytest.raises(ValueError, match=r"n_dimensions.*0"):
        quick(kind, n_dimensions=0).fit(ANSWERS, *extra(kind, slice(None)))
    with pytest.raises(NotFittedError):
        quick(kind).pair_distance(ANSWERS, *extra(kind, slice(None)))
    model = quick(kind).fit(ANSWERS, *extra(kind, slice(None)))
    stranger = from_answers([[0, 80]], [[0, 0]], [0], 81, 12)
    with pytest.raises(ValueError, match=r"8[01]"):
        model.pair_distance(stranger, *about)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("rows", [TRAIN, TRAIN[:6]])
def test_progress_ends_at_the_last_step(kind: type[EmbeddingBaseline], rows: Any) -> None:
    heard: list[tuple[int, int]] = []
    quick(kind).fit(
        ANSWERS.subset(rows),
        *extra(kind, rows),
        progress=lambda done, total, metrics: heard.append((done, total)),
    )
    done, totals = zip(*heard, strict=True)
    assert list(done) == sorted(set(done))
    # Variational sweeps may end early.
    assert done[-1] == totals[-1] or kind is BayesianCrowdClustering


@pytest.mark.parametrize("kind", BLIND)
def test_thresholds_come_from_grids_that_a_fit_has_not_seen(kind: type[EmbeddingBaseline]) -> None:
    """On noise a model separates the training pairs well and unseen ones not at all: the best
    threshold for these calls all pairs what most are, and one from the training pairs does not."""
    rng = np.random.default_rng(0)
    images = np.array([rng.permutation(60)[:6] for _ in range(150)])
    groups = rng.integers(0, 4, (150, 6))
    answers = Groupings(images, groups, np.arange(150) % 10, 60, 10)
    train, test = answers.split(0.3, 1)
    model = kind(random_state=0).fit(train)
    same = test.pair_labels() == 1
    accuracy = (model.predict_same(test) == same).mean()
    assert accuracy > 1.0 - same.mean() - 0.03
    best = best_threshold(model.pair_distance(train).ravel(), (train.pair_labels() == 1).ravel())
    biased = ((model.pair_distance(test) < best) == same).mean()
    assert biased < accuracy - 0.02


def test_attributes_must_fit_the_answers() -> None:
    with pytest.raises(ValueError, match="3 attributes for 200 answers"):
        quick(ConditionalSimilarity).fit(ANSWERS, [0, 1, 2])
    with pytest.raises(ValueError, match="no answer has a known attribute"):
        quick(ConditionalSimilarity).fit(ANSWERS, np.full(200, -1))


def test_triplets_respect_the_groups() -> None:
    images = torch.arange(12).reshape(2, 6)
    answers = from_answers(images.tolist(), [[0, 0, 1, 1, -1, -1], [0] * 6], [0, 0], 12, 1)
    labels = torch.as_tensor(answers.pair_labels())
    triplets = random_triplets(images, labels, torch.Generator().manual_seed(0)).tolist()
    group = {0: 0, 1: 0, 2: 1, 3: 1, 4: -1, 5: -1}
    assert len(triplets) == 4, "a grid with one group has no negative"
    assert all(group[a] == group[p] and group[n] != group[a] for a, p, n in triplets)


def test_bayesian_clusters_and_annotators_have_their_shapes() -> None:
    model = quick(BayesianCrowdClustering, n_dimensions=3).fit(ANSWERS)
    assert model.labels_.shape == (80,)
    assert len(set(model.labels_.tolist())) > 1
    assert model.annotator_weight_.shape == (12, 3, 3)
    assert np.allclose(model.annotator_weight_, model.annotator_weight_.transpose(0, 2, 1))
