"""Facts about what is told of annotators, and about their words for attributes."""

import dataclasses
from functools import cache

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from learning.baselines import PaperContextEmbedding
from learning.cen import ContextEmbeddingNetwork
from learning.groupings import Groupings, from_answers
from learning.insight import AnnotatorInsight, annotator_insight, repeated_judgements
from learning.queries import random_grids
from learning.simulation import AttributeCrowd
from learning.words import attribute_words

RNG = np.random.default_rng(0)
N_IMAGES, N_ANNOTATORS, N_GRIDS = 80, 12, 240
TABLE = {
    "size": np.array(["tiny", "huge"])[RNG.integers(0, 2, N_IMAGES)],
    "mood": np.array(["cheerful", "calm", "sad"])[RNG.integers(0, 3, N_IMAGES)],
}
CROWD = AttributeCrowd.from_table(TABLE, N_ANNOTATORS, 0.03, preference=0.95, random_state=0)
# The last three annotators click anything; the first one makes coarse groups only.
CARELESS = np.where(np.arange(N_ANNOTATORS) >= 9, 0.9, 0.0)
CROWD = dataclasses.replace(
    CROWD,
    carelessness=CARELESS,
    noise_mix=(0.0, 1.0, 0.0),
    fineness=np.where(np.arange(N_ANNOTATORS) < 4, 0.0, 1.0),
)
GRIDS = random_grids(N_GRIDS, 16, N_IMAGES, RNG)
WHO = np.arange(N_GRIDS) % N_ANNOTATORS
ANSWERED = [CROWD.answer(int(w), grid) for w, grid in zip(WHO, GRIDS, strict=True)]
ANSWERS = Groupings(GRIDS, np.array([a.groups for a in ANSWERED]), WHO, N_IMAGES, N_ANNOTATORS + 1)


@cache
def fitted_model() -> ContextEmbeddingNetwork:
    return ContextEmbeddingNetwork(n_dimensions=3, random_state=0).fit(ANSWERS)


@cache
def full_insight() -> AnnotatorInsight:
    return annotator_insight(fitted_model(), ANSWERS)


def dimension_of(name: str) -> int:
    codes = np.unique(TABLE[name], return_inverse=True)[1]
    if name == "mood":
        codes = (TABLE[name] == "sad").astype(np.int64)
    spread = [abs(np.corrcoef(column, codes)[0, 1]) for column in fitted_model().embedding_.T[:2]]
    return int(np.argmax(spread))


def test_each_kind_of_annotator_shows_its_preference() -> None:
    own = CROWD.preferences.argmax(axis=1)
    dimensions = [dimension_of(name) for name in TABLE]
    assert sorted(dimensions) == [0, 1]
    for annotator in range(9):
        assert full_insight().preference[annotator].argmax() == dimensions[own[annotator]]
        assert full_insight().preference[annotator].max() > 0.7
    about_any = full_insight().preference.sum(axis=1)
    assert about_any[:9].min() > 0.9
    assert about_any[9:12].max() < 0.5, "careless annotators look at no attribute"


def test_careless_annotators_agree_less_and_are_told() -> None:
    assert full_insight().agreement[:9].min() > 0.6
    assert full_insight().agreement[9:12].max() < 0.4
    assert full_insight().carelessness[9:12].min() > full_insight().carelessness[:9].max()


def test_the_number_of_groups_is_counted() -> None:
    counted = [len(a.descriptions) for a, w in zip(ANSWERED, WHO, strict=True) if w == 5]
    assert full_insight().n_groups[5] == pytest.approx(np.mean(counted))
    assert full_insight().n_groups[:4].max() <= 2.0


def test_an_annotator_without_answers_has_nothing_to_tell() -> None:
    assert full_insight().n_answers[N_ANNOTATORS] == 0
    assert np.isnan(full_insight().agreement[N_ANNOTATORS])
    assert np.isnan(full_insight().n_groups[N_ANNOTATORS])
    assert np.isfinite(full_insight().preference[N_ANNOTATORS]).all()


def test_consistency_compares_repeated_judgements() -> None:
    images = [[0, 1, 2, 3]] * 4
    groups = [[0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1]]
    answers = from_answers(images, groups, [0, 0, 1, 1], 4, 3)
    n_repeats, kappa = repeated_judgements(answers)
    assert n_repeats.tolist() == [6, 6, 0]
    assert kappa[0] == pytest.approx(1.0)
    # Of 6 pairs 2 are judged alike; two judgements with 1/3 "same" agree by chance in 5/9.
    assert kappa[1] == pytest.approx((2 / 6 - 5 / 9) / (1 - 5 / 9))
    assert np.isnan(kappa[2])


def test_attributes_are_named_by_the_annotators_words() -> None:
    words = attribute_words(
        fitted_model().embedding_,
        fitted_model().attribute_probability(ANSWERS),
        ANSWERS,
        [a.descriptions for a in ANSWERED],
    )
    size, mood = words[dimension_of("size")], words[dimension_of("mood")]
    assert {size.low[0], size.high[0]} == {"tiny", "huge"}
    mood_words = set(" ".join(mood.low + mood.high).split())
    assert {"cheerful", "sad"} <= mood_words
    assert not mood_words & {"tiny", "huge"}
    places = fitted_model().embedding_[:, dimension_of("size")]
    tiny_is_low = places[TABLE["size"] == "tiny"].mean() < places.mean()
    assert size.low[0] == ("tiny" if tiny_is_low else "huge")


def test_without_words_attributes_have_no_name() -> None:
    probability = fitted_model().attribute_probability(ANSWERS)
    blank = [["", "  "] for _ in range(N_GRIDS)]
    words = attribute_words(fitted_model().embedding_, probability, ANSWERS, blank)
    assert [(w.low, w.high) for w in words] == [((), ())] * 3
    with pytest.raises(ValueError, match="1 lists of descriptions"):
        attribute_words(fitted_model().embedding_, probability, ANSWERS, [["a"]])


def test_the_published_network_has_preferences_but_no_levels_of_detail() -> None:
    model = PaperContextEmbedding(n_dimensions=3, n_epochs=5, random_state=0).fit(ANSWERS)
    insight = annotator_insight(model, ANSWERS)
    assert insight.preference[:-1].sum(axis=1) == pytest.approx(np.ones(N_ANNOTATORS))
    assert np.isnan(insight.preference[-1]).all(), "the last one has no answers"
    assert np.isnan(insight.detail).all()
    assert np.isnan(insight.carelessness).all()
    assert np.array_equal(insight.n_groups, full_insight().n_groups, equal_nan=True)
    same, predicted = ANSWERS.pair_labels() == 1, model.predict_same(ANSWERS)
    own = ANSWERS.annotators == 0
    agreeing = cohen_kappa_score(same[own].ravel(), predicted[own].ravel())
    assert insight.agreement[0] == pytest.approx(agreeing)


def test_what_lies_between_two_groups_has_words_of_its_own() -> None:
    """Three groups on a line are low, middle and high; of two groups none is in the middle."""
    embedding = np.arange(9.0)[:, None]
    three, two = [0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 0, 0, 0, 0, 0, 0, 0, 1]
    answers = from_answers([list(range(9))] * 8, [three] * 4 + [two] * 4, [0] * 8, 9, 1)
    descriptions = [["sad", "neutral", "happy"]] * 4 + [["everything else", "laughing"]] * 4
    [words] = attribute_words(embedding, np.ones((8, 1)), answers, descriptions)
    assert words.middle == ("neutral",)
    assert "neutral" not in words.low + words.high
