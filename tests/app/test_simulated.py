"""Simulated annotators answer as people do, and are told apart from them."""

import csv
import io
from typing import Any, cast

import httpx
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select

from app.accounts.models import Account
from app.annotation.models import Answer, Assignment
from app.annotation.simulated import ADDRESS, simulated_address
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign
from app.campaigns.service import finish_campaign
from app.core.database import transaction
from app.core.security import sign
from app.planning.crowd import CrowdTraits, make_crowd, read_images
from app.recruitment.models import Payment
from likewise.commands.demo import EMOJI_CAMPAIGN, seed_demo
from likewise.simulation import CrowdRun, ServerRefused, SimulatedAnnotator
from testbed.builders import a_campaign, a_collection, an_account

BUDGET = 6


def an_annotator(client: TestClient | httpx.Client, address: str, key: str) -> SimulatedAnnotator:
    return SimulatedAnnotator(cast("httpx.Client", client), address, key, [])


def answer_all(client: TestClient | httpx.Client, address: str, key: str, n: int = BUDGET) -> None:
    annotator = an_annotator(client, address, key)
    for _ in range(n):
        lease = annotator.next_lease(lambda: False)
        assert lease is not None
        images = [shown["image"] for shown in lease["images"]]
        annotator.submit(lease, images, [0, 1] * (len(images) // 2), ["one", "other"])


def fetched(client: TestClient, campaign: Campaign, path: str) -> Any:
    reply = client.get(f"/api/v1/campaigns/{campaign.id}{path}")
    assert reply.status_code == 200, reply.text
    return reply.json()


@pytest.fixture
def campaign(owner: Account) -> Campaign:
    return a_campaign(owner, budget=2 * BUDGET, reward_cents=150, grids_per_assignment=3)


def test_simulated_answers_are_marked_and_say_nothing_about_people(
    client: TestClient, campaign: Campaign
) -> None:
    answer_all(client, simulated_address(campaign), "simulated-0-00001")
    with transaction() as session:
        assert session.scalars(select(Answer.elapsed_ms)).all() == [None] * BUDGET
        assert set(session.scalars(select(Assignment.channel))) == {"simulated"}
        assert session.scalar(select(func.count()).select_from(Payment)) == 0
    progress = fetched(client, campaign, "/progress")
    assert progress["answers"] == BUDGET
    assert progress["simulated"] == {"annotators": 1, "answers": BUDGET}
    assert progress["monitor"]["seconds_per_grid"] is None
    assert progress["monitor"]["spent_cents"] == 0


def test_people_are_not_taken_for_simulated(client: TestClient, campaign: Campaign) -> None:
    link = annotator_link(campaign, "").removeprefix("/a/")
    answer_all(client, simulated_address(campaign), "simulated-0-00001", 3)
    answer_all(client, link, "a-person-of-flesh", 3)
    marks = {
        score["annotator"]: score["simulated"]
        for score in fetched(client, campaign, "/annotators")["items"]
    }
    assert marks == {0: True, 1: False}
    assert fetched(client, campaign, "/progress")["simulated"] == {"annotators": 1, "answers": 3}
    table = client.get(f"/api/v1/campaigns/{campaign.id}/export/quality.csv").text
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [row["simulated"] for row in rows] == ["True", "False"]


@pytest.mark.parametrize("purpose", ["annotator-link", "somebody-else"])
def test_nobody_else_can_answer_as_a_simulated_annotator(
    client: TestClient, campaign: Campaign, purpose: str
) -> None:
    assert purpose != ADDRESS
    with pytest.raises(ServerRefused, match="404"):
        an_annotator(client, sign(purpose, str(campaign.id)), "a-stranger-of-them")


def test_a_crowd_ends_normally_when_the_campaign_of_its_link_finishes(
    client: TestClient, owner: Account, campaign: Campaign
) -> None:
    link = annotator_link(campaign, "").removeprefix("/a/")
    for key, n in (("somebody-who-is-done", 3), ("somebody-in-the-middle", 1)):
        answer_all(client, link, key, n)
    first = an_annotator(client, link, "somebody-who-has-not-begun")
    with transaction() as session:
        finish_campaign(session, owner, campaign.id)
    assert first.next_lease(lambda: False) is None
    for key in (
        "somebody-who-is-done",
        "somebody-in-the-middle",
        "somebody-who-has-not-begun",
        "somebody-too-late",
    ):
        assert an_annotator(client, link, key).next_lease(lambda: False) is None


def test_a_crowd_makes_no_more_groups_than_the_campaign_allows(
    client: TestClient, owner: Account
) -> None:
    table = "\n".join(["filename,shape", *(f"image-{k:03d}.png,shape {k % 8}" for k in range(30))])
    collection = a_collection(owner, table=table.encode())
    campaign = a_campaign(owner, collection, grid_size=16, max_groups=5, budget=8)
    with transaction() as session:
        crowd = make_crowd(read_images(session, campaign), ["shape"], CrowdTraits(1))
    run = CrowdRun("", simulated_address(campaign), "grid", campaign.max_groups, crowd, seed=0)
    annotator = an_annotator(client, run.link, "simulated-0-00001")
    most = 0
    while (lease := annotator.next_lease(lambda: False)) is not None:
        images = [shown["image"] for shown in lease["images"]]
        answer = crowd.answer(0, images, run.max_groups)
        annotator.submit(lease, images, answer.groups.tolist(), answer.descriptions)
        most = max(most, len(answer.descriptions))
    assert most == 5


def test_the_demo_knows_its_campaigns_by_a_mark(owner: Account) -> None:
    mine = a_campaign(owner, name=EMOJI_CAMPAIGN)
    theirs = a_campaign(an_account("bob@example.org"), name=EMOJI_CAMPAIGN)
    with transaction() as session:
        seeded = {campaign.id for campaign in seed_demo(session, owner)}
    assert len(seeded) == 2
    assert not seeded & {mine.id, theirs.id}
    with transaction() as session:
        assert {campaign.id for campaign in seed_demo(session, owner)} == seeded
        marked = session.scalars(select(Campaign.id).where(Campaign.is_demo)).all()
    assert set(marked) == seeded
