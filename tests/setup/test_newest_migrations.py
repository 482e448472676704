"""Migrations 0023 to 0032 run down and up on a database that holds data."""

import os

from fastapi.testclient import TestClient
from sqlalchemy import text

from app.campaigns.annotation_settings import annotation_of
from app.campaigns.links import link_address
from app.core.database import transaction
from app.features.reading import features_wanted
from app.recruitment.links import LinkPlan, make_link
from likewise.commands.demo import EMOJI_CAMPAIGN
from testbed.builders import (
    a_campaign,
    a_collection,
    a_draft,
    a_recruitment,
    an_account,
    reloaded,
    sign_in,
)
from testbed.invariants import broken_invariants
from tests.app.test_annotation import a_lease, a_session, submit
from tests.app.test_asking_again import CHECKED, decide
from tests.app.test_asking_again import answer as answer_grids
from tests.app.test_rounds import learned
from tests.app.test_split_half import a_measured_campaign
from tests.support.feature_sets import a_vector_table, random_values, uploaded
from tests.support.migrations import migrate, query, tables
from tests.support.questions import AGE, answer_age


def test_downgrading_0023_leaves_links_that_the_release_before_can_read(
    client: TestClient,
) -> None:
    url = os.environ["DATABASE_URL"]
    owner = an_account()
    campaign = a_campaign(owner)
    known = {
        "parameters": [{"name": "id"}, {"name": "source"}],
        "person": "id",
        "returns": {"completed": "https://panel.example.org/?id={id}"},
        "framed_by": ["https://panel.example.org"],
        "per_device": 2,
    }
    with transaction() as session:
        link = make_link(session, owner, campaign.id, LinkPlan(settings=known))
        address = link_address(link.link_token, "").removeprefix("/a/")
    body = {"link": address, "annotator_key": "browser-00000001", "query": "id=7&source=class"}
    assert client.post("/api/v1/annotate/sessions", json=body).status_code == 201
    assert query(url, "SELECT values FROM link_parameters") == [({"source": "class"},)]
    migrate(url, "downgrade", "0022")
    settings = query(url, "SELECT settings FROM recruitment WHERE name = 'Link' ORDER BY id")
    assert settings[-1] == ({"access": "open", "per_device": 2},)
    migrate(url, "upgrade", "head")
    assert query(url, "SELECT count(*) FROM link_parameters") == [(0,)]
    # People who come again are known by their browser, as on any link.
    assert client.post("/api/v1/annotate/sessions", json=body).status_code == 201


def test_0025_goes_down_and_up_with_people_who_answered(
    client: TestClient, environment: dict[str, str]
) -> None:
    url = environment["DATABASE_URL"]
    campaign = a_campaign(annotation={"questions_before": [AGE]})
    answer_age(client, a_session(client, campaign), 30)
    answer_age(client, a_session(client, campaign, "annotator-000002"), 17)
    states = "SELECT state FROM assignment ORDER BY created_at"
    assert query(url, states) == [("open",), ("screened_out",)]
    migrate(url, "downgrade", "0022")
    assert query(url, states) == [("open",), ("returned",)]
    assert "questionnaire" not in tables(url)
    migrate(url, "upgrade", "head")
    assert query(url, "SELECT count(*) FROM questionnaire_reply") == [(0,)]
    # Replies are gone with the tables, so that people are asked again.
    answer_age(client, a_session(client, campaign), 30)
    assert query(url, "SELECT count(*) FROM questionnaire_reply") == [(1,)]


def test_0024_finds_the_names_of_classes_again(environment: dict[str, str]) -> None:
    url = environment["DATABASE_URL"]
    a_campaign(kind="classify", strategy="neucrowd", classes=["cat", "dog"])
    migrate(url, "downgrade", "0023")
    named = "SELECT column_name FROM information_schema.columns WHERE table_name = 'campaign'"
    assert ("classes",) not in query(url, named)
    migrate(url, "upgrade", "head")
    assert query(url, "SELECT classes FROM campaign") == [(["cat", "dog"],)]
    assert "campaign_classes_of_0024" not in tables(url)


def test_0026_keeps_what_was_recruited_on_a_newer_channel(environment: dict[str, str]) -> None:
    url = environment["DATABASE_URL"]
    owner = an_account()
    a_recruitment(owner, a_campaign(owner), "prolific")
    with transaction() as session:
        session.execute(text("UPDATE recruitment SET channel = 'board' WHERE channel <> 'link'"))
        session.execute(text("UPDATE channel_account SET channel = 'board'"))
    on_board = "SELECT count(*) FROM recruitment WHERE channel = 'board'"
    migrate(url, "downgrade", "0025")
    assert query(url, on_board) == [(1,)]
    migrate(url, "upgrade", "head")
    assert query(url, on_board) == [(1,)]


def test_0027_asks_nobody_in_campaigns_that_have_started(environment: dict[str, str]) -> None:
    url = environment["DATABASE_URL"]
    owner = an_account()
    plain = a_campaign(owner)
    translated = a_campaign(owner, annotation={"translations": {"de": {}}})
    a_draft(owner)
    migrate(url, "downgrade", "0026")
    keys = "SELECT count(*) FROM campaign, jsonb_object_keys(annotation) key WHERE key = ANY(%s)"
    new = "ARRAY['quick_pause', 'translations', 'text_language', 'alt_text_attribute']"
    assert query(url, keys.replace("%s", new)) == [(0,)]
    migrate(url, "upgrade", "head")
    pauses = "SELECT annotation -> 'quick_pause' FROM campaign ORDER BY created_at"
    assert query(url, pauses) == [(0,), (0,), (None,)]
    for campaign in (plain, translated):
        assert annotation_of(reloaded(campaign.id).annotation).quick_pause == 0


def test_0028_lists_the_features_of_tables_and_leaves_them_where_they_are(
    client: TestClient, environment: dict[str, str]
) -> None:
    url = environment["DATABASE_URL"]
    owner = an_account()
    sign_in(client, owner)
    collection = a_collection(owner)
    campaign = a_campaign(owner, collection, strategy="scdc", settings={"features": "features"})
    clip = a_vector_table(random_values(30))
    uploaded(client, campaign.collection_id, clip)
    learning = a_draft(owner, collection, settings={"features": "clip"},
                       strategy="scdc")  # fmt: skip
    features = "SELECT features FROM image ORDER BY position"
    before = query(url, features)
    migrate(url, "downgrade", "0027")
    assert not {"feature_set", "feature_shard"} & tables(url)
    assert query(url, features) == before
    chosen = "SELECT settings ->> 'features' FROM campaign ORDER BY created_at"
    assert query(url, chosen) == [("features",), ("appearance",)]
    migrate(url, "upgrade", "head")
    assert query(url, features) == before
    sets = "SELECT name, kind, state, n_features, n_known, n_done FROM feature_set"
    assert query(url, sets) == [("features", "table", "done", 2, 30, 30)]
    with transaction() as session:
        assert features_wanted(session, campaign, "features")() is not None
    assert reloaded(learning.id).settings["features"] == "appearance"
    uploaded(client, campaign.collection_id, clip)


def test_0028_takes_back_settings_that_the_release_before_refuses(
    environment: dict[str, str],
) -> None:
    url = environment["DATABASE_URL"]
    owner = an_account()
    a_draft(owner, settings={"features": "objects"})
    a_draft(owner, strategy="scdc", settings={"features": "objects"})
    a_draft(owner, strategy="scdc", settings={"features": "grey"})
    migrate(url, "downgrade", "0027")
    chosen = "SELECT settings ->> 'features' FROM campaign ORDER BY created_at"
    assert query(url, chosen) == [(None,), ("appearance",), ("grey",)]
    migrate(url, "upgrade", "head")


def test_0030_makes_drafts_of_campaigns_whose_images_are_not_chosen(
    environment: dict[str, str],
) -> None:
    url = environment["DATABASE_URL"]
    owner = an_account()
    a_campaign(owner)
    a_campaign(owner, ask_about=10, ask_by="features")
    migrate(url, "downgrade", "0029")
    states = "SELECT state, n_images, started_at IS NULL FROM campaign ORDER BY created_at"
    assert query(url, states) == [("running", 30, False), ("draft", 0, True)]
    assert query(url, "SELECT count(*) FROM job WHERE kind = 'choose'") == [(0,)]
    migrate(url, "upgrade", "head")


def test_0031_gives_places_that_are_asked_again_their_answers_back(
    client: TestClient, environment: dict[str, str]
) -> None:
    url = environment["DATABASE_URL"]
    owner = an_account()
    sign_in(client, owner)
    campaign = a_campaign(owner, budget=4, rounds=1)
    answer_grids(client, campaign, "annotator-000001", 4)
    learned(campaign, 1)
    decide(client, campaign, "leave_out")
    answer_grids(client, campaign, "annotator-000002", 1)
    totals = "SELECT state, n_answers, n_surplus FROM campaign"
    assert query(url, totals) == [("running", 1, 4)]
    migrate(url, "downgrade", "0030")
    assert query(url, totals) == [("finished", 4, 1)]
    assert query(url, "SELECT state, n_answers FROM round") == [("closed", 4)]
    assert query(url, "SELECT DISTINCT n_answers FROM grid WHERE role = 'ask'") == [(1,)]
    states = "SELECT state, count(*) FROM answer GROUP BY state ORDER BY state"
    assert query(url, states) == [("submitted", 4), ("surplus", 1)]
    migrate(url, "upgrade", "head")
    assert not broken_invariants(CHECKED)
    # The annotator is still left out, and may be asked again for what counts.
    assert query(url, "SELECT count(*) FROM annotator WHERE left_out_at IS NOT NULL") == [(1,)]
    decide(client, campaign, "leave_out")
    assert query(url, totals) == [("running", 1, 4)]


def test_0031_leaves_no_campaign_that_nothing_moves_on(
    client: TestClient, environment: dict[str, str]
) -> None:
    url = environment["DATABASE_URL"]
    owner = an_account()
    sign_in(client, owner)
    campaign = a_campaign(owner, budget=6, rounds=2)
    answer_grids(client, campaign, "annotator-000001", 1)
    answer_grids(client, campaign, "annotator-000002", 1)
    honest = a_session(client, campaign, "annotator-000002")
    last = a_lease(client, honest)
    decide(client, campaign, "leave_out")
    # All of the first round's grids but the one that is asked again are answered.
    submit(client, honest, last)
    states = "SELECT state, n_answers, n_wanted FROM round ORDER BY number"
    assert query(url, states)[0] == ("open", 2, 3)
    migrate(url, "downgrade", "0030")
    assert query(url, states)[0] == ("closed", 3, 3)
    [(campaign_state,)] = query(url, "SELECT state FROM campaign")
    rounds = [state for state, *_ in query(url, states)]
    assert (
        campaign_state == "finished"
        or "open" in rounds
        or query(url, "SELECT 1 FROM job WHERE state IN ('queued', 'running')")
    )
    migrate(url, "upgrade", "head")


def test_0032_marks_the_demo_that_came_first(environment: dict[str, str]) -> None:
    url = environment["DATABASE_URL"]
    owner = an_account()
    demo = a_campaign(owner, name=EMOJI_CAMPAIGN, budget=240)
    a_campaign(owner, name=EMOJI_CAMPAIGN, budget=240)
    a_campaign(owner, name="300 colours")
    migrate(url, "downgrade", "0031")
    migrate(url, "upgrade", "head")
    assert query(url, "SELECT id FROM campaign WHERE is_demo") == [(demo.id,)]


def test_0035_leaves_no_setting_or_job_that_the_earlier_version_refuses(
    client: TestClient, environment: dict[str, str]
) -> None:
    url = environment["DATABASE_URL"]
    a_measured_campaign(client, target=0.99)
    measured = "SELECT settled IS NOT NULL, settings ? 'settled_target' FROM model"
    assert query(url, measured) == [(True, True)]
    migrate(url, "downgrade", "0034")
    assert query(url, "SELECT count(*) FROM job WHERE kind = 'split_half'") == [(0,)]
    for settings in (
        "SELECT settings ? 'settled_target' FROM campaign",
        "SELECT settings ? 'settled_target' FROM model",
    ):
        assert query(url, settings) == [(False,)]
    migrate(url, "upgrade", "head")
    # What was measured is lost, and the next round is measured again.
    assert query(url, "SELECT settled FROM model") == [(None,)]
