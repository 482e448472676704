"""Campaigns with imported answers: learning, rounds and budget, exports, pages and archives."""

import csv
import io

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.annotation.models import Answer
from app.campaigns.changes import change_campaign
from app.campaigns.models import Campaign, Round
from app.core.database import transaction
from app.results.dataset import load_learning_data
from app.results.models import EmbeddedImage
from app.results.service import get_model
from testbed.builders import a_campaign, a_collection, an_account, reloaded, sign_in
from testbed.invariants import broken_invariants
from tests.app.test_annotation import a_lease, a_session, submit
from tests.app.test_crowdster_strategy import run_job
from tests.support.answer_files import a_line, bring, by_colour
from tests.support.archives import unpacked


def test_a_model_is_learned_from_imported_answers_alone(client: TestClient) -> None:
    owner = an_account()
    campaign = a_campaign(owner, a_collection(owner, 30), budget=40)
    assert bring(campaign, by_colour(150)).is_learning
    run_job()
    with transaction() as session:
        model = get_model(session, session.get_one(Campaign, campaign.id))
        assert (model.n_answers, model.round_number) == (150, 1)
        vectors = session.scalars(
            select(EmbeddedImage.vector).order_by(EmbeddedImage.position)
        ).all()
    assert share_of_nearest_in_colour([list(vector) for vector in vectors]) > 0.9
    # The round that is open goes on, and the campaign does not end.
    who = a_session(client, campaign)
    assert submit(client, who, a_lease(client, who)).json()["status"] == "stored"
    assert reloaded(campaign.id).state == "running"


def share_of_nearest_in_colour(vectors: list[list[float]]) -> float:
    def nearest(image: int) -> int:
        others = [other for other in range(len(vectors)) if other != image]
        return min(
            others,
            key=lambda other: sum(
                (a - b) ** 2 for a, b in zip(vectors[image], vectors[other], strict=True)
            ),
        )

    return sum(nearest(image) % 3 == image % 3 for image in range(len(vectors))) / len(vectors)


@pytest.mark.parametrize("algorithm", ["likelihood", "paper"])
def test_they_are_learned_from_together_with_answers_given_here(
    client: TestClient, algorithm: str
) -> None:
    owner = an_account()
    campaign = a_campaign(
        owner, kind="bins", strategy="crowdster", budget=4, rounds=2,
        settings={"algorithm": algorithm},
    )  # fmt: skip
    who = a_session(client, campaign)
    for _ in range(2):
        assert submit(client, who, a_lease(client, who)).json()["status"] == "stored"
    run_job()
    # A set of the campaign's own size among others, and more groups than its annotators have.
    wide = a_line("ada", [*range(12)], [*range(12)])
    own_size = a_line("ada", [*range(6)], [0, 0, 0, 1, 1, 1])
    report = bring(campaign, [*by_colour(20), wide, own_size])
    assert (report.sizes, report.n_annotators) == ((4, 12), 7)
    run_job()
    with transaction() as session:
        here = session.get_one(Campaign, campaign.id)
        data = load_learning_data(session, here)
        assert [len(answers) for answers in data.rounds] == [24]
        assert (data.n_full, data.begun is not None and len(data.begun)) == (1, 3)
        assert get_model(session, here).n_answers == 24
        # One model of the first round, however many were imported.
        rounds = session.execute(
            select(Round.number, Round.n_answers, Round.n_wanted, Round.state)
            .where(Round.campaign_id == campaign.id)
            .order_by(Round.number)
        ).all()
    assert [tuple(row) for row in rounds] == [
        (0, 22, 22, "closed"), (1, 2, 2, "closed"), (2, 0, 2, "open")
    ]  # fmt: skip
    for _ in range(2):
        assert submit(client, who, a_lease(client, who)).json()["status"] == "stored"
    run_job()
    after = reloaded(campaign.id)
    assert (after.state, after.n_answers, after.n_imported) == ("finished", 4, 22)
    assert broken_invariants().keys() <= {"nothing waits in the outbox"}


def test_the_budget_of_a_campaign_with_imported_answers_can_change(client: TestClient) -> None:
    owner = an_account()
    campaign = a_campaign(owner, budget=8, rounds=2)
    bring(campaign, by_colour(20))
    with transaction() as session:
        changed = change_campaign(session, owner, campaign.id, {"budget": 12})
        assert (changed.budget, changed.rounds, changed.laid_out) == (12, 3, [4, 4])


def test_imported_answers_are_no_round_that_ends_a_campaign(client: TestClient) -> None:
    """Where the second round is made only when the first has been learned from."""
    campaign = a_campaign(budget=4, rounds=2, ready_share=0.0)
    bring(campaign, by_colour(12))
    who = a_session(client, campaign)
    for _ in range(2):
        assert submit(client, who, a_lease(client, who)).json()["status"] == "stored"
    run_job()
    assert reloaded(campaign.id).state == "running"
    assert submit(client, who, a_lease(client, who)).json()["status"] == "stored"


def test_a_finished_campaign_learns_what_is_imported(client: TestClient) -> None:
    campaign = a_campaign(budget=2)
    who = a_session(client, campaign)
    for _ in range(2):
        submit(client, who, a_lease(client, who))
    run_job()
    bring(campaign, by_colour(12))
    run_job()
    with transaction() as session:
        here = session.get_one(Campaign, campaign.id)
        assert (here.state, get_model(session, here).n_answers) == ("finished", 14)


def test_exports_and_pages_show_imported_answers(client: TestClient) -> None:
    owner = an_account()
    campaign = a_campaign(owner, name="Birds")
    bring(campaign, [a_line("ada", [3, 1], [11, 0], words={"11": "twelfth"}), *by_colour(30)])
    run_job()
    sign_in(client, owner)
    base = f"/api/v1/campaigns/{campaign.id}"
    rows = list(csv.DictReader(io.StringIO(client.get(f"{base}/export/answers.csv").text)))
    assert {(row["round"], row["state"]) for row in rows} == {("0", "submitted")}
    first = [(row["filename"], row["group"], row["description"]) for row in rows[:2]]
    assert first == [("image-003.png", "11", "twelfth"), ("image-001.png", "0", "")]
    for file in ("answers.jsonl", "answers.parquet", "pairs.csv", "triplets.csv", "quality.csv"):
        assert client.get(f"{base}/export/{file}").status_code == 200, file
    files = {
        export["file"]: export["rows"] for export in client.get(f"{base}/exports").json()["files"]
    }
    assert (files["answers.jsonl"], files["answers.csv"]) == (31, None)
    progress = client.get(f"{base}/progress").json()
    assert (progress["answers"], progress["imported"], progress["budget"]) == (0, 31, 8)
    # They were not given here: they tell nothing of how the campaign goes.
    assert (progress["monitor"]["bars"], progress["monitor"]["seconds_per_grid"]) == ([], None)
    assert [detail["number"] for detail in progress["rounds_detail"]] == [1]
    assert client.get(base).json()["n_imported"] == 31
    assert "0 of 8 answers, 31 imported" in client.get("/").text
    answers = client.get(f"{base}/answers?annotator=0&replay=true").json()["items"]
    assert (answers[0]["round"], answers[0]["replay"]["trace"]) == (0, [])
    assert client.get(f"{base}/models/1/insight").status_code == 200


def test_an_archive_brings_imported_answers_along(client: TestClient) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    bring(campaign, by_colour(25))
    run_job()
    sign_in(client, owner)
    archive = client.get(f"/api/v1/campaigns/{campaign.id}/export/archive.zip").content
    with transaction() as session:
        identities = session.scalars(select(Answer.imported_as)).all()
    rows = unpacked(archive)["tables/answer.jsonl"].decode()
    assert [identity for identity in identities if not identity or identity in rows] == []
    reply = client.post("/api/v1/campaigns/import", files={"file": ("archive.zip", archive)})
    assert reply.status_code == 201, reply.text
    copy = reloaded(reply.json()["id"])
    assert (copy.n_imported, copy.n_answers, copy.n_annotators) == (25, 0, 6)
    progress = client.get(f"/api/v1/campaigns/{copy.id}/progress").json()
    assert (progress["imported"], progress["monitor"]["bars"]) == (25, [])
    assert broken_invariants().keys() <= {"nothing waits in the outbox"}


def test_an_annotator_s_imported_answers_can_be_left_out(client: TestClient) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    bring(campaign, by_colour(30), learn=False)
    sign_in(client, owner)
    path = f"/api/v1/campaigns/{campaign.id}/annotators/0/actions/leave_out"
    assert client.post(path).status_code == 204
    run_job()
    with transaction() as session:
        assert get_model(session, session.get_one(Campaign, campaign.id)).n_answers == 25
