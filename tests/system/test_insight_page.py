"""The results beyond the map in a browser: strips, evidence, clusters, comparison, annotators."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import select

from app.accounts.models import Account, AuditEvent
from app.accounts.service import create_sign_in_link
from app.annotation.models import AnnotatorIdentity
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.results.models import Clustering
from testbed.builders import a_campaign, an_account, reloaded
from testbed.servers import ROOT
from testbed.system import System, wait_until
from tests.app.test_annotation import a_lease, a_session, submit
from tests.app.test_insight import INSIGHT, NONE, POOLED, a_model

pytestmark = pytest.mark.browser
AXE = ROOT / "frontend/node_modules/axe-core/axe.min.js"
KINDS = np.repeat([0, 1, 2], 10)
NAMES = ["round", "pointed", "striped"]


@pytest.fixture
def owner(web: System) -> Account:
    return an_account()


@pytest.fixture
def campaign(owner: Account) -> Campaign:
    from app.main import app

    with TestClient(app) as client:
        return a_sorted_campaign(client, owner)


def a_sorted_campaign(client: TestClient, owner: Account) -> Campaign:
    """Three kinds of image, sorted by two annotators; two models of them."""
    campaign = a_campaign(owner, budget=20, answers_per_grid=2)
    for k in range(2):
        who = a_session(client, campaign, f"annotator-{k:06d}")
        for _ in range(10):
            lease = a_lease(client, who)
            kinds = [int(KINDS[shown["image"]]) for shown in lease["images"]]
            used = sorted(set(kinds))
            groups = [used.index(kind) for kind in kinds]
            words = [NAMES[kind] for kind in used]
            reply = submit(client, who, lease, groups=groups, descriptions=words, elapsed_ms=20_000)
            assert reply.status_code == 200, reply.text
    rng = np.random.default_rng(0)
    places = np.array([[0, 0, 0], [9, 0, 3], [0, 0, 9]])[KINDS] + rng.normal(
        size=(30, 3), scale=0.2
    )
    moved = places.copy()
    moved[4] = places[25]
    insight = {**INSIGHT, "annotators": INSIGHT["annotators"][:2]}
    quality = {"held_out_accuracy": 0.6, "held_out_accuracy_error": 0.05}
    a_model(campaign, moved, insight, metrics=quality)
    a_model(campaign, places, insight, version=2, metrics=quality)
    return campaign


@pytest.fixture
def page(browser: Browser, web: System, owner: Account) -> Iterator[Page]:
    """Signed in, on a phone; complains about errors in the page and the console."""
    context = browser.new_context(viewport={"width": 400, "height": 900})
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console",
        lambda message: complaints.append(message.text) if message.type == "error" else None,
    )
    with transaction() as session:
        page.goto(create_sign_in_link(session, owner, web.base_url))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    yield page
    context.close()
    assert complaints == []


def is_fine(page: Page) -> None:
    """Nothing to scroll sideways, and nothing that axe finds."""
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    page.evaluate(Path(AXE).read_text())
    violations = page.evaluate("axe.run().then(all => all.violations.map(one => one.id))")
    assert violations == []


def test_from_a_strip_to_evidence_clusters_comparison_and_a_decision(
    page: Page, web: System, campaign: Campaign, owner: Account
) -> None:
    root = f"{web.base_url}/campaigns/{campaign.id}"
    see_strips(page, root)
    see_evidence(page)
    make_name_and_merge_clusters(page, root)
    compare_models(page, root)
    see_curves(page, root)
    see_preferences_and_decide(page, root, owner)
    forget_people(page, root)


def see_strips(page: Page, root: str) -> None:
    page.goto(f"{root}/attributes")
    strips = page.get_by_role("region", name="What people see")
    expect(strips.get_by_role("heading", level=3)).to_have_text(["=cmd() – blue", "huge"])
    expect(strips).to_contain_text("60 % of the answers")
    first = strips.get_by_role("group", name="Images along =cmd() – blue")
    expect(first.get_by_role("img")).to_have_count(21)
    loaded = "all => all.every(one => one.complete && one.naturalWidth > 0)"
    first.scroll_into_view_if_needed()
    images = first.get_by_role("link")
    images.last.scroll_into_view_if_needed()
    wait_until("images", lambda: first.get_by_role("img").evaluate_all(loaded))
    boxes = [box for box in (image.bounding_box() for image in images.all()) if box]
    assert all(box["x"] + box["width"] <= other["x"] + 0.5 for box, other in pairwise(boxes)), (
        "images of a strip overlap"
    )
    assert boxes[0]["width"] > 1.5 * boxes[10]["width"]
    images.last.hover()
    expect(page.locator("figure.preview img")).to_be_visible()
    is_fine(page)


def see_evidence(page: Page) -> None:
    strips = page.get_by_role("group", name="Images along huge")
    with page.expect_navigation():
        strips.get_by_role("link").first.click()
    assert re.search(r"/map\?selected=\d+$", page.url)
    # Of image 0 in any case, whatever the map does with the address.
    page.get_by_label("Find an image").fill("image-000.png")
    neighbours = page.get_by_test_id("neighbours")
    expect(neighbours).to_contain_text("Nearest to image-000.png")
    expect(neighbours.get_by_role("listitem")).to_have_count(10)
    buttons = neighbours.get_by_role("button", name=re.compile("[1-9] together"))
    buttons.first.click()
    dialog = page.get_by_role("dialog", name="Together or apart?")
    expect(dialog.get_by_test_id("evidence")).to_contain_text(re.compile("In [0-9]+ answers?"))
    expect(dialog.get_by_text("together", exact=True).first).to_be_visible()
    expect(dialog.get_by_text("“round”").first).to_be_visible()
    dialog.get_by_role("button", name="Play back").first.click()
    expect(dialog.get_by_test_id("replay").get_by_role("img")).to_have_count(6)
    is_fine(page)
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_be_hidden()


def make_name_and_merge_clusters(page: Page, root: str) -> None:
    page.goto(f"{root}/clusters")
    page.get_by_role("button", name="Suggest a number").click()
    expect(page.get_by_role("status")).to_contain_text("3 clusters separate the images best")
    expect(page.get_by_role("spinbutton", name="Clusters")).to_have_value("3")
    page.get_by_role("button", name="Make clusters").click()
    expect(page.get_by_test_id("clustering")).to_contain_text("3 clusters of 30 images")
    cards = page.locator("article[data-cluster]")
    expect(cards).to_have_count(3)
    descriptions = cards.locator(".words").all_inner_texts()
    assert sorted(description.split(": ")[1] for description in descriptions) == sorted(NAMES)
    with page.expect_response(lambda reply: reply.request.method == "PATCH"):
        name = cards.first.get_by_role("textbox")
        name.fill("<b>mine</b>")
        name.press("Enter")
    for at in (0, 2):
        cards.nth(at).get_by_role("checkbox").check()
    page.get_by_role("button", name="Merge 2 clusters").click()
    expect(page.get_by_test_id("clustering")).to_contain_text("2 clusters of 30 images")
    expect(cards.first.get_by_role("textbox")).to_have_value("<b>mine</b>")
    expect(cards.first).to_contain_text("20 images")
    is_fine(page)
    page.get_by_role("button", name="Undo merge").click()
    expect(cards).to_have_count(3)
    page.reload()
    expect(cards).to_have_count(2)
    with transaction() as session:
        sizes = [len(clustering.clusters) for clustering in session.scalars(select(Clustering))]
    assert sorted(sizes) == [2, 3]


def compare_models(page: Page, root: str) -> None:
    page.goto(f"{root}/compare")
    figures = page.get_by_test_id("comparison")
    expect(figures.get_by_role("row")).to_have_count(4)
    expect(figures).to_contain_text("Rank correlation of distances")
    moved = page.get_by_role("listitem").get_by_role("img")
    expect(moved.first).to_have_attribute("alt", "image-004.png")
    expect(page.get_by_role("img", name=re.compile("^Map of Model 2"))).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("^Map of Model 1, aligned"))).to_be_visible()
    is_fine(page)


def see_curves(page: Page, root: str) -> None:
    page.goto(f"{root}/quality")
    chart = page.get_by_role("img", name=re.compile("60 % ± 5 % at 2 answers"))
    expect(chart.locator("circle")).to_have_count(2)
    expect(chart.locator("path.error")).to_have_count(2)
    page.get_by_text("Figures").first.click()
    expect(page.get_by_role("cell", name="60 % ± 5 %")).to_have_count(2)
    is_fine(page)


def see_work_by_its_address(page: Page, root: str) -> None:
    """As from "View the work" on Recruit. What is loaded above does not push it out of view, also
    in browsers without scroll anchoring."""
    page.goto("about:blank")
    page.add_init_script(
        "addEventListener('DOMContentLoaded',"
        " () => { document.documentElement.style.overflowAnchor = 'none' })"
    )
    page.goto(f"{root}/annotators#play-1")
    expect(page.get_by_role("group", name="Preference heatmap")).to_be_attached()
    title = page.get_by_role("heading", name="Annotator 1 at work")
    expect(page.get_by_test_id("replay").get_by_role("img")).to_have_count(6)
    expect(title).to_be_in_viewport()
    # Columns and colours are the annotator's.
    tiles = page.get_by_test_id("replay").get_by_role("list").first
    columns = tiles.evaluate("all => getComputedStyle(all).gridTemplateColumns.split(' ').length")
    assert columns == int(tiles.get_attribute("data-columns") or 0) == 6


def see_preferences_and_decide(page: Page, root: str, owner: Account) -> None:
    page.goto(f"{root}/annotators")
    heatmap = page.get_by_role("group", name="Preference heatmap")
    expect(heatmap.locator("tbody tr")).to_have_count(2)
    shade = "all => all.map(one => getComputedStyle(one).backgroundColor)"
    strong, weak = heatmap.locator("tbody tr").first.locator("td").evaluate_all(shade)
    assert strong != weak, "the CSP forbids the shades"
    expect(heatmap.get_by_role("cell", name="70 %")).to_have_count(2)
    heatmap.get_by_role("button", name="huge").click()
    expect(heatmap.get_by_role("columnheader", name="huge")).to_have_attribute(
        "aria-sort", "descending"
    )
    work = page.get_by_role("group", name="Annotators' work")
    expect(work.get_by_role("columnheader", name="Seconds")).to_be_visible()
    work.get_by_role("button", name="Play back annotator 1").click()
    expect(page.get_by_test_id("replay").get_by_role("img")).to_have_count(6)
    see_work_by_its_address(page, root)
    work.get_by_role("button", name="Decide about annotator 1").click()
    dialog = page.get_by_role("dialog", name="Decide about annotator 1")
    dialog.get_by_role("radio", name=re.compile("^Stop")).check()
    dialog.get_by_role("button", name="Save decision").click()
    expect(dialog).to_be_visible()  # Without a reason nothing is done.
    dialog.get_by_label("Why?").fill("one group, again")
    dialog.get_by_role("button", name="Save decision").click()
    expect(dialog).to_be_hidden()
    row = work.get_by_role("row").filter(has=page.get_by_role("rowheader", name="1", exact=True))
    expect(row).to_contain_text("stopped")
    expect(row).to_contain_text("one group, again")
    is_fine(page)
    with transaction() as session:
        event = session.scalars(
            select(AuditEvent).where(AuditEvent.action == "annotator.stop")
        ).one()
    assert (event.account_id, event.details["reason"]) == (owner.id, "one group, again")


def forget_people(page: Page, root: str) -> None:
    with transaction() as session:
        for number, identity in enumerate(session.scalars(select(AnnotatorIdentity))):
            identity.external_id = f"A0WORKER{number}"
    page.goto(f"{root}/annotators")
    card = page.get_by_test_id("people")
    expect(card).to_contain_text("of 2 people is stored")
    page.on("dialog", lambda dialog: dialog.accept())
    card.get_by_label("One person, by their platform id").fill("A0WORKER1")
    card.get_by_role("button", name="Forget this person").click()
    expect(card.get_by_role("status")).to_have_text("1 person forgotten.")
    is_fine(page)
    card.get_by_role("button", name="Forget everyone").click()
    expect(card).to_contain_text("No identities are stored.")
    with transaction() as session:
        assert set(session.scalars(select(AnnotatorIdentity.external_id))) == {None}


def test_the_requester_asks_more_about_an_attribute(
    page: Page, web: System, campaign: Campaign
) -> None:
    page.goto(f"{web.base_url}/campaigns/{campaign.id}/attributes")
    focus_on(page, "Ask more about this")
    expect(page.get_by_text("asked about next")).to_be_visible()
    assert reloaded(campaign.id).settings["focus"] == 0
    page.reload()
    expect(page.get_by_text("asked about next")).to_be_visible()
    focus_on(page, "Ask about all")
    expect(page.get_by_text("asked about next")).to_have_count(0)
    assert reloaded(campaign.id).settings["focus"] is None


def focus_on(page: Page, button: str) -> None:
    with page.expect_response(re.compile("/focus$")) as reply:
        page.get_by_role("button", name=button).first.click()
    assert reply.value.status == 204


def test_one_overall_similarity_is_shown_as_clusters_and_says_so(
    page: Page, web: System, campaign: Campaign
) -> None:
    a_model(campaign, np.random.default_rng(0).normal(size=(30, 3)), POOLED, version=3)
    root = f"{web.base_url}/campaigns/{campaign.id}"
    page.goto(f"{root}/attributes")
    shown = page.get_by_role("region", name="One overall similarity")
    expect(shown).to_contain_text("one overall notion of similarity rather than separate")
    expect(shown).to_contain_text("96 % ± 1 % of the answers")
    expect(shown).to_contain_text("predicts held-out answers: > 99.9 %")
    expect(shown.get_by_label("Shares of the answers")).to_contain_text("none of these: 4 % ± 1 %")
    clusters = shown.get_by_role("region", name=re.compile(r"^Cluster \d"))
    expect(clusters.get_by_role("heading")).to_have_text(["=owl, round", "cluster 2"])
    expect(clusters.first.get_by_role("link")).to_have_count(2)
    example = shown.get_by_role("region", name="Example grid of overall similarity")
    expect(example.get_by_role("list", name="Group 1").get_by_role("img")).to_have_count(2)
    expect(example.get_by_role("list", name="Group 2").get_by_role("img")).to_have_count(1)
    expect(shown.get_by_role("button", name="Ask more about this")).to_have_count(0)
    is_fine(page)
    page.goto(f"{root}/annotators")
    heatmap = page.get_by_role("group", name="Preference heatmap")
    expect(heatmap.get_by_role("cell", name="90 %")).to_have_count(1)
    page.get_by_role("combobox", name="Show").select_option("what they used")
    used = heatmap.get_by_role("cell", name="80 %")
    expect(used).to_have_attribute("title", re.compile("used 80 % ± 5 %, preferred 90 %$"))
    work = page.get_by_role("group", name="Annotators' work")
    for name in ("Prefers", "Used"):
        expect(work.get_by_role("columnheader", name=name)).to_be_visible()
    is_fine(page)


def test_a_crowd_that_agrees_on_nothing_gets_a_page_that_says_so(
    page: Page, web: System, campaign: Campaign
) -> None:
    a_model(campaign, np.random.default_rng(0).normal(size=(30, 3)), NONE, version=3)
    page.goto(f"{web.base_url}/campaigns/{campaign.id}/attributes")
    shown = page.get_by_role("region", name="No agreement found")
    expect(shown).to_contain_text("Annotators do not agree on anything that the model can predict")
    expect(shown.get_by_role("heading", level=3)).to_have_text(
        ["What this may mean", "What you can do"]
    )
    expect(shown.get_by_role("img")).to_have_count(0)
    is_fine(page)
    for other in ("map", "clusters"):
        page.goto(f"{web.base_url}/campaigns/{campaign.id}/{other}")
        notice = page.get_by_test_id("no-agreement")
        expect(notice).to_contain_text("the positions of images mean nothing yet")
        expect(notice.get_by_role("link")).to_have_attribute("href", re.compile("/attributes$"))
        is_fine(page)
