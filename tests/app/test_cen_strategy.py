"""The CEN strategy: rounds in shares, going on from the previous model, insight."""

from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.core.storage import put_object
from app.strategies import Learned, LearningData, get_strategy
from app.strategies.answer_attributes import answer_key
from app.strategies.previous import PreviousModel
from learning.groupings import Groupings
from learning.queries import random_grids
from learning.simulation import AttributeCrowd

N_IMAGES, SIZE, N_ANNOTATORS = 60, 12, 8
RNG = np.random.default_rng(0)
TABLE = {
    "colour": np.array(["red", "blue"])[RNG.integers(0, 2, N_IMAGES)],
    "size": np.array(["tiny", "huge"])[RNG.integers(0, 2, N_IMAGES)],
}
CROWD = AttributeCrowd.from_table(TABLE, N_ANNOTATORS, 0.03, 0.9, random_state=0)


def some_data(n: int = 120, seed: int = 0, previous: PreviousModel | None = None) -> LearningData:
    grids = random_grids(n, SIZE, N_IMAGES, np.random.default_rng(seed))
    who = np.arange(n) % N_ANNOTATORS
    answers = [CROWD.answer(int(w), grid) for w, grid in zip(who, grids, strict=True)]
    groups = np.array([answer.groups for answer in answers])
    return LearningData(
        rounds=[Groupings(grids, groups, who, N_IMAGES, N_ANNOTATORS)],
        n_images=N_IMAGES,
        grid_size=SIZE,
        n_rounds=3,
        n_groups=10,
        seed=seed,
        words=[answer.descriptions for answer in answers],
        previous=previous,
    )


def learn(data: LearningData, **settings: Any) -> Learned:
    return get_strategy("cen").learn(data, settings, lambda done: None)


DATA = some_data()


@cache
def first_learned() -> Learned:
    return learn(DATA)


def named(learned: Learned) -> dict[str, int]:
    """Which attribute number goes by the words of colour, and which by those of size."""
    assert learned.insight is not None
    numbers = {}
    for attribute in learned.insight["attributes"]:
        words = {attribute["low"][0], attribute["high"][0]}
        numbers["colour" if "red" in words else "size"] = attribute["index"]
        assert words in ({"red", "blue"}, {"tiny", "huge"})
    return numbers


def stored(learned: Learned, folder: Path, n_answers: int) -> PreviousModel:
    """The model as publishing would leave it."""
    learned.save(folder / "model")
    for file in (folder / "model").iterdir():
        put_object(f"models/test/{folder.name}/model/{file.name}", file.read_bytes())
    return PreviousModel(1, n_answers, learned.notes, f"models/test/{folder.name}")


def test_attributes_are_named_and_annotators_told_apart() -> None:
    first = first_learned()
    assert sorted(named(first)) == ["colour", "size"]
    assert first.insight is not None
    own = CROWD.preferences.argmax(axis=1)
    numbers = [named(first)[name] for name in TABLE]
    for annotator in first.insight["annotators"]:
        assert int(np.argmax(annotator["preference"])) == numbers[own[annotator["annotator"]]]
        assert annotator["agreement"] > 0.6


def test_what_is_shown_of_attributes_comes_with_its_certainty() -> None:
    first = first_learned()
    assert first.insight is not None
    assert first.insight["structure"] == "attributes"
    assert first.insight["held_out_answers"] > 0
    shares = [attribute["share"] for attribute in first.insight["attributes"]]
    assert first.insight["none_share"] == pytest.approx(1 - sum(shares), abs=1e-4)
    for attribute in first.insight["attributes"]:
        assert attribute["columns"] == [attribute["index"]], "two values stand on one line"
        assert attribute["clusters"] == []
        assert attribute["confidence"] > 0.99
        assert 0 < attribute["share_error"] < 0.1
        own = TABLE["colour" if attribute["index"] == named(first)["colour"] else "size"]
        groups = np.array(attribute["example"]["groups"])
        shown = own[attribute["example"]["images"]]
        assert ((shown[:, None] == shown) == (groups[:, None] == groups)).mean() > 0.9


def test_what_annotators_used_is_what_their_words_say() -> None:
    first = first_learned()
    assert first.insight is not None
    colour, who = named(first)["colour"], DATA.all_answers.annotators
    about_colour = np.array([bool({"red", "blue"} & set(words)) for words in DATA.words])
    for annotator in first.insight["annotators"]:
        own = about_colour[who == annotator["annotator"]]
        # One answer of an annotator's fifteen may have groups that fit both.
        assert annotator["used"][colour] == pytest.approx(own.mean(), abs=0.07)
        error = own.std(ddof=1) / np.sqrt(len(own))
        assert annotator["used_error"][colour] == pytest.approx(error, abs=0.03)


def test_each_answer_has_the_attribute_that_its_words_say() -> None:
    first = first_learned()
    assert first.answer_attributes is not None
    answers, numbers = DATA.all_answers, named(first)
    keys = [
        answer_key(int(who), images.tolist(), groups.tolist())
        for who, images, groups in zip(
            answers.annotators, answers.images, answers.groups, strict=True
        )
    ]
    attributes = first.answer_attributes.find(keys)
    expected = [
        numbers["colour" if {"red", "blue"} & set(words) else "size"] for words in DATA.words
    ]
    agreeing = [
        attribute is not None and attribute.attribute == own
        for attribute, own in zip(attributes, expected, strict=True)
    ]
    assert np.mean(agreeing) > 0.95


def test_the_published_network_has_attributes_of_answers_too() -> None:
    learned = learn(some_data(40), model="published")
    assert learned.answer_attributes is not None
    assert learned.insight is not None
    in_use = {attribute["index"] for attribute in learned.insight["attributes"]}
    assert set(learned.answer_attributes.attribute.tolist()) <= {*in_use, -1}


def test_a_crowd_of_noise_agrees_on_nothing_and_has_no_attribute() -> None:
    data = some_data(120)
    groups = np.random.default_rng(1).integers(0, 3, data.all_answers.groups.shape)
    noise = Groupings(
        data.all_answers.images, groups, data.all_answers.annotators, N_IMAGES, N_ANNOTATORS
    )
    learned = learn(LearningData([noise], N_IMAGES, SIZE, n_rounds=2, n_groups=10, seed=0))
    assert learned.insight is not None
    assert learned.insight["structure"] == "none"
    assert learned.insight["held_out_answers"] > 0
    assert learned.insight["attributes"] == []
    assert learned.insight["none_share"] == 1
    assert learned.answer_attributes is not None
    assert set(learned.answer_attributes.attribute.tolist()) == {-1}
    assert "attribute" not in learned.select_grids(10, 2).purposes


def test_scores_on_held_out_grids_have_errors_that_shrink_with_the_grids() -> None:
    few, many = learn(some_data(40)).metrics, learn(some_data(360)).metrics
    for name in ("accuracy", "balanced_accuracy", "auc"):
        error = few[f"held_out_{name}_error"]
        assert 0 < error < 0.1
        assert many[f"held_out_{name}_error"] < error
    assert "held_out_majority_rate_error" not in few


def test_rounds_have_the_shares_of_the_settings() -> None:
    learned = learn(DATA, attribute_share=0.5, uncertain_share=0.25)
    grids = learned.select_grids(40, 2)
    assert grids.images.shape == (40, SIZE)
    assert {p: grids.purposes.count(p) for p in set(grids.purposes)} == {
        "attribute": 20,
        "uncertain": 10,
        "random": 10,
    }
    assert sorted(a for a in grids.attributes if a is not None) == sorted(
        [number for number in named(learned).values() for _ in range(10)]
    )
    assert {key: grids.contents[key] for key in ("attribute", "uncertain", "random")} == {
        "attribute": 20,
        "uncertain": 10,
        "random": 10,
    }
    about = [a is not None for a in grids.attributes]
    assert about == [purpose == "attribute" for purpose in grids.purposes]


def test_grids_about_one_attribute_spread_on_it() -> None:
    wanted = named(first_learned())["size"]
    learned = learn(DATA, attribute_share=1.0, uncertain_share=0.0, focus=wanted)
    grids = learned.select_grids(12, 2)
    assert set(grids.attributes) == {wanted}
    spread = grids.contents["spread"][0]
    assert spread["attribute"] == wanted
    assert {*spread["low"], *spread["high"]} == {"tiny", "huge"}
    assert spread["wanted"] > 1.0
    assert spread["others"] < 0.6
    # And so it is in the images that people see.
    sizes = (TABLE["size"][grids.images] == "huge").std(axis=1).mean()
    colours = (TABLE["colour"][grids.images] == "red").std(axis=1).mean()
    assert sizes > 0.45
    assert colours < 0.3


def test_an_attribute_that_is_not_in_use_gives_way_to_all_in_turn() -> None:
    learned = learn(DATA, attribute_share=1.0, uncertain_share=0.0, focus=7)
    grids = learned.select_grids(10, 2)
    assert set(grids.attributes) == set(named(learned).values())
    assert grids.contents["focus"] is None
    assert learned.notes["focus_not_in_use"] == 7


def test_an_attribute_of_a_stray_answer_is_none() -> None:
    for n in range(20, 120, 20):
        answers = some_data(n, seed=n)
        insight = learn(answers).insight
        assert insight is not None
        assert all(attribute["share"] * n >= 3 for attribute in insight["attributes"])


def test_attributes_keep_the_numbers_of_the_previous_model(
    environment: dict[str, str], tmp_path: Path
) -> None:
    first = first_learned()
    more = some_data(132, previous=stored(first, tmp_path, 120))
    warm = learn(more)
    assert warm.notes == {"from_version": 1}
    assert named(warm) == named(first)


def test_attributes_keep_their_numbers_after_twice_the_answers(
    environment: dict[str, str], tmp_path: Path
) -> None:
    first = first_learned()
    more = some_data(260, seed=5, previous=stored(first, tmp_path, 120))
    cold = learn(more)
    assert cold.notes == {"from_version": 1}
    assert named(cold) == named(first)
    for number in named(cold).values():
        both = np.corrcoef(cold.embedding[:, number], first.embedding[:, number])
        assert both[0, 1] > 0.9


@pytest.mark.parametrize("broken", ["gone", "garbled", "torn"])
def test_without_the_previous_models_files_the_answers_suffice(
    environment: dict[str, str], tmp_path: Path, broken: str
) -> None:
    if broken == "garbled":
        put_object("models/test/garbled/model/model.json", b"{")
        put_object("models/test/garbled/model/arrays.safetensors", b"")
    if broken == "torn":
        stored(first_learned(), tmp_path / broken, 100)
        put_object("models/test/torn/model/arrays.safetensors", b"\xff" * 40)
    previous = PreviousModel(1, 100, {}, f"models/test/{broken}")
    learned = learn(some_data(60, previous=previous))
    assert learned.notes == {}


def test_the_published_network_learns_scores_and_explains_in_its_place() -> None:
    learned = learn(DATA, model="published", n_dimensions=4)
    assert learned.embedding.shape == (N_IMAGES, 4)
    assert learned.metrics["held_out_auc"] > 0.6
    assert learned.insight is not None
    assert learned.insight["attributes"]
    assert len(learned.insight["annotators"]) == N_ANNOTATORS
    for annotator in learned.insight["annotators"]:
        assert sum(annotator["preference"]) == pytest.approx(1.0, abs=1e-4)
        assert annotator["detail"] is None
        assert annotator["carelessness"] is None
        assert annotator["agreement"] > 0.2


def test_the_published_network_asks_random_grids_for_uncertain_ones() -> None:
    settings = {"model": "published", "attribute_share": 0.5, "uncertain_share": 0.25}
    grids = learn(DATA, n_dimensions=4, **settings).select_grids(40, 2)
    assert grids.images.shape == (40, SIZE)
    assert (grids.purposes.count("attribute"), grids.purposes.count("random")) == (20, 20)
    focused = learn(DATA, n_dimensions=4, focus=2, **settings).select_grids(40, 2)
    assert {about for about in focused.attributes if about is not None} == {2}
    assert focused.contents["focus"] == 2
    blind = learn(DATA, n_dimensions=4, variant="annotator", **settings).select_grids(40, 2)
    assert set(blind.purposes) == {"random"}, "it has no context encoder to synthesize by"


def test_the_published_networks_dimensions_keep_their_order(
    environment: dict[str, str], tmp_path: Path
) -> None:
    first = learn(DATA, model="published", n_dimensions=4)
    previous = stored(first, tmp_path, 120)
    again = learn(some_data(132, previous=previous), model="published", n_dimensions=4)
    assert again.notes == {"from_version": 1}
    correlation = np.corrcoef(first.embedding.T, again.embedding.T)[:4, 4:]
    best = max(np.abs(correlation[range(4), order]).sum() for order in permutations(range(4)))
    assert np.diag(correlation).sum() == pytest.approx(best)


@pytest.mark.parametrize("models", [("default", "published"), ("published", "default")])
def test_a_campaign_may_change_to_another_model(
    environment: dict[str, str], tmp_path: Path, models: tuple[str, str]
) -> None:
    previous = stored(learn(some_data(60), model=models[0]), tmp_path, 60)
    learned = learn(some_data(70, previous=previous), model=models[1])
    assert learned.notes == {}


def test_few_answers_and_no_words_are_no_trouble() -> None:
    data = some_data(3)
    learned = learn(
        LearningData(data.rounds, N_IMAGES, SIZE, n_rounds=2, n_groups=10, seed=0), n_dimensions=30
    )
    assert learned.select_grids(9, 2).images.shape == (9, SIZE)
    assert learned.insight is not None
    assert all(attribute["low"] == [] for attribute in learned.insight["attributes"])
    assert learned.metrics == {}


def test_answers_that_part_nothing_leave_random_grids() -> None:
    data = some_data(30)
    alike = Groupings(
        data.rounds[0].images,
        np.zeros_like(data.rounds[0].groups),
        data.rounds[0].annotators,
        N_IMAGES,
        N_ANNOTATORS,
    )
    learned = learn(LearningData([alike], N_IMAGES, SIZE, n_rounds=2, n_groups=10, seed=0))
    assert learned.insight is not None
    assert learned.insight["attributes"] == []
    assert "attribute" not in learned.select_grids(10, 2).purposes
