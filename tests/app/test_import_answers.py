"""Answers collected elsewhere: stored like any other, once, and only if the whole file is right."""

import gzip
import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select
from typer.testing import CliRunner

from app.accounts.models import AuditEvent
from app.annotation.importing.problems import BadAnswerFile
from app.annotation.importing.service import import_answers
from app.annotation.models import Annotator, AnnotatorIdentity, Answer, Assignment
from app.campaigns.models import Campaign, Grid, Round
from app.campaigns.plan import CampaignPlan
from app.campaigns.service import BadState, create_campaign
from app.campaigns.sharing import MayNotChange, share_campaign
from app.core.database import transaction
from app.core.errors import InvalidInput, NotFound
from app.jobs.models import Job
from app.recruitment.models import Payment
from app.results.service import read_progress
from likewise.cli import cli
from testbed.builders import (
    a_campaign,
    a_collection,
    an_account,
    reloaded,
    sign_in,
)
from testbed.invariants import broken_invariants
from tests.app.test_annotation import a_lease, a_session, submit
from tests.support.answer_files import (
    GOOD,
    a_line,
    bring,
    by_colour,
    count,
    packed,
    refusal,
    rows_of_all_tables,
)


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
