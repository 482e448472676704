"""A model's own clusters in a browser: proportions, placements, reliability, the wizard's words."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import select

from app.accounts.models import Account
from app.accounts.service import create_sign_in_link
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.core.storage import put_object
from app.features.encoder import is_available
from app.results.carried import Described
from app.results.models import Model
from app.results.own_clusters import own_clusters, store_own_clusters
from app.strategies.memberships import FILE, memberships_of
from testbed.builders import a_campaign, an_account
from testbed.system import System
from tests.app.test_insight import a_model
from tests.system.test_insight_page import is_fine

pytestmark = pytest.mark.browser
N, TRUE = 30, np.repeat([0, 1], [20, 10])
RELIABILITY = {
    "annotator": 0,
    "n_answers": 12,
    "n_pairs": 180,
    "sensitivity": 0.31,
    "sensitivity_interval": [0.25, 0.37],
    "specificity": 0.4,
    "specificity_interval": [0.31, 0.49],
    "weight": -1.2,
}


@pytest.fixture
def owner(web: System) -> Account:
    return an_account()


@pytest.fixture
def campaign(owner: Account) -> Campaign:
    """Two models that part the images in two; image 3 hesitates, images from 15 on were not
    asked about."""
    campaign = a_campaign(owner, strategy="scdc", kind="bins", settings={"features": "features"})
    places = np.stack([TRUE * 5.0, np.arange(N) / N], axis=1)
    for version in (1, 2):
        _publish(campaign, places, version)
    return campaign


def _publish(campaign: Campaign, places: np.ndarray, version: int) -> None:
    table = np.full((N, 2), 0.02)
    table[np.arange(N), TRUE] = 0.98
    table[3] = [0.55, 0.45]
    memberships, _ = memberships_of(table, np.arange(N) < 15)
    clusters = [
        {
            "index": index,
            "proportion": share,
            "size": size,
            "certain": np.flatnonzero(index == TRUE)[-3:].tolist(),
            "uncertain": np.flatnonzero(index == TRUE)[:3].tolist(),
        }
        for index, share, size in ((0, 0.65, 20), (1, 0.35, 10))
    ]
    insight = {
        "n_clusters": 2.0,
        "clusters": clusters,
        "reliability": [RELIABILITY, {**RELIABILITY, "annotator": 1, "weight": 4.2}],
        "features": "features",
    }
    metrics = {"clusters": 4.0 - version, "certain_share": 29 / 30}
    a_model(campaign, places, insight, version=version, metrics=metrics)
    with transaction() as session:
        model = session.scalars(
            select(Model).where(Model.campaign_id == campaign.id, Model.version == version)
        ).one()
        model.artifact_key = f"models/{campaign.id}/{version}"
        put_object(f"{model.artifact_key}/{FILE}", memberships.to_bytes())
        own = own_clusters(memberships, places, Described(([], [], [])), 0)
        store_own_clusters(session, model, own)


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


def test_every_image_is_shown_with_its_place_uncertain_ones_first(
    page: Page, web: System, campaign: Campaign, tmp_path: Path
) -> None:
    page.goto(f"{web.base_url}/campaigns/{campaign.id}/clusters")
    own = page.get_by_test_id("own-clusters")
    expect(own).to_contain_text("sorts all 30 images into 2 clusters (effective number 2.0)")
    expect(own).to_contain_text("97 % of them")
    expect(own.locator("figure")).to_contain_text("Effective number of clusters")
    expect(own.locator("tr[data-own='0']")).to_contain_text("65 %")
    members = page.get_by_test_id("memberships").locator("li")
    expect(members).to_have_count(30)
    expect(members.first).to_contain_text("55 % or cluster 2 45 %")
    is_fine(page)

    # A name given above is that of the list below.
    page.get_by_label("Name of cluster 2").fill("boats")
    page.get_by_label("Name of cluster 2").press("Enter")
    expect(members.first).to_contain_text("or boats 45 %")
    own.get_by_role("combobox", name="Images").select_option(label="placed by features only")
    expect(members).to_have_count(15)
    own.get_by_role("button", name="boats").click()
    expect(members).to_have_count(10)
    with page.expect_download() as downloading:
        own.get_by_role("link", name="memberships.csv").click()
    downloading.value.save_as(tmp_path / "memberships.csv")
    lines = (tmp_path / "memberships.csv").read_text().splitlines()
    assert len(lines) == 31
    assert lines[-1].startswith("29,image-029.png,1,boats,0.98,0,0.02,False")


def test_reliability_comes_with_its_intervals_the_least_first(
    page: Page, web: System, campaign: Campaign
) -> None:
    page.goto(f"{web.base_url}/campaigns/{campaign.id}/annotators")
    rows = page.get_by_test_id("reliability").locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("31 % (25–37)")
    expect(rows.first).to_contain_text("-1.2 read as the opposite")
    expect(rows.last).to_contain_text("4.2 counts")
    is_fine(page)


def test_the_map_is_coloured_by_the_model_s_own_clusters(
    page: Page, web: System, campaign: Campaign
) -> None:
    page.goto(f"{web.base_url}/campaigns/{campaign.id}/clusters")
    page.get_by_role("link", name="On the map").click()
    expect(page.get_by_label("Colour by")).to_contain_text("The model's own, 2 clusters")


def test_the_wizard_offers_the_strategy_with_features_by_name(
    page: Page, web: System, owner: Account, campaign: Campaign
) -> None:
    from app.campaigns.plan import CampaignPlan
    from app.campaigns.service import create_campaign

    with transaction() as session:
        plan = CampaignPlan(
            name="Draft", collection_id=campaign.collection_id, strategy="scdc", grid_size=6
        )
        draft = create_campaign(session, session.merge(owner), plan)
    page.goto(f"{web.base_url}/campaigns/{draft.id}/edit")
    page.get_by_role("button", name="Next: Strategy").click()
    chosen = page.get_by_label("Semi-crowdsourced clustering")
    expect(chosen).to_be_checked()
    page.get_by_text("Settings of Semi-crowdsourced clustering").click()
    features = page.get_by_role("combobox", name="Features").first
    expect(features).to_have_value("objects" if is_available() else "appearance")
    expect(features.locator("option")).to_contain_text(
        ["colours and edges", "main components of small pixels"]
    )
    is_fine(page)
