"""Campaigns of every kind that were played to the end, with all that archives may hold."""

from collections.abc import Callable

from fastapi.testclient import TestClient

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.campaigns.plan import CampaignPlan
from app.campaigns.service import add_known_list, create_campaign
from app.core.database import transaction
from testbed.builders import a_campaign, a_collection, reloaded, sign_in
from tests.app.test_annotation import a_lease, a_session, submit
from tests.app.test_crowdster_strategy import run_job
from tests.app.test_quality_control import CHECKS, work
from tests.support.questions import AGE, answer_age

N = 12


def campaigns_of_every_kind(client: TestClient, owner: Account) -> dict[str, Campaign]:
    """By strategy or kind; the owner is signed in."""
    played = {
        "cen": _grids(client, owner),
        "crowdster": _bins(client, owner),
        "scdc": _clusters(client, owner),
        "neucrowd": _votes(client, owner),
        "classes": _classes(client, owner, "classify", lambda image: image % 3),
        "labels": _classes(client, owner, "labels", lambda image: image % 8),
        "triplets": _triplets(client, owner),
    }
    sign_in(client, owner)
    for campaign in played.values():
        _clustered(client, campaign)
    return played


def a_clustered_campaign(client: TestClient, owner: Account) -> Campaign:
    """The quickest of them to be learned, with clusterings; the owner is signed in."""
    campaign = _bins(client, owner)
    sign_in(client, owner)
    _clustered(client, campaign)
    return campaign


def _grids(client: TestClient, owner: Account) -> Campaign:
    campaign = a_campaign(
        owner, a_collection(owner, N), name="Grids", budget=24, grid_size=8,
        grids_per_assignment=40, annotation=CHECKS, settings={"n_dimensions": 2},
    )  # fmt: skip
    who = work(client, campaign, 18, "honest", "annotator-000001")
    remark = {"kind": "comment", "text": "I like colours."}
    assert client.post("/api/v1/annotate/remarks", json=remark, headers=who).is_success
    work(client, campaign, 40, "random", "annotator-000002")
    run_job()
    return campaign


def _bins(client: TestClient, owner: Account) -> Campaign:
    campaign = a_campaign(
        owner, a_collection(owner, N), name="Bins", kind="bins", strategy="crowdster", budget=24,
        rounds=2, grid_size=6, ready_share=0.0, grids_per_assignment=40,
        annotation={"questions_before": [AGE]},
    )  # fmt: skip
    who = a_session(client, campaign)
    answer_age(client, who, 30)
    for _ in range(2):
        for _ in range(12):
            lease = a_lease(client, who)
            groups = [shown["image"] % 3 for shown in lease["images"]]
            words = ["red", "green", "blue"][: max(groups) + 1]
            submit(client, who, lease, groups=groups, descriptions=words)
        run_job()
    return campaign


def _triplets(client: TestClient, owner: Account) -> Campaign:
    campaign = a_campaign(
        owner, a_collection(owner, N), name="Triplets", kind="odd_one_out", budget=40,
        grid_size=3, grids_per_assignment=40,
    )  # fmt: skip
    who = a_session(client, campaign)
    for _ in range(40):
        lease = a_lease(client, who)
        shades = [shown["image"] % 3 for shown in lease["images"]]
        odd = min(range(3), key=lambda k: shades.count(shades[k]))
        submit(client, who, lease, groups=[int(k == odd) for k in range(3)], descriptions=[])
    run_job()
    return campaign


def _clusters(client: TestClient, owner: Account) -> Campaign:
    settings = {"n_annotated": 8, "max_clusters": 4, "n_latent": 2, "effort": "quick",
                "features": "features"}  # fmt: skip
    campaign = a_campaign(
        owner, a_collection(owner, N), name="Clusters", strategy="scdc", budget=12, grid_size=6,
        grids_per_assignment=40, settings=settings,
    )  # fmt: skip
    work(client, campaign, 12, "honest")
    run_job()
    return campaign


def _votes(client: TestClient, owner: Account) -> Campaign:
    checks = {"known_attribute": "colour", "known_value": "red", "gold_share": 0.3}
    campaign = a_campaign(
        owner, a_collection(owner, N), name="Votes", kind="select", strategy="neucrowd", budget=8,
        grid_size=6, grids_per_assignment=40, annotation=checks,
        settings={"features": "features", "effort": "quick"},
    )  # fmt: skip
    who = [a_session(client, campaign, f"annotator-{k:06d}") for k in range(2)]
    turn = 0
    while reloaded(campaign.id).n_answers < campaign.budget:
        lease = a_lease(client, who[turn % 2])
        groups = [int(shown["image"] % 3 == 0) for shown in lease["images"]]
        submit(client, who[turn % 2], lease, groups=groups, descriptions=[])
        turn += 1
    run_job()
    return campaign


def _classes(
    client: TestClient, owner: Account, kind: str, group_of: Callable[[int], int]
) -> Campaign:
    campaign = a_campaign(
        owner, a_collection(owner, N), name=kind, kind=kind, classes=["red", "green", "blue"],
        strategy="neucrowd", budget=8, grid_size=6, grids_per_assignment=40,
        annotation={"known_attribute": "colour", "gold_share": 0.3},
        settings={"features": "features", "effort": "quick"},
    )  # fmt: skip
    who = [a_session(client, campaign, f"annotator-{k:06d}") for k in range(2)]
    turn = 0
    while reloaded(campaign.id).n_answers < campaign.budget:
        lease = a_lease(client, who[turn % 2])
        groups = [group_of(shown["image"]) for shown in lease["images"]]
        submit(client, who[turn % 2], lease, groups=groups, descriptions=[])
        turn += 1
    run_job()
    return campaign


def _clustered(client: TestClient, campaign: Campaign) -> None:
    """A clustering by the requester, and one merged from it."""
    path = f"/api/v1/campaigns/{campaign.id}/models/1/clusterings"
    reply = client.post(path, json={"n_clusters": 3})
    if reply.is_success:
        merged = {"clusters": [0, 1]}
        assert client.post(f"{path}/{reply.json()['id']}/merge", json=merged).is_success


def unfinished_campaigns(client: TestClient, owner: Account) -> dict[str, Campaign]:
    """One that goes on, and a draft."""
    going_on = a_campaign(
        owner, a_collection(owner, N), name="Going on", budget=12, rounds=2, grid_size=6,
        annotation=CHECKS,
    )  # fmt: skip
    work(client, going_on, 5, "honest")
    collection = a_collection(owner, N)
    plan = CampaignPlan(name="Draft", collection_id=collection.id, budget=8, rounds=1, grid_size=6)
    lines = ["grid,filename,group", *(f"{k // 6},image-{k:03d}.png,{k % 2}" for k in range(N))]
    with transaction() as session:
        draft = create_campaign(session, owner, plan)
        add_known_list(session, owner, draft.id, "\n".join(lines).encode())
    sign_in(client, owner)
    return {"going on": going_on, "draft": draft}
