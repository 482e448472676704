"""The collection page warns of images of which annotators would see little."""

import pytest
from playwright.sync_api import Browser, FilePayload, expect

from app.accounts.service import create_sign_in_link
from app.collections.service import add_files, create_collection
from app.core.database import transaction
from testbed.builders import a_png, an_account
from testbed.system import System
from tests.support.axe import violations

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [390, 1280])
def test_an_upload_of_very_long_images_is_warned_of(
    browser: Browser, web: System, width: int
) -> None:
    owner = an_account()
    with transaction() as session:
        collection = create_collection(session, owner, "Shapes")
        add_files(session, owner, collection, [(f"{k}.png", a_png(k)) for k in range(8)])
        link = create_sign_in_link(session, owner, web.base_url)
    page = browser.new_context(viewport={"width": width, "height": 800}).new_page()
    page.goto(link)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.goto(f"{web.base_url}/collections/{collection.id}")
    expect(page.get_by_test_id("found")).to_have_text("8 images")
    warning = page.get_by_test_id("shapes")
    expect(warning).to_have_count(0)
    files: list[FilePayload] = [
        {"name": name, "mimeType": "image/png", "buffer": a_png(100 + k, size)}
        for k, (name, size) in enumerate({"banner.png": (8, 90), "flag.png": (20, 80)}.items())
    ]
    page.locator("input[type=file]").first.set_input_files(files)
    expect(warning).to_contain_text("1 image has sides of more than 4:1")
    expect(warning).to_contain_text("banner.png")
    assert violations(page) == []
    warning.get_by_role("button", name="Show the longest first").click()
    expect(page.get_by_label("Sort by")).to_have_value("shape")
    expect(page.get_by_role("img").first).to_have_attribute("alt", "banner.png")
