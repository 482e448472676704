"""Campaigns in which people choose the odd one out."""

import csv
import io
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from fastapi.testclient import TestClient

from app.campaigns.models import Campaign
from app.core.database import transaction
from app.kinds import get_kind
from app.kinds.odd_one_out import ODD, TOGETHER
from app.planning.dry_run import Design, play
from app.results.service import get_model
from app.strategies import get_strategy
from learning.quality import deserves, evidence, verdict
from learning.simulation import FeatureCrowd
from testbed.builders import a_campaign, a_collection, an_account, reloaded, sign_in
from tests.app.test_annotation import a_lease, a_session, submit
from tests.app.test_crowdster_strategy import run_job

KIND = get_kind("odd_one_out")


def a_campaign_of_triplets(**plan: Any) -> Campaign:
    owner = an_account()
    values = {"kind": "odd_one_out", "grid_size": 3, "budget": 120, **plan}
    return a_campaign(owner, a_collection(owner, 24), grids_per_assignment=200, **values)


def odd_of(images: list[int]) -> int:
    """By their colour, which repeats every four images; the last if none differs."""
    colours = [image % 4 for image in images]
    alone = [k for k, colour in enumerate(colours) if colours.count(colour) == 1]
    return alone[-1] if alone else len(images) - 1


def choice(place: int, n: int = 3) -> list[int]:
    return [ODD if k == place else TOGETHER for k in range(n)]


@pytest.mark.parametrize("strategy", ["cen", "crowdster", "scdc"])
def test_every_strategy_for_groupings_learns_from_choices(
    client: TestClient, strategy: str
) -> None:
    settings = (
        {"max_clusters": 4, "features": "features", "effort": "quick"} if strategy == "scdc" else {}
    )
    campaign = a_campaign_of_triplets(strategy=strategy, settings=settings)
    who = a_session(client, campaign)
    for _ in range(120):
        lease = a_lease(client, who)
        groups = choice(odd_of([shown["image"] for shown in lease["images"]]))
        reply = submit(client, who, lease, groups=groups, descriptions=[])
        assert reply.json()["status"] == "stored", reply.text
    run_job()
    assert reloaded(campaign.id).state == "finished"
    with transaction() as session:
        assert get_model(session, reloaded(campaign.id)).version == 1
    sign_in(client, owner_of(campaign))
    table = client.get(f"/api/v1/campaigns/{campaign.id}/export/triplets.csv").text
    rows = list(csv.DictReader(io.StringIO(table)))
    # The pair that is left, seen from each of the two.
    assert len(rows) == 240


def owner_of(campaign: Campaign) -> Any:
    from app.accounts.models import Account

    with transaction() as session:
        return session.get_one(Account, campaign.owner_id)


@pytest.mark.parametrize(
    "groups", [[0, 0, 0], [1, 1, 0], [1, 0, -1], [-1, -1, -1], [1, 1, 1], [-1, 1, -1]]
)
def test_an_answer_that_is_not_one_choice_is_refused(client: TestClient, groups: list[int]) -> None:
    who = a_session(client, a_campaign_of_triplets())
    lease = a_lease(client, who)
    refused = submit(client, who, lease, groups=groups, descriptions=[])
    assert (refused.status_code, refused.json()["code"]) == (422, "bad_groups")
    assert "exactly one image in group 1" in refused.json()["detail"]
    assert submit(client, who, lease, groups=choice(1), descriptions=[]).status_code == 200


def test_who_cannot_see_enough_images_chooses_none(client: TestClient) -> None:
    who = a_session(client, a_campaign_of_triplets())
    lease = a_lease(client, who)
    broken = lease["images"][2]["image"]
    reply = submit(client, who, lease, groups=[-1, -1, -1], descriptions=[], unseen=[broken])
    assert reply.json()["status"] == "stored", reply.text


def test_of_four_images_three_are_enough(client: TestClient) -> None:
    who = a_session(client, a_campaign_of_triplets(grid_size=4))
    lease = a_lease(client, who)
    broken = lease["images"][3]["image"]
    refused = submit(client, who, lease, groups=[-1] * 4, descriptions=[], unseen=[broken])
    assert refused.status_code == 422
    reply = submit(client, who, lease, groups=[0, 1, 0, -1], descriptions=[], unseen=[broken])
    assert reply.json()["status"] == "stored", reply.text


def test_pages_speak_of_a_choice_and_not_of_groups_to_describe(client: TestClient) -> None:
    campaign = a_campaign_of_triplets()
    who = a_session(client, campaign)
    submit(client, who, a_lease(client, who), groups=choice(1), descriptions=[])
    sign_in(client, owner_of(campaign))
    own = f"/api/v1/campaigns/{campaign.id}"
    [played] = client.get(f"{own}/answers?replay=true").json()["items"]
    assert played["replay"]["group_names"] == ["with the others", "odd one out"]
    described = {
        name: kind["takes_descriptions"]
        for name, kind in client.get("/api/v1/options").json()["kinds"].items()
    }
    assert {name for name, takes in described.items() if takes} == {"grid", "bins"}
    page = client.get(f"/campaigns/{campaign.id}/annotation", headers={"accept": "text/html"}).text
    assert "Annotators' pages" in page
    assert "Group descriptions" not in page


@pytest.mark.parametrize("size", [2, 9])
def test_grids_have_three_to_eight_images(client: TestClient, size: int) -> None:
    owner = an_account()
    sign_in(client, owner)
    body = {
        "collection_id": str(a_collection(owner).id),
        "name": "A",
        "kind": "odd_one_out",
        "grid_size": size,
    }
    refused = client.post("/api/v1/campaigns", json=body)
    assert refused.json()["code"] == "bad_grid_size"
    assert f"has 3 to 8 images, not {size}" in refused.json()["detail"]
    body |= {"grid_size": 3, "max_groups": 4}
    assert "always has 2 groups" in client.post("/api/v1/campaigns", json=body).text


def test_a_wrong_choice_is_worse_than_chance() -> None:
    right, wrong = KIND.agreement(choice(0), choice(0)), KIND.agreement(choice(0), choice(2))
    assert right is not None
    assert wrong is not None
    assert [right.value, wrong.value] == pytest.approx([1.0, -0.5])
    assert KIND.agreement([0, -1], [0, -1]) is None


@pytest.mark.parametrize(("right", "stopped"), [(0.8, (0.0, 0.02)), (1 / 3, (0.9, 1.0))])
def test_honest_people_are_not_stopped_and_who_guesses_is(
    right: float, stopped: tuple[float, float]
) -> None:
    rng = np.random.default_rng(0)
    n = KIND.checks_needed.stop
    ends = []
    for _ in range(2_000):
        chosen = rng.random(n) < right
        found = [KIND.agreement(choice(0), choice(0 if good else 1)) for good in chosen]
        checks = evidence([one for one in found if one is not None])
        given = verdict(checks, 100, 0, KIND.checks_needed)
        ends.append(deserves(given, checks, 0, KIND.checks_needed) == "stop")
    assert stopped[0] <= np.mean(ends) <= stopped[1]


def test_one_check_or_two_say_nothing() -> None:
    wrong = KIND.agreement(choice(0), choice(1))
    assert wrong is not None
    assert verdict(evidence([wrong] * 7), 7, 0, KIND.checks_needed) == "unknown"
    assert verdict(evidence([wrong] * 8), 8, 0, KIND.checks_needed) == "chance"


def test_triplets_find_neighbours() -> None:
    points = np.random.default_rng(0).random((60, 2))
    crowd = FeatureCrowd(points, 4, 0.05)
    cen = get_strategy("cen")
    settings = cen.settings_model.model_validate({"features": "nothing"}).model_dump()
    design = Design("odd_one_out", "cen", settings, 1, 3, 2, 1, 0)
    played = play(design, crowd, 1200, 0)
    # By chance, 10 of 59.
    assert played.points[-1].right > 0.5


def test_only_the_odd_one_has_a_colour() -> None:
    assert get_kind("odd_one_out").colours(2, UUID(int=18)) == [None, 0]
    assert get_kind("select").colours(3, UUID(int=18)) == [0, 1, 2]
    assert get_kind("grid").colours(3, UUID(int=18)) == [8, 9, 0]
    assert get_kind("labels").with_classes(["a", "b"]).colours(2, UUID(int=18)) == []
