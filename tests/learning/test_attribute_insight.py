"""Facts about what is shown of attributes: columns, clusters and levels, example grids, words."""

from functools import cache

import numpy as np
import pytest

from learning.arrays import FloatArray
from learning.attribute_insight import attribute_columns, attribute_insight, image_clusters
from learning.baselines import PaperContextEmbedding
from learning.cen import ContextEmbeddingNetwork
from learning.groupings import Groupings, from_answers
from learning.insight import annotator_insight
from learning.queries import random_grids

N_IMAGES, N_ANNOTATORS, N_GRIDS, SIZE = 50, 6, 120, 8
KIND = np.arange(N_IMAGES) % 5
NAMES = ["owl", "gull", "hawk", "duck", "crow"]


def a_nominal_crowd() -> tuple[Groupings, list[list[str]]]:
    """Everyone groups by one attribute of five values without an order."""
    grids = random_grids(N_GRIDS, SIZE, N_IMAGES, np.random.default_rng(0))
    kinds = [np.unique(KIND[grid]).tolist() for grid in grids]
    groups = [
        [own.index(kind) for kind in KIND[grid]] for grid, own in zip(grids, kinds, strict=True)
    ]
    who = (np.arange(N_GRIDS) % N_ANNOTATORS).tolist()
    answers = from_answers(grids.tolist(), groups, who, N_IMAGES, N_ANNOTATORS)
    return answers, [[NAMES[kind] for kind in own] for own in kinds]


ANSWERS, WORDS = a_nominal_crowd()


@cache
def fitted_model() -> ContextEmbeddingNetwork:
    return ContextEmbeddingNetwork(n_dimensions=6, random_state=0).fit(ANSWERS)


@cache
def probability() -> FloatArray:
    return fitted_model().attribute_probability(ANSWERS)


@cache
def main_attribute() -> int:
    return int(fitted_model().attribute_share_.argmax())


def test_an_attribute_without_an_order_has_a_cluster_for_each_value() -> None:
    [insight] = attribute_insight(fitted_model(), ANSWERS, probability(), WORDS, [main_attribute()])
    assert not insight.ordered
    assert set(insight.columns) <= set(
        np.flatnonzero(fitted_model().dimension_attribute_ == main_attribute())
    )
    assert [cluster.size for cluster in insight.clusters] == [10] * 5
    for cluster in insight.clusters:
        assert len(set(KIND[list(cluster.images)])) == 1
        assert cluster.words == (NAMES[KIND[cluster.images[0]]],)
        assert cluster.silhouette > 0.5


def test_an_example_grid_shows_the_groups_of_an_answer_about_the_attribute() -> None:
    [insight] = attribute_insight(fitted_model(), ANSWERS, probability(), WORDS, [main_attribute()])
    assert insight.example is not None
    images, groups = np.array(insight.example.images), np.array(insight.example.groups)
    assert len(set(images.tolist())) == len(images) == 12
    assert (np.diff(groups) >= 0).all()
    same_kind = KIND[images][:, None] == KIND[images]
    assert ((groups[:, None] == groups) == same_kind).all()
    assert len(set(groups.tolist())) > 2


def test_levels_of_one_column_are_numbered_along_it() -> None:
    places = np.repeat([3.0, -2.0, 9.0], [12, 4, 4])[:, None]
    places += np.random.default_rng(0).normal(scale=0.01, size=places.shape)
    labels = image_clusters(places, np.arange(20))
    assert labels.tolist() == [1] * 12 + [0] * 4 + [2] * 4


def test_an_image_in_no_answer_belongs_to_the_nearest_cluster_and_makes_none() -> None:
    places = np.array([[0.0, 0.0], [0.1, 0.0], [5.0, 5.0], [5.0, 5.1], [4.0, 4.0]])
    labels = image_clusters(places, np.arange(4))
    assert labels[0] == labels[1] != labels[2] == labels[3]
    assert labels[4] == labels[2]


def test_images_in_one_or_two_places_are_as_many_clusters() -> None:
    assert image_clusters(np.zeros((4, 2)), np.arange(4)).tolist() == [0, 0, 0, 0]
    two = np.array([[1.0], [0.0], [0.0]])
    assert image_clusters(two, np.arange(3)).tolist() == [1, 0, 0]


def test_without_words_clusters_have_none() -> None:
    blank: list[list[str]] = [[] for _ in range(N_GRIDS)]
    [insight] = attribute_insight(fitted_model(), ANSWERS, probability(), blank, [main_attribute()])
    assert {cluster.words for cluster in insight.clusters} == {()}


def test_an_attribute_that_no_column_shows_is_refused() -> None:
    free = next(k for k in range(6) if k not in fitted_model().dimension_attribute_)
    with pytest.raises(ValueError, match=f"attribute {free}"):
        attribute_insight(fitted_model(), ANSWERS, probability(), WORDS, [free])


def test_the_published_network_has_a_column_for_each_attribute() -> None:
    model = PaperContextEmbedding(n_dimensions=3, n_epochs=2, random_state=0).fit(ANSWERS)
    insights = attribute_insight(
        model, ANSWERS, model.attribute_probability(ANSWERS), WORDS, [0, 1]
    )
    assert [insight.columns for insight in insights] == [(0,), (1,)]
    assert all(insight.ordered and insight.example for insight in insights)
    assert attribute_columns(model, 2) == (2,)
    blind = PaperContextEmbedding(3, "annotator", n_epochs=2, random_state=0).fit(ANSWERS)
    [insight] = attribute_insight(blind, ANSWERS, blind.attribute_probability(ANSWERS), WORDS, [0])
    assert insight.example is None, "it has no context encoder to make grids by"


def test_what_an_annotator_used_is_the_mean_over_their_answers() -> None:
    own_answers = from_answers(
        ANSWERS.images.tolist(), ANSWERS.groups.tolist(), [0] + [1] * (N_GRIDS - 1), N_IMAGES, 6
    )
    insight = annotator_insight(fitted_model(), own_answers)
    probability = fitted_model().attribute_probability(own_answers)
    assert insight.used[0] == pytest.approx(probability[0])
    assert np.isnan(insight.used_error[0]).all(), "one answer has no standard error"
    assert insight.used[1] == pytest.approx(probability[1:].mean(axis=0))
    error = probability[1:].std(axis=0, ddof=1) / np.sqrt(N_GRIDS - 1)
    assert insight.used_error[1] == pytest.approx(error)
    assert np.isnan(insight.used[2]).all(), "no answers"


def test_the_published_network_does_not_say_what_was_used() -> None:
    model = PaperContextEmbedding(n_dimensions=3, n_epochs=2, random_state=0).fit(ANSWERS)
    insight = annotator_insight(model, ANSWERS)
    assert np.isnan(insight.used).all()
    assert np.isnan(insight.used_error).all()
