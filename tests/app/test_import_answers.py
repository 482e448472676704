"""Answers collected elsewhere: stored like any other, once, and only if the whole file is right."""

import csv
import gzip
import io
import json
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select
from typer.testing import CliRunner

from app.accounts.models import Account, AuditEvent
from app.annotation.importing.problems import BadAnswerFile
from app.annotation.importing.service import ImportReport, import_answers
from app.annotation.models import Annotator, AnnotatorIdentity, Answer, Assignment
from app.campaigns.changes import change_campaign
from app.campaigns.models import Campaign, Grid, Round
from app.campaigns.plan import CampaignPlan
from app.campaigns.service import BadState, create_campaign
from app.campaigns.sharing import MayNotChange, share_campaign
from app.core.database import transaction
from app.core.errors import InvalidInput, NotFound
from app.jobs.models import Job
from app.recruitment.models import Payment
from app.results.dataset import load_learning_data
from app.results.models import EmbeddedImage
from app.results.service import get_model, read_progress
from app.tables import metadata
from likewise.cli import cli
from testbed.builders import (
    a_campaign,
    a_collection,
    an_account,
    reloaded,
    sign_in,
)
from tests.app.test_annotation import a_lease, a_session, submit
from tests.app.test_crowdster_strategy import run_job
from tests.support.archives import unpacked
from tests.support.invariants import broken_invariants

Line = dict[str, Any]


def name_of(image: int) -> str:
    return f"image-{image:03d}.png"


def a_line(annotator: object, images: list[int], groups: list[int], **others: Any) -> Line:
    names = [name_of(image) for image in images]
    return {"annotator": annotator, "images": names, "groups": groups, **others}


GOOD = a_line("ada", [0, 1, 2], [0, 1, 1])


def by_colour(n: int, size: int = 5, n_annotators: int = 6, seed: int = 0) -> list[Line]:
    """Grids of different sizes, grouped by the colour of a_table: the position modulo three."""
    rng = random.Random(seed)
    lines = []
    for number in range(n):
        images = rng.sample(range(30), size - number % 2)
        groups = [image % 3 for image in images]
        lines.append(a_line(f"person {number % n_annotators}", images, groups, seconds=4.5))
    return lines


def packed(lines: list[Line] | list[str]) -> io.BytesIO:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    return io.BytesIO("\n".join(texts).encode())


def bring(
    campaign: Campaign, lines: list[Line] | list[str] | io.BytesIO, **options: Any
) -> ImportReport:
    file = packed(lines) if isinstance(lines, list) else lines
    with transaction() as session:
        owner = session.get_one(Account, campaign.owner_id)
        return import_answers(session, owner, campaign.id, file, **options)


def refusal(campaign: Campaign, lines: list[Line] | list[str] | io.BytesIO, **options: Any) -> str:
    """What is said of a file that cannot be imported, and that nothing of it is stored."""
    before = rows_of_all_tables()
    with pytest.raises(BadAnswerFile) as refused:
        bring(campaign, lines, **options)
    assert rows_of_all_tables() == before
    message = str(refused.value)
    assert message.startswith("Nothing was imported.")
    return message


def rows_of_all_tables() -> dict[str, int]:
    with transaction() as session:
        return {
            table.name: session.scalar(select(func.count()).select_from(table)) or 0
            for table in metadata.tables.values()
        }


def count(what: Any) -> int:
    with transaction() as session:
        return session.scalar(select(func.count()).select_from(what)) or 0


def test_imported_answers_are_stored_beside_the_budget_and_nobody_is_paid(
    client: TestClient,
) -> None:
    campaign = a_campaign(budget=8, reward_cents=100)
    lines = [
        a_line(
            "ada", [3, 1, 2], [1, 0, -1],
            seconds=2.5, words={"1": "round", "0": "flat"}, answered_at="2024-05-17T09:30:00+02:00",
        ),
        a_line(7, [4, 5], [0, 0], words=["both"]),
    ]  # fmt: skip
    report = bring(campaign, lines)
    assert (report.n_new, report.n_known, report.n_annotators, report.sizes) == (2, 0, 2, (2, 3))
    with transaction() as session:
        query = select(Answer, Grid, Annotator.position).join(Grid, Answer.grid_id == Grid.id)
        query = query.join(Annotator, Answer.annotator_id == Annotator.id)
        (first, grid, who), (second, other, _) = session.execute(query.order_by(Annotator.position))
        assert (first.groups, grid.images, who) == ([1, 0, -1], [3, 1, 2], 0)
        assert (first.descriptions, first.elapsed_ms) == (["flat", "round"], 2500)
        assert first.submitted_at is not None
        assert first.submitted_at.isoformat() == "2024-05-17T07:30:00+00:00"
        assert (second.groups, other.images, second.descriptions) == ([0, 0], [4, 5], ["both"])
        assert {answer.state for answer in (first, second)} == {"submitted"}
        identities = session.scalars(select(AnnotatorIdentity)).all()
        assert {identity.channel for identity in identities} == {"import"}
        assert {identity.external_id for identity in identities} == {None}
        event = session.scalars(
            select(AuditEvent).where(AuditEvent.action == "campaign.answers_imported")
        ).one()
        assert event.details == {"answers": 2, "annotators": 2}
    after = reloaded(campaign.id)
    assert (after.n_answers, after.n_surplus, after.n_imported, after.n_annotators) == (0, 0, 2, 2)
    assert count(Payment) == 0
    assert broken_invariants().keys() <= {"nothing waits in the outbox"}


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


def test_importing_a_file_again_adds_nothing(client: TestClient) -> None:
    campaign = a_campaign()
    lines = by_colour(20)
    # The same person may have said the same of the same images twice.
    lines.append(dict(lines[0]))
    assert bring(campaign, lines).n_new == 21
    before = rows_of_all_tables()
    again = bring(campaign, lines)
    assert (again.n_new, again.n_known, again.is_learning) == (0, 21, False)
    shuffled = io.BytesIO(gzip.compress(packed(lines[::-1]).getvalue()))
    assert bring(campaign, shuffled).n_new == 0
    assert rows_of_all_tables() == before
    # A longer version of the file adds what is new, also of people who are known.
    longer = bring(campaign, [*lines, *by_colour(3, seed=9)])
    assert (longer.n_new, longer.n_known, longer.n_new_annotators) == (3, 21, 0)
    with transaction() as session:
        done = session.scalars(select(Assignment.n_answered).order_by(Assignment.id)).all()
    assert (len(done), sum(done)) == (6, 24)
    assert broken_invariants().keys() <= {"nothing waits in the outbox"}


def test_two_imports_of_one_file_at_the_same_moment_store_it_once(client: TestClient) -> None:
    campaign = a_campaign()
    lines = by_colour(60)
    with ThreadPoolExecutor(4) as pool:
        reports = list(pool.map(lambda _: bring(campaign, lines), range(4)))
    assert sorted(report.n_new for report in reports) == [0, 0, 0, 60]
    assert (count(Answer), count(Annotator), reloaded(campaign.id).n_imported) == (60, 6, 60)


def test_people_come_and_answer_while_answers_are_imported(client: TestClient) -> None:
    campaign = a_campaign(budget=40)
    files = [by_colour(40, n_annotators=20, seed=seed) for seed in range(3)]
    for number, file in enumerate(files):
        for line in file:
            line["annotator"] = f"{number}: {line['annotator']}"

    def work(number: int) -> str:
        who = a_session(client, campaign, f"annotator-{number:06d}")
        return str(submit(client, who, a_lease(client, who)).json()["status"])

    with ThreadPoolExecutor(8) as pool:
        imports = [pool.submit(bring, campaign, file) for file in files]
        answers = [pool.submit(work, number) for number in range(12)]
        assert [future.result().n_new for future in imports] == [40, 40, 40]
        assert {future.result() for future in answers} == {"stored"}
    after = reloaded(campaign.id)
    assert (after.n_answers, after.n_imported, count(Annotator)) == (12, 120, 72)
    assert broken_invariants().keys() <= {"nothing waits in the outbox"}


def test_an_id_stands_for_one_answer(client: TestClient) -> None:
    campaign = a_campaign()
    first = a_line("ada", [1, 2, 3], [0, 0, 1], id="a-1")
    # As images may be named with or without their extensions.
    same = {**first, "images": ["image-001", "image-002", "image-003"], "seconds": 3}
    report = bring(campaign, [first, same, a_line("ada", [1, 2, 3], [0, 0, 1], id=2)])
    assert (report.n_new, report.n_known) == (2, 1)
    other = {**first, "groups": [0, 1, 1]}
    message = refusal(campaign, [other])
    assert "Line 1: Its id 'a-1' was already imported with a different answer." in message
    message = refusal(campaign, [{**first, "id": "b"}, {**other, "id": "b"}])
    assert "Line 2: Line 1 has the same id 'b', but it is a different answer." in message
    message = refusal(campaign, [{**first, "annotator": "bob"}])
    assert "was already imported" in message


def test_answers_to_the_same_images_share_a_grid_and_are_compared(client: TestClient) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    images = [0, 1, 3, 4, 6]
    groups = [0, 1, 0, 1, 0]
    bring(campaign, [a_line("ada", images, groups), a_line("bob", images, groups)])
    # The same again by one of them, and by somebody who comes with a later file.
    bring(campaign, [a_line("ada", images, groups, id=1), a_line("eve", images, groups)])
    with transaction() as session:
        rows = session.execute(select(Grid.n_answers, Grid.wanted).where(Grid.round_id.in_(
            select(Round.id).where(Round.number == 0)
        )).order_by(Grid.number)).all()  # fmt: skip
    assert [tuple(row) for row in rows] == [(3, 3), (1, 1)]
    sign_in(client, owner)
    people = client.get(f"/api/v1/campaigns/{campaign.id}/annotators").json()["items"]
    assert [person["consensus"]["mean"] for person in people] == [1.0, 1.0, 1.0]
    assert broken_invariants().keys() <= {"nothing waits in the outbox"}


def test_a_draft_takes_no_answers(client: TestClient) -> None:
    owner = an_account()
    collection = a_collection(owner)
    with transaction() as session:
        draft = create_campaign(
            session, owner, CampaignPlan(name="Draft", collection_id=collection.id)
        )
    with pytest.raises(BadState, match="Start it before you import answers"):
        bring(draft, [GOOD])


def test_only_who_may_change_a_campaign_imports(client: TestClient) -> None:
    owner, eve = an_account(), an_account("eve@example.org")
    campaign = a_campaign(owner)
    with pytest.raises(NotFound), transaction() as session:
        import_answers(session, eve, campaign.id, packed([GOOD]))
    with transaction() as session:
        share_campaign(session, owner, campaign, eve.email, "view")
    with pytest.raises(MayNotChange), transaction() as session:
        import_answers(session, eve, campaign.id, packed([GOOD]))
    assert count(Answer) == 0


def test_votes_have_the_groups_of_their_choices(client: TestClient) -> None:
    campaign = a_campaign(
        kind="select", strategy="neucrowd", settings={"features": "features"}, budget=8
    )
    assert bring(campaign, [a_line("ada", [0, 1, 2], [0, 1, 2])]).n_new == 1
    message = refusal(campaign, [a_line("ada", [0, 1, 2], [0, 1, 3])])
    assert "whole numbers from 0 to 2" in message


def test_a_dry_run_says_what_would_be_imported_and_stores_nothing(client: TestClient) -> None:
    campaign = a_campaign()
    before = rows_of_all_tables()
    lines = [{**line, "condition": "A"} for line in by_colour(10)]
    report = bring(campaign, lines, dry_run=True)
    assert rows_of_all_tables() == before
    assert (report.n_new, report.n_annotators, report.n_new_annotators) == (10, 6, 6)
    assert (report.sizes, report.ignored) == ((4, 5), {"condition": 10})
    assert not report.is_learning
    assert bring(campaign, lines, learn=False) == report
    assert count(Job) == 0


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


def test_the_command_imports_a_file(client: TestClient, tmp_path: Path) -> None:
    campaign = a_campaign(name="Birds")
    file = tmp_path / "birds.jsonl.gz"
    file.write_bytes(gzip.compress(packed(by_colour(40)).getvalue()))
    run = CliRunner()
    tried = run.invoke(cli, ["import-answers", "Birds", str(file), "--dry-run"])
    assert tried.exit_code == 0, tried.exception
    assert "Birds: 40 answers would be imported from 6 annotators (6 new)" in tried.output
    assert count(Answer) == 0
    done = run.invoke(cli, ["import-answers", str(campaign.id), str(file)])
    assert done.exit_code == 0, done.exception
    assert done.output.splitlines() == [
        "Birds: 40 answers were imported from 6 annotators (6 new), grids of 4 to 5 images.",
        "A model is being learned from the answers.",
        f"  http://testserver/campaigns/{campaign.id}",
    ]
    again = run.invoke(cli, ["import-answers", "Birds", str(file)])
    assert again.output.startswith(
        "Birds: 0 answers were imported.\n40 answers were already there.\n"
    )
    file.write_text('{"annotator": 1, "images": ["x.png", "image-000"], "groups": [0, 0]}')
    wrong = run.invoke(cli, ["import-answers", "Birds", str(file)])
    assert isinstance(wrong.exception, BadAnswerFile)
    assert "'x.png' (line 1)" in str(wrong.exception)
    missing = run.invoke(cli, ["import-answers", "Birds", str(tmp_path / "none.jsonl")])
    assert isinstance(missing.exception, InvalidInput)
    with transaction() as session:
        assert read_progress(session, session.get_one(Campaign, campaign.id)).n_annotators == 6
