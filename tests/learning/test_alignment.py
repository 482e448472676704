"""Dimensions keep their numbers from one model to the next."""

import numpy as np

from learning.alignment import matching_columns, turned_onto
from learning.cen import ContextEmbeddingNetwork
from learning.groupings import Groupings
from learning.queries import random_grids
from learning.simulation import AttributeCrowd

N_IMAGES, N_ANNOTATORS, SIZE = 300, 8, 24
RNG = np.random.default_rng(3)
# Many values each: in which order they stand on a dimension is left to chance.
TABLE = {
    "category": np.array(list("abcdefgh"))[RNG.integers(0, 8, N_IMAGES)],
    "colour": np.array(list("0123456789"))[RNG.integers(0, 10, N_IMAGES)],
}
CROWD = AttributeCrowd.from_table(TABLE, N_ANNOTATORS, 0.05, 0.9, random_state=3)


def some_answers(n: int) -> Groupings:
    grids = random_grids(n, SIZE, N_IMAGES, np.random.default_rng(n))
    who = np.arange(n) % N_ANNOTATORS
    answers = [CROWD.answer(int(w), grid) for w, grid in zip(who, grids, strict=True)]
    groups = np.array([answer.groups for answer in answers])
    return Groupings(grids, groups, who, N_IMAGES, N_ANNOTATORS)


def fitted(answers: Groupings, seed: int) -> ContextEmbeddingNetwork:
    return ContextEmbeddingNetwork(n_dimensions=8, random_state=seed).fit(answers)


def test_columns_are_matched_by_places_and_turned_round() -> None:
    wanted = RNG.normal(size=(50, 3))
    embedding = np.concatenate([wanted, RNG.normal(size=(4, 3))])[:, [2, 0, 1]] * [1.0, -1.0, 1.0]
    order, sign = matching_columns(wanted, embedding)
    assert (order.tolist(), sign.tolist()) == ([1, 2, 0], [-1.0, 1.0, 1.0])


def test_answers_outvote_places() -> None:
    wanted = RNG.normal(size=(50, 2))
    shared = np.array([[1.0, 8.0], [9.0, 0.0]])
    order, _ = matching_columns(wanted, wanted, shared)
    assert order.tolist() == [1, 0]


def test_an_attribute_of_many_values_keeps_the_number_that_its_answers_had() -> None:
    first, second = some_answers(200), some_answers(400)
    before, after = fitted(first, 3), fitted(second, 13)
    aligned = after.aligned_with(before, second)
    same = aligned.predict_attribute(first) == before.predict_attribute(first)
    # By places alone 46 % are: the values stand in other orders now.
    assert same.mean() > 0.9
    assert sorted(aligned.attribute_share_) == sorted(after.attribute_share_)


def test_a_map_is_turned_and_mirrored_onto_another() -> None:
    rng = np.random.default_rng(3)
    wanted = rng.normal(size=(40, 2))
    turn = np.array([[0.6, 0.8], [0.8, -0.6]])
    # Five images are new; they move along with the others.
    new_map = np.concatenate([wanted, rng.normal(size=(5, 2))]) @ turn.T + 7
    turned = turned_onto(wanted, new_map)
    offset = wanted.mean(axis=0) - turned[:40].mean(axis=0)
    np.testing.assert_allclose(turned[:40] + offset, wanted, atol=1e-9)
    distances = np.linalg.norm(new_map[:, None] - new_map[None], axis=2)
    np.testing.assert_allclose(np.linalg.norm(turned[:, None] - turned[None], axis=2), distances)
