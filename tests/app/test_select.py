"""Select campaigns: votes, known answers, who gets which grid, labels, and the end by itself."""

import csv
import io
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.accounts.models import Account
from app.annotation.models import Annotator, Answer
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign, Grid, Round
from app.core.database import transaction
from app.core.errors import InvalidInput
from app.jobs.models import Job
from app.jobs.service import claim_job
from app.kinds import get_kind
from app.kinds.known import BadKnownAnswers, KnownAnswer, read_table
from app.results.labels import read_gold, read_labels
from app.results.learn import run_learning_job
from app.results.models import Model
from app.results.service import get_model
from app.strategies.labels import Labels
from learning.ballots import NO, UNSURE, YES
from learning.simulation import VoteCrowd
from testbed.builders import (
    COLOURS,
    a_campaign,
    a_collection,
    an_account,
    reloaded,
    sign_in,
)
from tests.app.test_annotation import a_lease, a_session, submit
from tests.app.test_crowdster_strategy import run_job

N = 48
TRUTH = np.arange(N) % 3 == 0  # red
CROWD = VoteCrowd(TRUTH, [0.95, 0.9, 1.0, 0.5], [0.95, 1.0, 0.9, 0.5])
CHECKS = {"known_attribute": "colour", "known_value": COLOURS[0]}


def a_select_campaign(**changes: Any) -> Campaign:
    owner = an_account()
    plan = {
        "kind": "select",
        "strategy": "neucrowd",
        "grid_size": 12,
        "budget": 40,
        "rounds": 4,
        "ready_share": 0.0,
        "grids_per_assignment": 40,
        **changes,
    }
    settings = {"features": "features", "effort": "quick", **plan.pop("settings", {})}
    return a_campaign(owner, a_collection(owner, n=N), settings=settings, **plan)


def owner_of(campaign: Campaign) -> Account:
    with transaction() as session:
        return session.get_one(Account, campaign.owner_id)


def votes_on(lease: dict[str, Any], person: int) -> list[int]:
    images = [shown["image"] for shown in lease["images"]]
    return [int(vote) for vote in CROWD.answer(person, images).groups]


def a_grid(client: TestClient, who: dict[str, str]) -> dict[str, Any]:
    """The next grid, also of somebody who is warned first."""
    handout = client.post("/api/v1/annotate/leases", headers=who).json()
    if handout["status"] == "warning":
        client.post("/api/v1/annotate/steps", json={"step": "warning"}, headers=who)
    return a_lease(client, who)


def answer(client: TestClient, who: dict[str, str], person: int) -> list[int]:
    lease = a_grid(client, who)
    reply = submit(client, who, lease, groups=votes_on(lease, person), descriptions=[])
    assert reply.json()["status"] == "stored", reply.text
    return [shown["image"] for shown in lease["images"]]


def open_round(campaign: Campaign) -> Round | None:
    with transaction() as session:
        return session.scalar(
            select(Round).where(Round.campaign_id == campaign.id, Round.state == "open")
        )


def play(client: TestClient, campaign: Campaign) -> int:
    """Four people in turn until the campaign has ended; returns how often it was learned."""
    people = [a_session(client, campaign, f"annotator-{k:06d}") for k in range(4)]
    turn = learned = 0
    while reloaded(campaign.id).state == "running":
        while open_round(campaign) is not None:
            answer(client, people[turn % 4], turn % 4)
            turn += 1
        run_job()
        learned += 1
    return learned


def test_a_campaign_labels_all_images_and_ends_by_itself(client: TestClient) -> None:
    campaign = a_select_campaign(
        rounds=8,
        budget=80,
        settings={"target": 0.93},
        # One in every two grids of each person: with fewer, the campaign may end before the first.
        annotation={**CHECKS, "gold_share": 0.5},
        learn_every=1_000,
    )
    learned = play(client, campaign)
    with transaction() as session:
        campaign = session.get_one(Campaign, campaign.id)
        assert campaign.n_answers < 80
        model = get_model(session, campaign)
        assert model.version == learned < 8
        labels = read_labels(campaign, model)
        gold = read_gold(session, campaign, labels)
        asked = session.scalars(
            select(Grid.images).join(Answer).where(Grid.role == "ask", Answer.state == "submitted")
        ).all()
    assert ((labels.probability > 0.5) == TRUTH).mean() > 0.9
    assert model.metrics["expected_right"] >= 0.93
    assert labels.n_votes.sum() <= sum(len(images) for images in asked)
    assert gold.labels is not None
    assert gold.labels.accuracy > 0.8

    sign_in(client, owner_of(campaign))
    base = f"/api/v1/campaigns/{campaign.id}"
    quality = client.get(f"{base}/models/{learned}/label-quality").json()
    assert "of the labels are expected to be right, for yes and for no" in quality["enough"]
    guesser = quality["annotators"][3]
    honest = quality["annotators"][:3]
    worst = min(annotator["sensitivity"] + annotator["specificity"] for annotator in honest)
    assert guesser["sensitivity"] + guesser["specificity"] < worst
    assert quality["gold"]["n_yes"] + quality["gold"]["n_no"] > 0
    assert sum(bucket["n_images"] for bucket in quality["reliability"]) == int(
        (labels.n_votes > 0).sum()
    )

    listed = client.get(f"{base}/models/{learned}/labels", params={"limit": N}).json()["items"]
    assert [item["probability"] for item in listed] == sorted(
        (item["probability"] for item in listed), reverse=True
    )
    doubtful = client.get(f"{base}/models/{learned}/labels", params={"order": "contested"}).json()
    doubt = [round(abs(item["probability"] - 0.5), 5) for item in doubtful["items"]]
    assert doubt == sorted(doubt)
    only = client.get(f"{base}/models/{learned}/labels", params={"label": "no"}).json()["items"]
    assert {item["label"] for item in only} == {"no"}

    lines = list(csv.DictReader(io.StringIO(client.get(f"{base}/export/labels.csv").text)))
    assert [line["label"] == "yes" for line in lines] == (labels.probability > 0.5).tolist()
    voters = list(csv.DictReader(io.StringIO(client.get(f"{base}/export/voters.csv").text)))
    assert [line["annotator"] for line in voters] == ["0", "1", "2", "3"]


def learned_while(
    client: TestClient, account: Account, campaign: Campaign, request: tuple[str, str, Any]
) -> Campaign:
    """A campaign of which a model finds that it is good enough, after a request that came while
    the job had begun."""
    people = [a_session(client, campaign, f"annotator-{k:06d}") for k in range(4)]
    turn = 0
    while open_round(campaign) is not None:
        answer(client, people[turn % 4], turn % 4)
        turn += 1
    with transaction() as session:
        (job_id,) = session.scalars(select(Job.id).where(Job.campaign_id == campaign.id))
        job = claim_job(session, job_id, "test")
        assert job is not None
        epoch = job.epoch
    sign_in(client, account)
    method, path, body = request
    reply = client.request(method, f"/api/v1/campaigns/{campaign.id}{path}", json=body)
    assert reply.is_success, reply.text
    run_learning_job(campaign.id, job_id, epoch)
    return reloaded(campaign.id)


@pytest.mark.parametrize(
    ("method", "path", "body", "state"),
    [
        ("PATCH", "", {"name": "Another name"}, "finished"),
        ("PATCH", "", {"budget": 52}, "running"),
        ("PATCH", "", {"settings": {"target": 0.9999, "least_gain": 0}}, "running"),
        ("POST", "/annotators/3/actions/leave_out", None, "running"),
    ],
)
def test_it_does_not_end_by_a_model_of_what_is_no_longer_asked(
    client: TestClient, method: str, path: str, body: Any, state: str
) -> None:
    campaign = a_select_campaign(settings={"target": 0.51})
    learned_campaign = learned_while(client, owner_of(campaign), campaign, (method, path, body))
    assert learned_campaign.state == state


def test_what_ended_by_itself_is_reopened_for_more_than_was_good_enough(
    client: TestClient,
) -> None:
    campaign = a_select_campaign(settings={"target": 0.51})
    rename = ("PATCH", "", {"name": "Another name"})
    assert learned_while(client, owner_of(campaign), campaign, rename).state == "finished"
    base = f"/api/v1/campaigns/{campaign.id}"
    refused = client.post(f"{base}/actions/reopen")
    assert refused.status_code == 409
    assert "would end again immediately" in refused.json()["detail"]
    more = {"settings": {"target": 0.9999, "least_gain": 0}}
    assert client.patch(base, json=more).is_success
    assert client.post(f"{base}/actions/reopen").is_success
    assert reloaded(campaign.id).state == "running"


def test_unsure_is_learned_from_until_somebody_says_yes_or_no(client: TestClient) -> None:
    campaign = a_select_campaign()
    who = a_session(client, campaign)
    while open_round(campaign) is not None:
        lease = a_lease(client, who)
        assert submit(client, who, lease, groups=[UNSURE] * 12, descriptions=[]).is_success
    run_job()
    with transaction() as session:
        row = session.get_one(Campaign, campaign.id)
        assert row.state == "running"
        assert (read_labels(row, get_model(session, row)).probability == 0.5).all()
    # The next round asks on.
    assert open_round(campaign) is not None


def test_people_are_given_images_that_are_new_to_them(client: TestClient) -> None:
    campaign = a_select_campaign(budget=16, rounds=1)
    first, second = (a_session(client, campaign, f"annotator-{k:06d}") for k in range(2))
    # 16 grids of 12 show each of 48 images four times.
    mine = [image for _ in range(4) for image in answer(client, first, 0)]
    assert len(set(mine)) == N
    theirs = [image for _ in range(4) for image in answer(client, second, 1)]
    assert len(set(theirs)) >= N - 6


@pytest.mark.parametrize(
    ("votes", "least", "most"),
    [("truth", 1.0, 1.0), ("opposite", -1.0, -0.5), ("all", 0.0, 0.0), ("unsure", 0.0, 0.0)],
)
def test_gold_grids_tell_who_looks(
    client: TestClient, votes: str, least: float, most: float
) -> None:
    campaign = a_select_campaign(annotation={**CHECKS, "gold_share": 0.5}, budget=200, rounds=1)
    who = a_session(client, campaign)
    for _ in range(8):
        lease = a_grid(client, who)
        shows = [bool(TRUTH[shown["image"]]) for shown in lease["images"]]
        groups = {
            "truth": [YES if is_yes else NO for is_yes in shows],
            "opposite": [NO if is_yes else YES for is_yes in shows],
            "all": [YES] * len(shows),
            "unsure": [2] * len(shows),
        }[votes]
        submit(client, who, lease, groups=groups, descriptions=[])
    with transaction() as session:
        agreements = session.scalars(
            select(Answer.agreement).join(Grid).where(Grid.role == "gold")
        ).all()
        annotator = session.scalars(select(Annotator)).one()
    assert len(agreements) >= 3
    assert all(
        agreement is not None and least - 1e-9 <= agreement <= most + 1e-9
        for agreement in agreements
    )
    assert (annotator.warned_at is not None) == (votes != "truth")


def test_practice_is_passed_by_the_right_votes(client: TestClient) -> None:
    campaign = a_select_campaign(annotation={**CHECKS, "practice": 1})
    who = a_session(client, campaign)
    client.post("/api/v1/annotate/steps", json={"step": "instructions"}, headers=who)
    shown = client.get("/api/v1/annotate/practice", headers=who).json()
    images = [image["image"] for image in shown["images"]]
    known = [YES if TRUTH[image] else NO for image in images]
    attempt = {"number": shown["number"], "tries": shown["tries"]}
    body = {"images": images, "groups": known, **attempt}
    tried = client.post("/api/v1/annotate/practice", json=body, headers=who).json()
    assert tried["truth"] == known
    assert tried["agreement"] == pytest.approx(1.0)
    assert tried["state"]["stage"] == "work"


def test_the_page_is_told_of_votes(client: TestClient) -> None:
    campaign = a_select_campaign(annotation={"descriptions": "required"})
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    assert lease["first_colour"] == 0
    link = annotator_link(campaign, "").removeprefix("/a/")
    opened = client.post(
        "/api/v1/annotate/sessions", json={"link": link, "annotator_key": "annotator-000009"}
    ).json()["campaign"]
    settings = {name: opened[name] for name in ("kind", "max_groups", "descriptions", "columns")}
    assert settings == {"kind": "select", "max_groups": 3, "descriptions": "none", "columns": 6}
    bad = submit(client, who, lease, groups=[3] * len(lease["images"]), descriptions=[])
    assert (bad.status_code, bad.json()["code"]) == (422, "bad_groups")


def test_kinds_and_choices_are_checked(client: TestClient) -> None:
    owner = an_account()
    collection = a_collection(owner, n=N)
    with pytest.raises(InvalidInput, match="3 choices yes, no, unsure, so max_groups can't be 10"):
        a_campaign(owner, collection, kind="select", strategy="neucrowd", max_groups=10)
    with pytest.raises(InvalidInput, match="can't learn from answers of kind 'select'"):
        a_campaign(owner, collection, kind="select", strategy="cen")
    with pytest.raises(InvalidInput, match="can't learn from answers of kind 'grid'"):
        a_campaign(owner, collection, kind="grid", strategy="neucrowd")
    with pytest.raises(InvalidInput, match="Its values are 'blue', 'green', 'red'"):
        a_campaign(
            owner, collection, kind="select", strategy="neucrowd",
            annotation={"known_attribute": "colour", "known_value": "pink", "gold_share": 0.1},
        )  # fmt: skip


def known_votes(values: dict[str, list[int]], wanted: str, seed: int) -> KnownAnswer:
    rng = np.random.default_rng(seed)
    return get_kind("select").known_from_values(values, wanted, 12, 3, rng)


def read_known(table: bytes) -> list[KnownAnswer]:
    return get_kind("select").known_from_table(read_table(table, {"a.png": 0, "b.png": 1}), 3)


def test_known_votes_have_some_of_both() -> None:
    values = {"a": list(range(30)), "b": list(range(30, 40))}
    for seed in range(20):
        known = known_votes(values, "b", seed)
        ticked = [
            image for image, vote in zip(known.images, known.truth, strict=True) if vote == YES
        ]
        assert 3 <= len(ticked) <= 6
        assert all(image >= 30 for image in ticked)
        assert len(set(known.images)) == 12
    rare = known_votes({"a": list(range(30)), "b": [31]}, "b", 0)
    assert rare.truth.count(YES) == 1
    with pytest.raises(BadKnownAnswers, match="There are 0 and 40"):
        known_votes(values, "c", 0)


def test_a_list_of_known_votes_is_read_and_checked() -> None:
    table = b"grid,filename,group\n1,a.png,Yes\n1,b.png,no\n"
    (known,) = read_known(table)
    assert (known.images, known.truth) == ([0, 1], [YES, NO])
    with pytest.raises(BadKnownAnswers, match="Line 2: The group must be yes or no, not 'maybe'"):
        read_known(b"grid,filename,group\n1,a.png,maybe\n")
    with pytest.raises(BadKnownAnswers, match="needs images with the group yes and images"):
        read_known(b"grid,filename,group\n1,a.png,no\n1,b.png,no\n")


def test_labels_are_written_and_read_back() -> None:
    labels = Labels(
        probability=np.array([0.9, 0.5, 0.1]),
        prior=np.array([0.8, 0.5, 0.2]),
        majority=np.array([1.0, np.nan, 0.0]),
        dawid_skene=np.array([1.0, np.nan, 0.0]),
        glad=np.array([1.0, np.nan, 0.0]),
        yes=np.array([2, 0, 0]),
        no=np.array([0, 0, 1]),
        unsure=np.array([0, 1, 0]),
    )
    again = Labels.from_bytes(labels.to_bytes())
    assert np.array_equal(again.majority, labels.majority, equal_nan=True)
    assert again.likeliest_first().tolist() == [0, 1, 2]
    assert again.contested_first().tolist() == [1, 0, 2]
    with pytest.raises(ValueError, match="not a file of labels"):
        Labels.from_bytes(b"nothing")


def test_lost_files_and_other_models_are_told(client: TestClient) -> None:
    campaign = a_select_campaign(rounds=1, budget=4)
    play(client, campaign)
    sign_in(client, owner_of(campaign))
    base = f"/api/v1/campaigns/{campaign.id}/models/1"
    assert client.get(f"{base}/label-quality").json()["gold"]["labels"] is None
    with transaction() as session:
        model = session.scalars(select(Model)).one()
        model.insight = None
    gone = client.get(f"{base}/labels")
    assert (gone.status_code, gone.json()["detail"]) == (404, "Model 1 has no labels.")
