"""Kind `select`: votes instead of groups, in all that checks, compares and shows answers."""

from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.annotation.models import Annotator, Answer
from app.campaigns.models import Campaign, Grid
from app.core.database import transaction
from app.core.errors import InvalidInput
from testbed.builders import a_campaign, an_account, sign_in
from tests.app.test_annotation import a_lease, a_session, submit

YES, NO, UNSURE = 0, 1, 2
RED = {"known_attribute": "colour", "known_value": "red"}


def is_red(image: int) -> bool:
    """Colours of the builders' table come in turn."""
    return image % 3 == 0


def a_select_campaign(**plan: Any) -> Campaign:
    values = {"budget": 200, "grid_size": 12, "grids_per_assignment": 60, **plan}
    settings = {"features": "features"}
    return a_campaign(kind="select", strategy="neucrowd", settings=settings, **values)


def truth_of(lease: dict[str, Any]) -> list[int]:
    return [YES if is_red(shown["image"]) else NO for shown in lease["images"]]


def work(client: TestClient, campaign: Campaign, n_grids: int, way: str, key: str = "") -> None:
    who = a_session(client, campaign, f"annotator-000001{key}")
    rng = np.random.default_rng(5)
    for _ in range(n_grids):
        handout = client.post("/api/v1/annotate/leases", headers=who).json()
        if handout["status"] != "leased":
            return
        right = truth_of(handout["lease"])
        groups = {
            "honest": right,
            "hesitant": [UNSURE if k == 1 else vote for k, vote in enumerate(right)],
            "random": [int(vote) for vote in rng.integers(0, 2, len(right))],
            "nothing": [NO] * len(right),
            "everything": [YES] * len(right),
        }[way]
        reply = submit(client, who, handout["lease"], groups=groups, descriptions=[])
        assert reply.status_code == 200, reply.text


# --- asking ----------------------------------------------------------------------------------


def test_there_are_three_votes_without_words_in_colours_that_stay(client: TestClient) -> None:
    campaign = a_select_campaign(annotation={"descriptions": "required"})
    assert campaign.max_groups == 3
    who = a_session(client, campaign)
    leases = []
    for _ in range(3):
        leases.append(a_lease(client, who))
        assert submit(client, who, leases[-1], groups=[3] + [NO] * 11).status_code == 422
        assert submit(client, who, leases[-1], groups=[NO] * 12, descriptions=[]).is_success
    assert {lease["first_colour"] for lease in leases} == {0}
    with transaction() as session:
        # Nothing is renumbered: no is no, also where nobody says yes.
        assert {tuple(answer.groups or []) for answer in session.scalars(select(Answer))} == {
            (NO,) * 12
        }


@pytest.mark.parametrize(
    ("plan", "says"),
    [({"max_groups": 4}, "3 choices yes, no, unsure"), ({"strategy": "cen"}, "can't learn")],
)
def test_other_votes_and_strategies_are_refused(
    environment: dict[str, str], plan: dict[str, Any], says: str
) -> None:
    values = {"strategy": "neucrowd", **plan}
    with pytest.raises(InvalidInput, match=says):
        a_campaign(kind="select", **values)


# --- known answers ---------------------------------------------------------------------------


def test_practice_is_passed_by_ticking_what_has_the_value(client: TestClient) -> None:
    campaign = a_select_campaign(annotation={**RED, "practice": 1})
    who = a_session(client, campaign)
    client.post("/api/v1/annotate/steps", json={"step": "instructions"}, headers=who)
    shown = client.get("/api/v1/annotate/practice", headers=who).json()
    images, right = [image["image"] for image in shown["images"]], truth_of(shown)
    assert 3 <= right.count(YES) <= 6

    def tried(groups: list[int]) -> dict[str, Any]:
        body = {"images": images, "groups": groups}
        reply: dict[str, Any] = client.post(
            "/api/v1/annotate/practice", json=body, headers=who
        ).json()
        return reply

    flat = tried([NO] * len(images))
    assert (flat["passed"], flat["agreement"], flat["truth"]) == (False, 0, right)
    first = right.index(NO)
    hesitant = tried([UNSURE if k == first else vote for k, vote in enumerate(right)])
    assert (hesitant["passed"], hesitant["agreement"]) == (True, 1)


def test_known_answers_need_images_with_the_value_and_without(environment: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match=r"'mauve'.*'blue', 'green', 'red'"):
        a_select_campaign(annotation={**RED, "known_value": "mauve", "practice": 1})


def test_pages_speak_of_ticking_where_people_tick(client: TestClient) -> None:
    owner = an_account()
    campaign = a_select_campaign(owner=owner, annotation=RED)
    grids = a_campaign(owner, annotation={"known_attribute": "colour"})
    sign_in(client, owner)
    page = {"accept": "text/html"}
    ticked = client.get(f"/campaigns/{campaign.id}/annotation", headers=page).text
    grouped = client.get(f"/campaigns/{grids.id}/annotation", headers=page).text
    words = ("belong together", "Group descriptions", "images per grid")
    assert [word in ticked for word in words] == [False, False, False]
    assert [word in grouped for word in words] == [True, True, True]
    assert "The group is yes for images that are to be ticked" in ticked
    # The value comes after its attribute, from a list.
    place = ticked.index('<select name="known_value">')
    assert place > ticked.index('<select name="known_attribute">')
    assert '<option value="red" selected>red</option>' in ticked[place:]
    assert '<option value="blue" >blue</option>' in ticked[place:]
    assert 'name="known_value"' not in grouped


def test_values_to_tick_are_listed(client: TestClient) -> None:
    owner = an_account()
    campaign = a_select_campaign(owner=owner)
    grids = a_campaign(owner)
    sign_in(client, owner)
    values = client.get(f"/api/v1/campaigns/{campaign.id}/groupings").json()["values"]
    assert sorted(values["colour"]) == ["blue", "green", "red"]
    assert client.get(f"/api/v1/campaigns/{grids.id}/groupings").json()["values"] == {}
    kinds = client.get("/api/v1/options").json()["kinds"]
    assert "ticked" in kinds["select"]["known_rule"]
    assert "belong together" in kinds["grid"]["known_rule"]


@pytest.mark.parametrize(
    ("votes", "says"),
    [
        (["Yes", "no", "NO", "yes", "no", "no"], ""),
        (
            ["yes", "no", "unsure", "yes", "no", "no"],
            "Line 4: The group must be yes or no, not 'unsure'",
        ),
        (["yes"] * 6, "needs images with the group yes and images with the group no"),
        (["yes", "no"], "must have 6"),
    ],
)
def test_a_list_of_known_answers_says_yes_and_no(
    client: TestClient, votes: list[str], says: str
) -> None:
    owner = an_account()
    campaign = a_select_campaign(owner=owner, grid_size=6)
    sign_in(client, owner)
    lines = [f"1,image-{k:03d}.png,{vote}" for k, vote in enumerate(votes)]
    table = "\n".join(["grid,filename,group", *lines]).encode()
    reply = client.post(
        f"/api/v1/campaigns/{campaign.id}/known-answers", files={"file": ("known.csv", table)}
    )
    if says:
        assert (reply.status_code, reply.json()["code"]) == (422, "bad_known_answers")
        assert says in reply.json()["detail"]
        return
    assert reply.is_success, reply.text
    with transaction() as session:
        known = session.scalars(select(Grid).where(Grid.role == "gold")).one()
        assert known.truth == [YES, NO, NO, YES, NO, NO]


# --- quality ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("way", "verdicts", "is_stopped"),
    [
        ("honest", {"good"}, False),
        ("hesitant", {"good"}, False),
        ("random", {"chance", "unknown"}, True),
        ("nothing", {"chance"}, True),
        ("everything", {"chance"}, True),
    ],
)
def test_gold_grids_tell_who_looks(
    client: TestClient, way: str, verdicts: set[str], is_stopped: bool
) -> None:
    owner = an_account()
    checks = {**RED, "gold_share": 0.3, "measures": ["stop"]}
    campaign = a_select_campaign(owner=owner, annotation=checks)
    work(client, campaign, 30, way)
    with transaction() as session:
        assert (session.scalars(select(Annotator)).one().stopped_at is not None) == is_stopped
    sign_in(client, owner)
    (score,) = client.get(f"/api/v1/campaigns/{campaign.id}/annotators").json()["items"]
    assert score["verdict"] in verdicts
    # Counted, but to say no, or yes, to a whole grid is no fault by itself.
    assert (score["n_one_group"] >= 10) == (way in ("nothing", "everything"))
    if not is_stopped:
        assert score["gold"]["mean"] == 1


def test_without_gold_nobody_is_stopped_for_saying_no_to_all(client: TestClient) -> None:
    checks = {"repeat_share": 0.3, "measures": ["warn", "stop", "leave_out"]}
    campaign = a_select_campaign(annotation=checks)
    work(client, campaign, 20, "nothing")
    with transaction() as session:
        person = session.scalars(select(Annotator)).one()
        assert (person.warned_at, person.stopped_at, person.left_out_at) == (None, None, None)
        repeats = session.scalars(select(Answer).join(Grid).where(Grid.role == "repeat")).all()
        assert len(repeats) > 3
        # Who never looks repeats perfectly: it tells nothing.
        assert {answer.agreement for answer in repeats} == {None}


def test_repeats_and_others_are_compared_vote_by_vote(client: TestClient) -> None:
    owner = an_account()
    campaign = a_select_campaign(
        owner=owner, budget=60, answers_per_grid=2, annotation={"repeat_share": 0.2}
    )
    for key in ("-a", "-b"):
        work(client, campaign, 20, "honest", key)
    sign_in(client, owner)
    scores = client.get(f"/api/v1/campaigns/{campaign.id}/annotators").json()["items"]
    assert [(score["repeat"]["mean"], score["consensus"]["mean"]) for score in scores] == [
        (1, 1)
    ] * 2


# --- shown to requesters ---------------------------------------------------------------------


def test_votes_have_their_names_where_answers_are_shown(client: TestClient) -> None:
    owner = an_account()
    campaign = a_select_campaign(owner=owner)
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    images = [shown["image"] for shown in lease["images"]]
    assert submit(client, who, lease, groups=[YES, NO, YES, UNSURE] + [NO] * 8).is_success
    sign_in(client, owner)
    base = f"/api/v1/campaigns/{campaign.id}"
    (answer,) = client.get(f"{base}/answers?replay=true").json()["items"]
    assert answer["replay"]["choices"] == ["yes", "no", "unsure"]
    for k, expected in (
        (1, ("apart", ["yes", "no"])),
        (2, ("together", ["yes", "yes"])),
    ):
        pair = {"image": images[0], "other": images[k]}
        (evidence,) = client.get(f"{base}/evidence", params=pair).json()["answers"]
        assert (evidence["verdict"], evidence["words"]) == expected
    # Who is unsure has not said how two images compare.
    pair = {"image": images[0], "other": images[3]}
    assert client.get(f"{base}/evidence", params=pair).json()["answers"] == []
