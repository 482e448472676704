"""Votes for one of several classes, and for several labels: models, aggregates, agreement."""

import numpy as np
import pytest

from learning.aggregation import METHODS
from learning.arrays import FloatArray, IntArray
from learning.ballots import ballot_agreement
from learning.class_ballots import (
    class_agreement,
    class_consistency,
    class_votes_of,
    label_agreement,
    label_votes_of,
    masks_of,
    on_off,
    unanswered,
)
from learning.class_labels import CrowdClasses, CrowdTags
from learning.class_vote_model import hear_classes
from learning.class_votes import aggregate_classes, as_class_votes, assured_by_class_votes
from learning.groupings import Groupings
from learning.redundancy import (
    expected_class_error,
    expected_error,
    gain_per_class_vote,
    gain_per_vote,
)
from learning.simulation import ClassCrowd, TagCrowd
from learning.vote_model import hear
from learning.votes import Votes, assured_by_votes

QUICK = {"candidates": [{}], "n_networks": 1, "parameters": {"n_epochs": 12}}


def voted(crowd: ClassCrowd | TagCrowd, per_item: int, seed: int = 0) -> Groupings:
    """`per_item` annotators about each item, one grid each."""
    rng = np.random.default_rng(seed)
    pairs = [
        (person, item)
        for item in range(crowd.n_images)
        for person in rng.permutation(crowd.n_annotators)[:per_item]
    ]
    answers = [crowd.answer(int(person), [item]).groups for person, item in pairs]
    return Groupings(
        np.array([[item] for _, item in pairs]),
        np.array(answers),
        np.array([person for person, _ in pairs]),
        crowd.n_images,
        crowd.n_annotators,
    )


def a_scene(
    n: int = 240, n_classes: int = 4, noise: float = 0.25, seed: int = 0
) -> tuple[FloatArray, IntArray, ClassCrowd, Votes]:
    """Features that say something about the class, and votes of a crowd that confuses pairs."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n)
    centres = rng.normal(size=(n_classes, 8))
    features = centres[truth] + rng.normal(size=(n, 8))
    crowd = ClassCrowd.of_people(truth, n_classes, 7, noise, random_state=seed)
    return features, truth, crowd, class_votes_of(voted(crowd, 3, seed))


# --- answers ---------------------------------------------------------------------------------


def test_the_last_answer_counts_and_none_replaces_nothing() -> None:
    answers = Groupings(
        np.array([[0, 1, 2], [0, 1, 2]]), np.array([[1, 2, -1], [0, -1, -1]]), np.array([0, 0]),
        3, 1,
    )  # fmt: skip
    assert class_votes_of(answers).ravel().tolist() == [0, 2, -1]
    assert unanswered(answers).tolist() == [0, 0, 1]


def test_masks_are_labels_that_are_on() -> None:
    masks = np.array([0, 1, 5, 1023, -1])
    on = on_off(masks, 10)
    assert masks_of(on).tolist() == [0, 1, 5, 1023, 0]
    answers = Groupings(np.array([[0, 1, 2]]), np.array([[5, 0, -1]]), np.array([0]), 3, 1)
    votes = label_votes_of(answers, 3)
    assert votes[:, :, 0].T.tolist() == [[1, 0, 1], [0, 0, 0], [-1, -1, -1]]


def test_votes_for_no_class_are_refused() -> None:
    with pytest.raises(ValueError, match="got 3 in row 0, column 1"):
        as_class_votes([[0, 3]], 3)


# --- agreement -------------------------------------------------------------------------------


def test_kappa_of_two_classes_is_that_of_yes_and_no() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        known, given = rng.integers(2, size=(2, 12))
        expected = ballot_agreement(known, given)
        of_classes = class_agreement(known, given)
        if expected is None:
            assert of_classes is None
            continue
        assert of_classes is not None
        assert of_classes.value == pytest.approx(expected.value)
        assert of_classes.chance == pytest.approx(expected.chance)


def test_kappa_of_one_label_is_that_of_two_classes() -> None:
    known, given = [0, 1, 1, 0, 1, 0], [0, 1, 0, 0, 1, 1]
    label, classes = label_agreement(known, given, 1), class_agreement(known, given)
    assert label is not None
    assert classes is not None
    assert (label.value, label.chance) == pytest.approx((classes.value, classes.chance))


@pytest.mark.parametrize("n_labels", [0, 3])
def test_the_deviation_is_that_of_random_answers(n_labels: int) -> None:
    rng = np.random.default_rng(1)
    known = rng.integers(8 if n_labels else 4, size=24)
    given = rng.integers(8 if n_labels else 4, size=24)
    agreements = []
    for _ in range(3_000):
        shuffled = rng.permutation(given)
        agreement = (
            label_agreement(known, shuffled, n_labels)
            if n_labels
            else class_agreement(known, shuffled)
        )
        assert agreement is not None
        agreements.append(agreement)
    values = np.array([agreement.value for agreement in agreements])
    assert abs(values.mean()) < 4 * values.std() / 3_000**0.5
    assert values.std() == pytest.approx(agreements[0].chance, rel=0.06)


def test_what_cannot_be_compared() -> None:
    assert class_agreement([1, 1, 1], [0, 1, 2]) is None
    flat = class_agreement([0, 1, 2], [1, 1, 1])
    assert flat is not None
    assert flat.value == 0
    assert class_consistency([0, 1, 2], [1, 1, 1]) is None
    # Unsure says nothing: the other images agree.
    some = class_agreement([0, 1, 2, 0], [0, 1, 2, -1])
    assert some is not None
    assert some.value == pytest.approx(1)
    # The label that is always on counts for nothing; of those that count, one is never given.
    labels = label_agreement([3, 1, 7, 1], [3, 1, 3, 1], 3)
    assert labels is not None
    assert labels.value == pytest.approx(0.5)
    with pytest.raises(ValueError, match="can't be compared"):
        class_agreement([0, 1], [0])


# --- two classes are yes and no --------------------------------------------------------------


def test_two_classes_have_the_assurance_and_gain_of_yes_and_no() -> None:
    rng = np.random.default_rng(0)
    votes = rng.integers(-1, 2, size=(40, 5))
    two, yes = (
        assured_by_class_votes(votes.astype(np.int8), 2),
        assured_by_votes(votes.astype(np.int8)),
    )
    assert two.assurance == pytest.approx(yes.assurance)
    assert (two.label == yes.label)[yes.known].all()
    chance = rng.random(30)
    both = np.stack([1 - chance, chance], axis=1)
    confusion = [[0.8, 0.2], [0.3, 0.7]]
    for n in range(4):
        assert expected_class_error(both, confusion, n) == pytest.approx(
            expected_error(chance, 0.7, 0.8, n), abs=1e-9
        )
    assert gain_per_class_vote(both, confusion) == pytest.approx(
        gain_per_vote(chance, 0.7, 0.8), abs=1e-9
    )


def test_two_classes_are_heard_as_yes_and_no() -> None:
    _, _, _, votes = a_scene(n_classes=2, noise=0.2)
    even = np.full(len(votes), 0.5)
    yes = hear(votes, even)
    two = hear_classes(votes, np.stack([even, even], axis=1))
    assert two.probability[:, 1] == pytest.approx(yes.probability, abs=1e-9)
    assert two.confusion[:, 1, 1] == pytest.approx(yes.sensitivity, abs=1e-9)
    assert two.confusion[:, 0, 0] == pytest.approx(yes.specificity, abs=1e-9)


# --- models of K classes ---------------------------------------------------------------------


def test_the_model_finds_who_confuses_what() -> None:
    truth = np.arange(600) % 3
    confusion = np.tile(np.eye(3) * 0.85 + 0.05, (5, 1, 1))
    # One takes every second image of class 0 for class 1.
    confusion[2, 0] = [0.45, 0.5, 0.05]
    votes = class_votes_of(voted(ClassCrowd(truth, confusion), 5))
    model = hear_classes(votes, np.full((600, 3), 1 / 3))
    assert np.abs(model.confusion - confusion).max() < 0.1
    assert model.confusion.sum(axis=2) == pytest.approx(1)
    assert (model.probability.argmax(axis=1) == truth).mean() > 0.97
    assert model.probability.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("method", METHODS)
def test_aggregates_are_probabilities_of_all_classes(method: str) -> None:
    votes = np.array([[0, 0, 1], [2, 2, 2], [-1, -1, -1]])
    result = aggregate_classes(votes, 4, method)
    assert result.probability.shape == (3, 4)
    assert result.probability.sum(axis=1) == pytest.approx(1)
    assert result.probability[:2].argmax(axis=1).tolist() == [0, 2]
    assert result.probability[2] == pytest.approx(0.25)
    with pytest.raises(ValueError, match="method must be one of"):
        aggregate_classes(votes, 4, "wisdom")


def test_no_vote_says_nothing_and_a_rare_class_is_not_ruled_out() -> None:
    none = CrowdClasses(3, classifier=QUICK).fit(np.eye(5), np.full((5, 2), -1))
    assert none.classifier_ is None
    assert none.probability_ == pytest.approx(1 / 3)
    features, truth, _, votes = a_scene(n_classes=2)
    # Nobody ever chose the third class.
    model = CrowdClasses(3, classifier=QUICK, random_state=0).fit(features, votes)
    assert (model.probability_.argmax(axis=1) == truth).mean() > 0.9
    assert (model.prior_[:, 2] > 0).all()
    assert model.prior_[:, 2].max() < 0.1


def test_votes_and_classifier_are_right_more_often_than_votes_alone() -> None:
    """A small benchmark: three votes of people who confuse pairs of classes, and features."""
    right: dict[str, list[float]] = {}
    for seed in range(3):
        features, truth, _, votes = a_scene(seed=seed)
        for method in METHODS:
            chosen = aggregate_classes(votes, 4, method).probability.argmax(axis=1)
            right.setdefault(method, []).append(float((chosen == truth).mean()))
        model = CrowdClasses(4, classifier=QUICK, random_state=seed).fit(features, votes)
        share = float((model.probability_.argmax(axis=1) == truth).mean())
        right.setdefault("ours", []).append(share)
        # The model knows how good it is.
        assert model.probability_.max(axis=1).mean() == pytest.approx(share, abs=0.06)
    means = {name: np.mean(values) for name, values in right.items()}
    assert means["dawid_skene"] >= means["majority"] - 0.01, means
    assert means["ours"] > max(means[method] for method in METHODS) + 0.02, means


def test_fits_are_repeated_and_models_saved(tmp_path: object) -> None:
    features, _, _, votes = a_scene(n=120, n_classes=3)
    model = CrowdClasses(3, classifier=QUICK, random_state=1).fit(features, votes)
    again = CrowdClasses(3, classifier=QUICK, random_state=1).fit(features, votes)
    assert again.probability_ == pytest.approx(model.probability_, abs=1e-6)
    model.save(f"{tmp_path}/model")
    loaded = CrowdClasses.load(f"{tmp_path}/model")
    assert loaded.predict_proba(features) == pytest.approx(model.predict_proba(features))
    assert loaded.confusion_ == pytest.approx(model.confusion_)
    with pytest.raises(ValueError, match="votes has 2"):
        CrowdClasses(3).fit(features, votes[:2])


def test_each_label_has_a_model(tmp_path: object) -> None:
    rng = np.random.default_rng(0)
    has = rng.random((200, 2)) < [0.5, 0.3]
    features = np.hstack([has + rng.normal(0, 0.5, has.shape), rng.normal(size=(200, 3))])
    crowd = TagCrowd.of_people(has, 6, 0.15, random_state=2)
    votes = label_votes_of(voted(crowd, 3), 2)
    model = CrowdTags(2, classifier=QUICK, random_state=0).fit(features, votes)
    assert (model.probability_.shape, model.sensitivity_.shape) == ((200, 2), (2, 6))
    assert ((model.probability_ > 0.5) == has).mean() > 0.93
    model.save(f"{tmp_path}/model")
    loaded = CrowdTags.load(f"{tmp_path}/model")
    assert loaded.predict_proba(features) == pytest.approx(model.predict_proba(features))
    with pytest.raises(ValueError, match=r"votes must be \(3, n, d\)"):
        CrowdTags(3).fit(features, votes)


# --- simulated people ------------------------------------------------------------------------


def test_simulated_people_err_as_they_should() -> None:
    truth = np.arange(3_000) % 4
    crowd = ClassCrowd.of_people(truth, 4, 6, noise=0.2, guessing=1 / 6, random_state=3)
    for person in range(6):
        given = crowd.answer(person, np.arange(3_000)).groups
        assert given.tolist() == crowd.answer(person, np.arange(3_000)).groups.tolist()
        shares = np.array([np.bincount(given[truth == k], minlength=4) / 750 for k in range(4)])
        assert np.abs(shares - crowd.confusion[person]).max() < 0.08
    # Most errors go to the other class of a pair.
    honest = [c for c in crowd.confusion if not np.allclose(c, 0.25)]
    assert len(honest) == 5
    assert all(c[0, 1] > c[0, 2] for c in honest)
    with pytest.raises(ValueError, match="probabilities that sum to 1"):
        ClassCrowd(truth, np.ones((1, 4, 4)))
    with pytest.raises(ValueError, match=r"in 0\.\.1"):
        TagCrowd(np.zeros((3, 2)), [[2.0, 1.0]], [[1.0, 1.0]])
