"""Results split by what people answered: who sees which images differently."""

import csv
import io
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.kinds import get_kind
from app.results import answer_groups, comparisons
from testbed.builders import a_campaign, a_collection, an_account, sign_in
from tests.app.test_annotation import a_lease, submit
from tests.app.test_consent import a_session, as_annotator
from tests.app.test_questionnaire import PETS, reply

TASTE = {"key": "taste", "type": "choice", "title": "What counts?", "choices": ["odd", "half"]}
EASE = {"key": "ease", "type": "likert", "title": "How easy?", "points": 5, "required": False}
AGE = {"key": "age", "type": "number", "title": "Age?", "required": False}
NOTE = {"key": "note", "type": "text", "title": "Note?", "required": False}
N = 6
PEOPLE = 8


def group_of(taste: str, image: int) -> int:
    return image % 2 if taste == "odd" else int(image >= N // 2)


def a_divided_campaign(client: TestClient, **changes: Any) -> Campaign:
    """Everyone sees all images once; those with an even number group by parity, the others by
    halves."""
    owner = an_account()
    campaign = a_campaign(
        owner, a_collection(owner, N), budget=PEOPLE, grid_size=N, answers_per_grid=PEOPLE,
        grids_per_assignment=1,
        annotation={
            "questions_before": [TASTE, EASE, AGE, NOTE, {**PETS, "required": False}],
            "show_instructions": False, "descriptions": "none",
        },
        **changes,
    )  # fmt: skip
    for number in range(PEOPLE):
        taste = ("odd", "half")[number % 2]
        opened = a_session(client, campaign, number)
        answers = {"taste": taste, "ease": 1 + number % 5, "age": 20 + number, "note": "x"}
        reply(client, opened, {**answers, "pets": ["cat", "dog"] if number else ["cat"]})
        lease = a_lease(client, as_annotator(opened))
        groups = [group_of(taste, shown["image"]) for shown in lease["images"]]
        sent = submit(client, as_annotator(opened), lease, groups=groups, descriptions=[])
        assert sent.status_code == 200, sent.text
    with transaction() as session:
        sign_in(client, session.get_one(Account, campaign.owner_id))
    return campaign


@pytest.fixture
def campaign(client: TestClient) -> Campaign:
    return a_divided_campaign(client)


def differences(client: TestClient, campaign: Campaign, key: str, **query: Any) -> Any:
    path = f"/api/v1/campaigns/{campaign.id}/questions/{key}/differences"
    return client.get(path, params=query)


def test_questions_say_who_answered_what_and_how_they_work(
    client: TestClient, campaign: Campaign
) -> None:
    result = client.get(f"/api/v1/campaigns/{campaign.id}/questions").json()["items"]
    assert [(asked["key"], asked["n_answered"]) for asked in result] == [
        ("taste", 8), ("ease", 8), ("age", 8), ("note", 8), ("pets", 8),
    ]  # fmt: skip
    groups = {
        asked["key"]: [(group["name"], group["people"]) for group in asked["groups"]]
        for asked in result
    }
    assert groups == {
        "taste": [("odd", 4), ("half", 4)],
        "ease": [("1 to 2", 4), ("3", 2), ("4 to 5", 2)],
        "age": [("up to 23.5", 4), ("above 23.5", 4)],
        "note": [],
        "pets": [("cat", 8), ("dog", 7), ("eel", 0)],
    }
    odd = result[0]["groups"][0]
    assert odd["n_answers"] == 4
    # Half of the others agree fully with each, and half see something else.
    assert 0 < odd["consensus"] < 1


def test_pairs_that_two_groups_see_differently_come_first(
    client: TestClient, campaign: Campaign
) -> None:
    result = differences(client, campaign, "taste", answer="odd", against="half", limit=15).json()
    assert result["n_compared"] == 15
    for item in result["items"]:
        i, j = (shown["image"] for shown in item["images"])
        expected = [int(group_of(taste, i) == group_of(taste, j)) for taste in ("odd", "half")]
        assert [item["yes"] / item["n"], item["other_yes"] / item["other_n"]] == expected
        assert (item["n"], item["other_n"]) == (4, 4)
        assert item["difference"] == expected[0] - expected[1]
        # Four against four: the smallest p of Fisher's test is 2/70.
        assert item["p"] == pytest.approx(2 / 70 if item["difference"] else 1)
    gaps = [abs(item["difference"]) for item in result["items"]]
    assert gaps == sorted(gaps, reverse=True)
    assert result["n_different"] == sum(item["q"] < 0.05 for item in result["items"])
    rest = differences(client, campaign, "taste", answer="odd").json()
    assert rest["n_compared"] == 15
    assert len(rest["items"]) == 15


def test_people_on_both_sides_count_on_neither(client: TestClient, campaign: Campaign) -> None:
    # All but one have both: nobody is left on the side of dogs.
    result = differences(client, campaign, "pets", answer="dog", against="cat").json()
    assert (result["n_compared"], result["items"]) == (0, [])


def test_what_nobody_answered_is_refused(client: TestClient, campaign: Campaign) -> None:
    unknown = differences(client, campaign, "taste", answer="sweet")
    assert (unknown.status_code, unknown.json()["code"]) == (422, "unknown_answer")
    assert "The answers are: odd, half." in unknown.json()["detail"]
    assert differences(client, campaign, "nothing", answer="odd").status_code == 404
    assert differences(client, campaign, "note", answer="x").status_code == 422


def test_the_export_has_all_questions(client: TestClient, campaign: Campaign) -> None:
    file = client.get(f"/api/v1/campaigns/{campaign.id}/export/answer_differences.csv")
    rows = list(csv.DictReader(io.StringIO(file.text)))
    assert {row["question"] for row in rows} == {"taste", "ease", "age"}
    mine = [row for row in rows if (row["question"], row["answer"]) == ("taste", "odd")]
    assert len(mine) == 15
    assert float(mine[0]["difference"]) in (-1, 1)
    assert mine[0]["filename_j"] != ""


def test_votes_are_compared_image_by_image(client: TestClient) -> None:
    campaign = a_divided_campaign(client, kind="select", strategy="neucrowd")
    result = differences(client, campaign, "taste", answer="odd", limit=200).json()
    first = get_kind("select").choices[0]
    by_image = {
        item["images"][0]["image"]: item for item in result["items"] if item["choice"] == first
    }
    assert sorted(by_image) == list(range(N))
    for image, item in by_image.items():
        expected = [int(group_of(taste, image) == 0) for taste in ("odd", "half")]
        assert [item["yes"] / item["n"], item["other_yes"] / item["other_n"]] == expected


def test_of_too_many_answers_the_oldest_are_compared(
    client: TestClient, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert differences(client, campaign, "taste", answer="odd").json()["is_complete"]
    monkeypatch.setattr(answer_groups, "MOST_OPINIONS", 10)
    monkeypatch.setattr(comparisons, "ANSWERS_AT_ONCE", 4)
    result = differences(client, campaign, "taste", answer="odd").json()
    assert not result["is_complete"]
    assert {(item["n"], item["other_n"]) for item in result["items"]} == {(2, 2)}
