"""What comes before the grids: consent, practice, and the known answers that it is made of."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select

from app.campaigns.known import add_known_answers, practice_grid
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign, Grid
from app.campaigns.plan import CampaignPlan
from app.campaigns.service import create_campaign, start_campaign
from app.core.database import locked, transaction
from app.core.errors import InvalidInput
from testbed.builders import a_campaign, a_collection, an_account, sign_in
from tests.app.test_annotation import a_session


def opened(client: TestClient, campaign: Campaign, key: str = "annotator-000001") -> dict[str, Any]:
    link = annotator_link(campaign, "").removeprefix("/a/")
    reply = client.post("/api/v1/annotate/sessions", json={"link": link, "annotator_key": key})
    assert reply.status_code == 201, reply.text
    body: dict[str, Any] = reply.json()
    return body


def step(client: TestClient, who: dict[str, str], name: str) -> str:
    reply = client.post("/api/v1/annotate/steps", json={"step": name}, headers=who)
    return str(reply.json()["stage"])


def test_consent_and_practice_come_first_and_the_server_insists(client: TestClient) -> None:
    campaign = a_campaign(
        annotation={"consent": "Be *kind*", "known_attribute": "colour", "practice": 1}
    )
    session = opened(client, campaign)
    assert session["stage"] == "consent"
    assert session["next"] is None
    assert session["campaign"]["consent_html"] == "<p>Be <em>kind</em></p>\n"
    who = {"Authorization": f"Bearer {session['token']}"}
    refused = client.post("/api/v1/annotate/leases", headers=who)
    assert (refused.status_code, refused.json()["code"]) == (409, "not_prepared")
    assert step(client, who, "consent") == "instructions"
    assert client.post("/api/v1/annotate/leases", headers=who).json()["code"] == "not_prepared"
    assert step(client, who, "instructions") == "practice"
    assert client.post("/api/v1/annotate/leases", headers=who).json()["code"] == "not_prepared"
    practice = client.get("/api/v1/annotate/practice", headers=who).json()
    images = [shown["image"] for shown in practice["images"]]
    wrong = {"images": images, "groups": [0] * len(images)}
    feedback = client.post("/api/v1/annotate/practice", json=wrong, headers=who).json()
    assert (feedback["passed"], feedback["agreement"]) == (False, 0)
    truth = feedback["truth"]
    same = {(images[i] % 3 == images[j] % 3) == (truth[i] == truth[j])
            for i in range(len(images)) for j in range(i)}  # fmt: skip
    assert same == {True}
    right = {"images": images, "groups": [image % 3 for image in images]}
    feedback = client.post("/api/v1/annotate/practice", json=right, headers=who).json()
    assert (feedback["passed"], feedback["agreement"]) == (True, 1)
    assert feedback["state"] == {
        "stage": "work",
        "practice": {"done": 1, "total": 1},
        "screened_out_by_answers": False,
    }
    assert opened(client, campaign)["next"]["status"] == "leased"
    assert client.get("/api/v1/annotate/practice", headers=who).json()["code"] == "no_practice"


def test_a_try_that_is_sent_again_counts_once(client: TestClient) -> None:
    campaign = a_campaign(annotation={"known_attribute": "colour", "practice": 1})
    who = a_session(client, campaign)
    step(client, who, "instructions")
    for tries in range(2):
        shown = client.get("/api/v1/annotate/practice", headers=who).json()
        assert shown["tries"] == tries
        images = [image["image"] for image in shown["images"]]
        body = {"images": images, "groups": [0] * len(images), "number": 0, "tries": tries}
        replies = [
            client.post("/api/v1/annotate/practice", json=body, headers=who) for _ in range(2)
        ]
        assert [reply.status_code for reply in replies] == [200, 200]
        assert replies[0].json() == replies[1].json()
    assert replies[1].json()["state"]["stage"] == "work"


def test_two_failures_are_enough_practice(client: TestClient) -> None:
    campaign = a_campaign(annotation={"known_attribute": "colour", "practice": 2})
    who = a_session(client, campaign)
    step(client, who, "instructions")
    for expected in (0, 1, 1, 2):
        images = [
            shown["image"]
            for shown in client.get("/api/v1/annotate/practice", headers=who).json()["images"]
        ]
        body = {"images": images, "groups": [0] * len(images)}
        feedback = client.post("/api/v1/annotate/practice", json=body, headers=who).json()
        assert feedback["state"]["practice"]["done"] == expected
    assert feedback["state"]["stage"] == "work"


def test_practice_with_other_images_is_refused(client: TestClient) -> None:
    campaign = a_campaign(annotation={"known_attribute": "colour", "practice": 1})
    who = a_session(client, campaign)
    step(client, who, "instructions")
    body = {"images": [0, 1], "groups": [0, 1]}
    refused = client.post("/api/v1/annotate/practice", json=body, headers=who)
    assert (refused.status_code, refused.json()["code"]) == (422, "unknown_images")


def test_gold_grids_need_known_answers_before_the_start(environment: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match="known answers"):
        a_campaign(annotation={"gold_share": 0.1})


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (b"a,b\n1,2\n", "columns grid, filename, group"),
        (b"grid,filename,group\n1,nowhere.png,a\n", "Line 2: The collection has no image"),
        (b"grid,filename,group\n1,image-000.png,a\n1,image-000.png,b\n", "twice"),
        (b"grid,filename,group\n1,image-000.png,a\n1,image-001.png,b\n", "must have 6"),
        (
            b"grid,filename,group\n" + b"".join(b"1,image-%03d.png,a\n" % k for k in range(6)),
            "1 groups",
        ),
        (b"\xff\xfe", "not valid CSV"),
        (b"grid,filename,group\n", "table is empty"),
    ],
)
def test_known_answers_that_cannot_be_used_are_refused_by_line(
    client: TestClient, table: bytes, says: str
) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    sign_in(client, owner)
    address = f"/api/v1/campaigns/{campaign.id}/known-answers"
    refused = client.post(address, files={"file": ("known.csv", table)})
    assert (refused.status_code, refused.json()["code"]) == (422, "bad_known_answers")
    assert says in refused.json()["detail"]
    with transaction() as session:
        assert session.scalar(select(func.count()).where(Grid.role == "gold")) == 0


def test_known_answers_of_ones_own_serve_practice_and_gold(client: TestClient) -> None:
    owner = an_account()
    sign_in(client, owner)
    plan = CampaignPlan(
        name="Own", collection_id=a_collection(owner).id, rounds=1, budget=4, grid_size=6,
        annotation={"practice": 1, "gold_share": 0.5},
    )  # fmt: skip
    with transaction() as session:
        campaign = create_campaign(session, owner, plan)
    lines = [f"{grid},image-{3 * grid + k:03d}.png,{k % 2}" for grid in (1, 2) for k in range(6)]
    table = "\n".join(["grid,filename,group", *lines]).encode()
    address = f"/api/v1/campaigns/{campaign.id}/known-answers"
    assert client.post(address, files={"file": ("k.csv", table)}).json() == {"added": 2}
    with transaction() as session:
        start_campaign(session, owner, campaign.id)
    who = a_session(client, campaign)
    step(client, who, "instructions")
    practice = client.get("/api/v1/annotate/practice", headers=who).json()
    assert sorted(shown["image"] for shown in practice["images"]) == list(range(3, 9))
    with transaction() as session:
        roles = session.scalars(select(Grid.role).where(Grid.role != "ask"))
        assert sorted(roles) == ["gold", "practice"]


@pytest.mark.usefixtures("environment")
def test_people_who_come_at_once_get_the_same_practice_grid_of_the_list() -> None:
    campaign = a_campaign()
    lines = [f"{k // 6},image-{k:03d}.png,{k % 2}" for k in range(12)]
    table = "\n".join(["grid,filename,group", *lines]).encode()
    with transaction() as session:
        assert add_known_answers(session, locked(session, Campaign, campaign.id), table) == 2

    def come() -> int:
        with transaction() as session:
            grid = practice_grid(session, session.get_one(Campaign, campaign.id), 0)
            assert grid is not None
            return grid.id

    with transaction() as session, ThreadPoolExecutor(4) as pool:
        first = practice_grid(session, session.get_one(Campaign, campaign.id), 0)
        assert first is not None
        session.flush()
        others = [pool.submit(come) for _ in range(4)]
        # Long enough for the others to come to wait for the lock.
        time.sleep(0.5)
        session.commit()
        assert {other.result() for other in others} == {first.id}
