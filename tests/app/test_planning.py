"""The planner: work and price of a campaign, and what a simulated crowd finds in it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.campaigns.annotation_settings import AnnotationSettings
from app.campaigns.models import Campaign
from app.campaigns.plan import CampaignPlan
from app.campaigns.plan_settings import PlanSettings
from app.campaigns.service import create_campaign
from app.core.database import transaction
from app.jobs.models import Job
from app.jobs.service import claim_job
from app.planning.crowd import CrowdTraits
from app.planning.dry_run import Point, answers_needed
from app.planning.play import run_dry_run
from app.recruitment.costs import costs_of, effort_of, estimate_of
from app.recruitment.models import Recruitment
from learning.simulation import AttributeCrowd, FeatureCrowd, neighbours_right, true_distances
from testbed.builders import a_campaign, a_collection, an_account, sign_in

pytestmark = pytest.mark.usefixtures("environment")


def an_effort(**changed: Any) -> Any:
    values = {
        "answers": 100,
        "answers_per_grid": 2,
        "grids_per_assignment": 10,
        "grid_size": 20,
        "n_images": 200,
        "annotation": AnnotationSettings(),
        "seconds_per_grid": 60.0,
        **changed,
    }
    return effort_of(**values)


def test_work_and_price_add_up() -> None:
    effort = an_effort()
    assert (effort.grids, effort.assignments, effort.views_per_image) == (50, 10, 10.0)
    assert effort.minutes_per_assignment == 11.0
    checked = an_effort(annotation=AnnotationSettings(gold_share=0.1, repeat_share=0.1, practice=1))
    assert (checked.assignments, checked.checks) == (13, 25)
    assert checked.minutes_per_assignment == 12.0
    costs = costs_of(effort, 220, PlanSettings(platform="prolific"))
    assert (costs.rewards_cents, costs.fees_cents, costs.total_cents) == (2200, 1140, 3340)
    assert costs.hourly_cents == 1200
    few = an_effort(answers=90)
    assert costs_of(few, 220, PlanSettings(platform="mturk")).fee_percent == 20
    assert costs_of(few, 0, PlanSettings()).hourly_cents is None
    assert costs_of(few, 100, PlanSettings(platform="mturk", fee_percent=5)).fees_cents == 45


@pytest.mark.parametrize("platform", ["link", "prolific", "mturk"])
@pytest.mark.parametrize("places", [1, 9, 10, 100, 1003])
def test_the_planner_and_recruiting_name_the_same_price(platform: Any, places: int) -> None:
    for reward_cents in (0, 1, 7, 100, 133, 2_199):
        imagined = Recruitment(
            channel=platform, places=places, reward_cents=reward_cents, settings={}
        )
        recruiting = estimate_of(imagined) if platform != "link" else None
        effort = replace(an_effort(), assignments=places)
        planned = costs_of(effort, reward_cents, PlanSettings(platform=platform))
        assert planned.total_cents == (
            recruiting.places_cents if recruiting else reward_cents * places
        )


def test_answers_needed_are_read_from_a_rising_curve() -> None:
    points = [Point(n, right, 0.01, None) for n, right in ((100, 0.2), (200, 0.5), (400, 0.45))]
    needed = answers_needed(points, 0.4)
    assert needed is not None
    assert 100 < needed < 200
    assert answers_needed(points, 0.6) is None
    assert answers_needed(points, 0.1) == 100
    assert answers_needed([], 0.5) is None


def test_what_fewer_answers_reach_is_not_hidden_by_a_fall_after_it() -> None:
    points = [Point(n, right, 0.0, None) for n, right in ((80, 0.7), (160, 0.95), (640, 0.82))]
    needed = answers_needed(points, 0.9)
    assert needed is not None
    assert 80 < needed < 160
    assert answers_needed(points, 0.96) is None


def test_what_a_crowd_sees_is_the_yardstick_of_an_embedding() -> None:
    features = np.random.default_rng(0).random((40, 2))
    distances = true_distances(FeatureCrowd(features, 2))
    assert neighbours_right(features, distances).mean() == 1.0
    assert neighbours_right(np.random.default_rng(1).random((40, 2)), distances).mean() < 0.5
    table = {"colour": ["red", "blue"] * 20, "size": ["s"] * 20 + ["l"] * 20}
    crowd = AttributeCrowd.from_table(table, 4, preference=0.8)
    apart = true_distances(crowd)
    assert apart[0, 2] == pytest.approx(0.0)
    assert apart[0, 1] == pytest.approx(0.5)
    assert apart[0, 21] == pytest.approx(1.0)
    # Ten images of one kind are all equally near: any of the other nine is right.
    codes = np.column_stack([np.arange(40) % 2, np.arange(40) // 20])
    assert neighbours_right(codes, apart, k=5).mean() == 1.0


def a_draft(**plan: Any) -> Campaign:
    owner = an_account()
    collection = a_collection(owner, n=30)
    values = {
        "name": "Plan", "kind": "bins", "strategy": "crowdster", "budget": 40, "rounds": 2,
        "grid_size": 8, "seed": 0, **plan,
    }  # fmt: skip
    with transaction() as session:
        return create_campaign(session, owner, CampaignPlan(collection_id=collection.id, **values))


def run_job() -> None:
    with transaction() as session:
        job_id = session.scalars(select(Job.id).where(Job.state == "queued")).one()
        job = claim_job(session, job_id, "worker")
        assert job is not None
    run_dry_run(job.campaign_id, job.id, job.epoch)


def test_a_dry_run_foretells_a_draft(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    # Images seen once say little of their neighbours, on any machine.
    monkeypatch.setattr("app.kinds.groupings.GroupingKind.views_tried", (1, 16, 32))
    campaign = a_draft(reward_cents=100, plan={"platform": "prolific", "target": 0.4})
    with transaction() as session:
        sign_in(client, session.merge(an_account_of(campaign)))
    root = f"/api/v1/campaigns/{campaign.id}"
    plan = client.get(f"{root}/plan").json()
    assert plan["dry_run"] is None
    assert plan["needed"] is None
    assert plan["effort"]["views_per_image"] == pytest.approx(40 * 8 / 30)
    assert any("8 which" in warning or "less than 8" in warning for warning in plan["warnings"])
    assert client.get(f"{root}/groupings").json() == {
        "attributes": ["colour"], "known": ["colour"], "features": True, "usual": ["features"],
        "values": {},
    }  # fmt: skip
    assert client.post(f"{root}/dry-runs", json={"by": ["nothing"]}).status_code == 422
    assert client.post(f"{root}/dry-runs", json={"by": ["colour", "features"]}).status_code == 422
    started = client.post(f"{root}/dry-runs", json={})
    assert started.status_code == 201
    assert started.json()["dry_run"]["by"] == ["features"]
    assert client.post(f"{root}/dry-runs", json={}).json()["code"] == "dry_run_runs"
    run_job()
    plan = client.get(f"{root}/plan").json()
    run = plan["dry_run"]
    assert (run["state"], run["progress"], run["stale"]) == ("done", 1.0, False)
    assert {point["answers"] for point in run["rounds"]} == {20, 40}
    assert 0 < plan["needed"] < 300
    best = max(run["ends"], key=lambda point: point["answers"])
    worst = min(run["ends"], key=lambda point: point["answers"])
    assert best["right"] > worst["right"] + 0.1
    assert sorted(point["image"] for point in run["picture"]) == list(range(30))
    # A dry run is no learning: nothing of it shows on the monitor or is retried.
    assert client.get(f"{root}/progress").json()["job"] is None
    client.patch(root, json={"rounds": 3})
    assert client.get(f"{root}/plan").json()["dry_run"]["stale"] is True


def test_a_dry_run_of_votes_foretells_the_share_of_labels_right(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.kinds.select.SelectKind.views_tried", (3,))
    campaign = a_draft(
        kind="select",
        strategy="neucrowd",
        budget=8,
        rounds=1,
        annotation={"known_attribute": "colour", "known_value": "red"},
        settings={"features": "features"},
        plan={"target": 0.7},
    )
    with transaction() as session:
        sign_in(client, session.merge(an_account_of(campaign)))
    root = f"/api/v1/campaigns/{campaign.id}"
    assert client.get(f"{root}/groupings").json()["usual"] == ["colour=red"]
    for by in (["colour"], ["colour=pink"], ["smell=red"], ["colour=red", "colour=blue"]):
        assert client.post(f"{root}/dry-runs", json={"by": by}).status_code == 422
    started = client.post(f"{root}/dry-runs", json={})
    assert started.json()["dry_run"]["by"] == ["colour=red"]
    run_job()
    plan = client.get(f"{root}/plan").json()
    assert plan["dry_run"]["state"] == "done"
    best = max(plan["dry_run"]["ends"], key=lambda point: point["answers"])
    assert best["right"] > 0.75
    assert plan["needed"] is not None


def an_account_of(campaign: Campaign) -> Any:
    from app.accounts.models import Account

    with transaction() as session:
        return session.get_one(Account, campaign.owner_id)


def test_a_large_collection_is_simulated_on_a_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.planning.play.MOST_IMAGES", 15)
    monkeypatch.setattr("app.kinds.groupings.GroupingKind.views_tried", (8,))
    campaign = a_draft()
    from app.planning.models import DryRun
    from app.planning.service import request_dry_run

    with transaction() as session:
        request_dry_run(session, an_account_of(campaign), campaign.id, noise=0.0)
    run_job()
    with transaction() as session:
        run = session.scalars(select(DryRun)).one()
    assert run.picture is not None
    assert len(run.picture["images"]) == 15
    # Played with half the answers, told for all images.
    assert max(point["answers"] for point in run.rounds) == 40
    assert CrowdTraits().annotators == run.asked["annotators"]


def test_the_time_a_grid_takes_comes_from_answers_when_there_are_enough(
    client: TestClient,
) -> None:
    from app.recruitment.costs import seconds_per_grid
    from tests.app.test_annotation import a_lease, a_session, submit

    owner = an_account()
    campaign = a_campaign(owner, budget=40, grids_per_assignment=40)
    with transaction() as session:
        assert seconds_per_grid(session, campaign, PlanSettings()) == (75.0, "usual")
    who = a_session(client, campaign)
    for _ in range(30):
        submit(client, who, a_lease(client, who), elapsed_ms=12_000)
    with transaction() as session:
        seconds, source = seconds_per_grid(session, campaign, PlanSettings())
        assert (seconds, source) == (12.0, "campaign")
        assert seconds_per_grid(session, campaign, PlanSettings(seconds_per_grid=9)) == (9, "yours")


def test_a_dry_run_that_is_done_again_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a worker that was lost in the middle: what it left is not added to."""
    from app.planning.models import DryRun
    from app.planning.service import request_dry_run

    monkeypatch.setattr("app.kinds.groupings.GroupingKind.views_tried", (8,))
    campaign = a_draft()
    with transaction() as session:
        run = request_dry_run(session, an_account_of(campaign), campaign.id, noise=0.0)
        run.ends = run.rounds = [{"answers": 1, "right": 0.9, "error": 0.0, "foretold": None}]
    run_job()
    with transaction() as session:
        points = session.scalars(select(DryRun)).one()
    assert 1 not in {point["answers"] for point in [*points.ends, *points.rounds]}


def test_the_chart_of_a_large_campaign_is_not_read_for_every_answer(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.app.test_annotation import a_lease, a_session, submit

    monkeypatch.setattr("app.results.monitor.MANY_ANSWERS", 1)
    owner = an_account()
    campaign = a_campaign(owner, budget=8)
    who = a_session(client, campaign)
    sign_in(client, owner)

    def counts() -> tuple[int, int]:
        progress = client.get(f"/api/v1/campaigns/{campaign.id}/progress").json()
        return progress["answers"], sum(bar["answers"] for bar in progress["monitor"]["bars"])

    submit(client, who, a_lease(client, who))
    assert counts() == (1, 1)
    submit(client, who, a_lease(client, who))
    assert counts() == (2, 1)
    monkeypatch.setattr("app.results.monitor.KEPT_SECONDS", 0.0)
    assert counts() == (2, 2)


def test_the_last_grid_in_somebodys_hands_is_told_of(client: TestClient) -> None:
    from tests.app.test_annotation import a_lease, a_session, submit

    owner = an_account()
    campaign = a_campaign(owner, budget=2)
    who = a_session(client, campaign)
    sign_in(client, owner)

    def notes() -> list[str]:
        progress = client.get(f"/api/v1/campaigns/{campaign.id}/progress").json()
        return [
            alert["text"] for alert in progress["monitor"]["alerts"] if alert["level"] == "note"
        ]

    submit(client, who, a_lease(client, who))
    assert notes() == []
    lease = a_lease(client, who)
    (note,) = notes()
    assert note.startswith("The last grid is being worked on.")
    assert note.endswith("it goes to someone else in 15 min.")
    submit(client, who, lease)
    assert notes() == []
