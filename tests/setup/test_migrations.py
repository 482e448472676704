"""Migrations: they agree with the models, and run down and up on a database that holds data."""

import os
import uuid

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from app.campaigns.known import practice_grid
from app.campaigns.models import Campaign
from app.core import database
from app.core.database import transaction
from app.recruitment.models import ChannelCall
from app.strategies import get_strategy
from app.strategies.base import check_settings
from app.tables import metadata
from testbed.builders import a_campaign, a_recruitment, an_account, reloaded
from testbed.servers import Servers
from tests.app.test_annotation import a_lease, a_session, submit
from tests.app.test_crowdster_strategy import run_job
from tests.conftest import forget_settings
from tests.support.answer_files import bring, by_colour
from tests.support.migrations import alembic, answers, migrate, query, rounds, settings, tables


def test_models_and_migrations_agree(environment: dict[str, str]) -> None:
    assert "No new upgrade operations detected" in alembic(environment["DATABASE_URL"], "check")


def test_down_and_up_again_on_a_database_that_holds_data(
    servers: Servers, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = servers.postgres.create_database(f"test_{uuid.uuid4().hex}")
    database.get_engine().dispose()
    monkeypatch.setenv("DATABASE_URL", url)
    forget_settings()
    try:
        alembic(url, "upgrade", "head")
        campaign = a_campaign()
        assert reloaded(campaign.id).n_images == 30
        database.get_engine().dispose()

        alembic(url, "downgrade", "base")
        assert tables(url) == {"alembic_version"}
        alembic(url, "upgrade", "head")
        assert tables(url) == {*metadata.tables, "alembic_version"}
        assert "No new upgrade operations detected" in alembic(url, "check")
        with transaction() as session:
            assert [session.query(table).count() for table in metadata.sorted_tables] == [0] * len(
                metadata.tables
            )
    finally:
        database.get_engine().dispose()
        servers.drop_database(url)


def test_cen_settings_are_translated_both_ways(environment: dict[str, str]) -> None:
    url = environment["DATABASE_URL"]
    a_campaign(settings={"n_dimensions": 3, "attribute_share": 0.25, "uncertain_share": 0.25})
    migrate(url, "downgrade", "0001")
    assert settings(url) == {"n_dimensions": 3, "variant": "mixture", "random_share": 0.5}
    migrate(url, "upgrade", "head")
    assert settings(url) == {
        "n_dimensions": 3,
        "variant": "mixture",
        "attribute_share": 0.5,
        "uncertain_share": 0.0,
        "focus": None,
        "model": "default",
    }


@pytest.mark.parametrize(
    ("chosen", "before"), [({"n_dimensions": 1, "start_from": "features"}, 2), ({}, 3)]
)
def test_crowdster_settings_are_translated_both_ways(
    environment: dict[str, str], chosen: dict[str, object], before: int
) -> None:
    url = environment["DATABASE_URL"]
    a_campaign(kind="bins", strategy="crowdster", settings=chosen)
    migrate(url, "downgrade", "0002")
    # What 0002 knew, and no less than the two dimensions it asked for.
    assert settings(url) == {"n_dimensions": before, "beta": 4.0}
    migrate(url, "upgrade", "head")
    after = settings(url)
    assert after == {"n_dimensions": before, "beta": 4.0, "algorithm": "paper", "random_share": 0}
    assert check_settings(get_strategy("crowdster"), after)["random_share"] == 0.0


def test_answers_outlive_a_downgrade_in_one_open_round(client: TestClient) -> None:
    url = os.environ["DATABASE_URL"]
    campaign = a_campaign(budget=9, rounds=3)
    slow, quick = (a_session(client, campaign, f"annotator-{k:06d}") for k in range(2))
    held = a_lease(client, slow)
    # Of the first round all but the grid that is held, and one of the round that lies ready.
    for _ in range(3):
        assert submit(client, quick, a_lease(client, quick)).json()["status"] == "stored"
    before = answers(url)
    assert rounds(url) == [(1, "open", 2, 3), (2, "ready", 1, 3)]
    migrate(url, "downgrade", "0002")
    assert answers(url) == before
    assert rounds(url) == [(1, "closed", 2, 2), (2, "open", 1, 4)]
    assert query(url, "SELECT n_answers FROM campaign") == [(3,)]
    # The grid that is held lies where grids are handed out.
    [(number,)] = query(
        url,
        "SELECT round.number FROM answer JOIN grid ON grid.id = grid_id "
        "JOIN round ON round.id = round_id WHERE answer.state = 'leased'",
    )
    assert number == 2
    migrate(url, "upgrade", "head")
    assert submit(client, slow, held).json()["status"] == "stored"
    assert rounds(url) == [(1, "closed", 2, 2), (2, "open", 2, 4)]


def test_a_round_without_answers_does_no_harm_after_a_downgrade(client: TestClient) -> None:
    url = os.environ["DATABASE_URL"]
    campaign = a_campaign(kind="bins", strategy="crowdster", budget=4, rounds=2)
    holders = [a_session(client, campaign, f"annotator-{k:06d}") for k in range(2)]
    held = [(who, a_lease(client, who)) for who in holders]
    quick = a_session(client, campaign, "annotator-000009")
    assert submit(client, quick, a_lease(client, quick)).json()["status"] == "stored"
    migrate(url, "downgrade", "0002")
    assert rounds(url) == [(1, "closed", 0, 0), (2, "open", 1, 4)]
    migrate(url, "upgrade", "head")
    for who, lease in [*held, (quick, a_lease(client, quick))]:
        assert submit(client, who, lease).json()["status"] == "stored"
    run_job()
    assert query(url, "SELECT state FROM campaign") == [("finished",)]


def test_a_round_nobody_has_begun_is_made_again_after_a_downgrade(client: TestClient) -> None:
    url = os.environ["DATABASE_URL"]
    campaign = a_campaign(budget=6, rounds=3)
    who = a_session(client, campaign)
    migrate(url, "downgrade", "0002")
    assert rounds(url) == [(1, "open", 0, 2)]
    migrate(url, "upgrade", "head")
    for _ in range(2):
        assert submit(client, who, a_lease(client, who)).json()["status"] == "stored"
    assert rounds(url) == [(1, "closed", 2, 2)]


def test_a_full_round_that_waits_for_its_model_is_closed_by_the_upgrade(
    client: TestClient,
) -> None:
    url = os.environ["DATABASE_URL"]
    campaign = a_campaign(budget=4, rounds=2, ready_share=0.0)
    who = a_session(client, campaign)
    for _ in range(2):
        assert submit(client, who, a_lease(client, who)).json()["status"] == "stored"
    migrate(url, "downgrade", "0002")
    assert rounds(url) == [(1, "open", 2, 2)]
    migrate(url, "upgrade", "head")
    assert rounds(url) == [(1, "closed", 2, 2)]


def test_downgrading_0004_drops_checks_and_keeps_what_was_asked(client: TestClient) -> None:
    url = os.environ["DATABASE_URL"]
    campaign = a_campaign(
        budget=20,
        annotation={"known_attribute": "colour", "gold_share": 0.5, "practice": 1, "measures": []},
    )
    with transaction() as session:
        assert practice_grid(session, session.get_one(Campaign, campaign.id), 0) is not None
        now = {**campaign.annotation, "practice": 0}
        session.execute(update(Campaign).values(annotation=now))
    who = a_session(client, campaign)
    for _ in range(6):
        assert submit(client, who, a_lease(client, who)).status_code == 200
    asked = query(
        url,
        "SELECT answer.id, grid_id, state, groups FROM answer JOIN grid ON grid.id = grid_id "
        "WHERE role = 'ask' ORDER BY answer.id",
    )
    assert len(asked) == 3
    assert len(answers(url)) == 6
    migrate(url, "downgrade", "0003")
    assert answers(url) == asked
    assert query(url, "SELECT n_answered FROM assignment") == [(6,)]
    migrate(url, "upgrade", "head")
    assert answers(url) == asked
    assert query(url, "SELECT DISTINCT role FROM grid") == [("ask",)]


def test_0010_makes_links_of_campaigns_and_books_what_is_owed(client: TestClient) -> None:
    url = os.environ["DATABASE_URL"]
    campaign = a_campaign(budget=4, grids_per_assignment=3, reward_cents=100)
    whole, part = (a_session(client, campaign, f"annotator-{k:06d}") for k in range(2))
    for who in (whole, whole, whole, part):
        assert submit(client, who, a_lease(client, who)).status_code == 200
    # Nothing is left: what was done is the whole assignment.
    assert client.post("/api/v1/annotate/leases", headers=part).json()["status"] == "done"
    books = "SELECT kind, rule, amount_cents, state, created_at FROM payment ORDER BY id"
    before = query(url, books)
    assert [row[2] for row in before] == [100, 34]
    migrate(url, "downgrade", "0009")
    assert "payment" not in tables(url)
    assert query(url, "SELECT n_answered, state FROM assignment ORDER BY id") == [
        (3, "completed"),
        (1, "completed"),
    ]
    migrate(url, "upgrade", "head")
    assert [row[:4] for row in query(url, books)] == [row[:4] for row in before]
    link = "SELECT channel, state, places, reward_cents, currency FROM recruitment"
    assert query(url, link) == [("link", "open", 0, 100, "USD")]
    assert query(url, "SELECT count(*) FROM assignment WHERE recruitment_id IS NULL") == [(0,)]
    # The old address, and who came by it.
    again = a_session(client, campaign, "annotator-000001")
    assert client.post("/api/v1/annotate/leases", headers=again).json()["answered"] == 0
    assert query(url, "SELECT n_annotators FROM campaign") == [(2,)]


def test_downgrading_0011_makes_grids_of_votes_and_keeps_answers(client: TestClient) -> None:
    url = os.environ["DATABASE_URL"]
    known = {"known_attribute": "colour", "known_value": "red", "gold_share": 0.5}
    campaign = a_campaign(
        kind="select",
        strategy="neucrowd",
        settings={"features": "features"},
        budget=20,
        annotation=known,
    )
    who = a_session(client, campaign)
    for _ in range(4):
        assert submit(client, who, a_lease(client, who)).json()["status"] == "stored"
    before = answers(url)
    migrate(url, "downgrade", "0010")
    assert answers(url) == before
    rows = query(url, "SELECT kind, strategy, max_groups, annotation FROM campaign")
    [(kind, strategy, max_groups, annotation)] = rows
    assert (kind, strategy, max_groups) == ("grid", "cen", 3)
    assert "known_value" not in annotation
    assert annotation["known_attribute"] == "colour"
    migrate(url, "upgrade", "head")
    assert answers(url) == before
    again = a_session(client, campaign, "annotator-000002")
    assert submit(client, again, a_lease(client, again)).json()["status"] == "stored"


def test_downgrading_0015_keeps_all_but_imported_answers_which_can_come_again(
    client: TestClient,
) -> None:
    url = os.environ["DATABASE_URL"]
    campaign = a_campaign(budget=20)
    who = a_session(client, campaign)
    for _ in range(2):
        assert submit(client, who, a_lease(client, who)).json()["status"] == "stored"
    asked = answers(url)
    lines = by_colour(12)
    bring(campaign, lines)
    assert len(answers(url)) == 14
    people = query(url, "SELECT id, position FROM annotator ORDER BY position")
    migrate(url, "downgrade", "0014")
    assert answers(url) == asked
    assert rounds(url) == [(1, "open", 2, 20)]
    assert query(url, "SELECT channel, n_answered FROM assignment") == [("link", 2)]
    migrate(url, "upgrade", "head")
    assert answers(url) == asked
    assert submit(client, who, a_lease(client, who)).json()["status"] == "stored"
    # The same people, by their numbers.
    assert bring(campaign, lines).n_new == 12
    assert query(url, "SELECT id, position FROM annotator ORDER BY position") == people
    assert query(url, "SELECT n_answers, n_imported FROM campaign") == [(3, 12)]


def test_0018_renames_what_a_channel_call_asks_for_and_keeps_the_calls(
    environment: dict[str, str],
) -> None:
    url = environment["DATABASE_URL"]
    owner = an_account()
    recruitment = a_recruitment(owner, a_campaign(owner))
    with transaction() as session:
        session.add_all(
            ChannelCall(recruitment_id=recruitment.id, action=action)
            for action in ("publish", "notify")
        )
    before = query(url, "SELECT id, action, state FROM channel_call ORDER BY id")
    assert {action for _, action, _ in before} == {"publish", "notify"}
    migrate(url, "downgrade", "0017")
    assert query(url, "SELECT id, deed, state FROM channel_call ORDER BY id") == before
    migrate(url, "upgrade", "head")
    assert query(url, "SELECT id, action, state FROM channel_call ORDER BY id") == before
