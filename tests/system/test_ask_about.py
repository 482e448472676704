"""A campaign that asks about a part of its images, in Chromium and with real processes: set up in
the wizard, chosen by a worker, shown to annotators, and all images in the export."""

import csv
import io
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import func, select

from app.accounts.models import Account
from app.campaigns.changes import ACTIONS, change_campaign
from app.campaigns.links import annotator_link
from app.campaigns.models import AskedImage, Campaign, Grid
from app.core.database import transaction
from testbed.builders import a_collection, a_draft, an_account, reloaded
from testbed.system import System, wait_until
from tests.support.annotators_page import at_work
from tests.support.axe import violations
from tests.support.person import TILES
from tests.system.test_dashboard import signed_in
from tests.system.test_loop import a_crowd, is_finished

pytestmark = pytest.mark.browser
N, M, SLOW = 240, 40, 120_000
SETTINGS = {"features": "features", "max_clusters": 6, "n_latent": 2, "effort": "quick"}


def asked() -> set[int]:
    with transaction() as session:
        return set(session.scalars(select(AskedImage.position)))


def set_up(page: Page, system: System, draft: Campaign, folder: Path) -> None:
    """Choose a part in the wizard's budget step, and launch."""
    page.goto(f"{system.base_url}/campaigns/{draft.id}/edit#budget")
    part = page.get_by_test_id("ask-about")
    expect(part.get_by_label(f"All {N} images")).to_be_checked()
    before = page.get_by_test_id("plan").inner_text()
    part.get_by_label("A part of them").check()
    number = part.get_by_test_id("ask-about-number")
    expect(number).to_have_value("48")
    number.fill("3")
    page.get_by_role("button", name="Next: Launch").click()
    expect(number).to_be_focused()
    number.fill(str(M))
    features = part.get_by_label(re.compile("^Features to choose them by"))
    features.select_option("appearance")
    expect(part.get_by_test_id("ask-about-words")).to_contain_text(
        f"Annotators see only {M} of the {N} images."
    )
    wait_until("the part to be stored", lambda: reloaded(draft.id).ask_about == M, 20)
    wait_until("its features to be stored", lambda: reloaded(draft.id).ask_by == "appearance", 20)
    expect(page.get_by_text("Draft saved")).to_be_visible()
    assert page.get_by_test_id("plan").inner_text() != before
    assert violations(page) == []
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 1000})
        page.screenshot(path=folder / f"wizard-{width}.png", full_page=True)
    page.set_viewport_size({"width": 1440, "height": 1000})
    page.get_by_role("button", name="Next: Launch").click()
    expect(page.get_by_text(f"{M} of {N} images")).to_be_visible()
    page.screenshot(path=folder / "launch.png")
    page.get_by_role("button", name="Launch the campaign").click()
    expect(page.get_by_test_id("state")).to_have_text("running")


def see_map(page: Page, system: System, campaign: Campaign, folder: Path) -> None:
    """Before the first answer, the map shows all images by features, and says so."""
    page.goto(f"{system.base_url}/campaigns/{campaign.id}/map")
    expect(page.get_by_test_id("feature-map-words")).to_contain_text(
        "By features only: nobody was asked yet."
    )
    plane = page.get_by_test_id("feature-map")
    expect(plane.locator("img")).to_have_count(N)
    expect(plane.locator("img.asked")).to_have_count(M)
    assert violations(page) == []
    page.screenshot(path=folder / "map.png", full_page=True)
    page.goto(f"{system.base_url}/campaigns/{campaign.id}")


def see_grids(browser: Browser, system: System, campaign: Campaign) -> None:
    """An annotator's page shows only images that are asked about."""
    page = at_work(browser, annotator_link(campaign, system.base_url))
    with transaction() as session:
        shown = set(session.scalars(select(func.unnest(Grid.images))))
    assert shown
    assert shown <= asked()
    tiles = page.locator(TILES)
    on_page = {int(tile.get_attribute("data-image") or -1) for tile in tiles.all()}
    assert len(on_page) == 10
    assert on_page <= asked()
    page.context.close()


def has_grids_left() -> bool:
    with transaction() as session:
        query = select(func.count()).where(Grid.role == "ask", Grid.n_answers < Grid.wanted)
        return bool(session.scalar(query))


def continued(owner: Account, campaign: Campaign) -> None:
    with transaction() as session:
        change_campaign(session, owner, campaign.id, {"budget": 60, "rounds": 3})
        ACTIONS["reopen"](session, owner, campaign.id)


def test_forty_images_asked_about_in_a_collection_of_hundreds(
    browser: Browser, system: System, tmp_path: Path
) -> None:
    owner = an_account()
    draft = a_draft(
        owner,
        a_collection(owner, N),
        kind="bins",
        strategy="scdc",
        budget=40,
        rounds=2,
        grid_size=10,
        grids_per_assignment=5,
        ready_share=0.0,
        settings=SETTINGS,
    )
    page = signed_in(browser, system, owner)
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    set_up(page, system, draft, tmp_path)
    expect(page.get_by_test_id("asked")).to_contain_text(f"Asks about {M} of {N} images.")
    page.screenshot(path=tmp_path / "choosing.png")
    wait_until("the images to be chosen", lambda: len(asked()) == M, 120)
    expect(page.get_by_test_id("choosing")).to_have_count(0)
    campaign = reloaded(draft.id)
    see_map(page, system, campaign, tmp_path)

    a_crowd(system, campaign, annotators=4, by="colour", noise=0.05).play()
    wait_until("the campaign to end", lambda: is_finished(campaign), 300)
    with transaction() as session:
        shown = set(session.scalars(select(func.unnest(Grid.images))))
    assert shown <= asked()
    for name in ("embedding.csv", "memberships.csv"):
        table = page.request.get(
            f"{system.base_url}/api/v1/campaigns/{campaign.id}/export/{name}"
        ).text()
        assert len(list(csv.reader(io.StringIO(table)))) == N + 1, name

    continued(owner, campaign)
    page.reload()
    suggested = page.get_by_test_id("suggested")
    suggested.locator("summary").click()
    expect(suggested.locator("img")).to_have_count(24)
    assert violations(page) == []
    page.screenshot(path=tmp_path / "suggested.png", full_page=True)
    suggested.get_by_test_id("ask-more").click()
    expect(suggested.get_by_test_id("asked-more")).to_contain_text("24 images added")
    expect(page.get_by_test_id("asked")).to_contain_text(f"Asks about {M + 24} of {N} images.")
    assert len(asked()) == M + 24
    # Last, because its lease stays.
    wait_until("grids of the third round", has_grids_left, 120)
    see_grids(browser, system, campaign)
    assert problems == []
    page.context.close()
