"""What people see of a picture does not depend on the colours of their page."""

import io
from typing import Any, Literal

import numpy as np
import PIL.Image
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Browser, Locator, Page, expect

from app.accounts.models import Account
from app.accounts.service import create_sign_in_link
from app.collections.models import Collection
from app.collections.service import add_files, create_collection
from app.core.database import transaction
from testbed.builders import a_campaign, an_account
from testbed.system import System
from tests.support.annotators_page import (
    DESK,
    link_of,
    no_errors_on_the_page,
    visit,
)
from tests.support.kinds import PLANS
from tests.support.person import SLOW, TILES

__all__ = ["no_errors_on_the_page"]
pytestmark = pytest.mark.browser
Scheme = Literal["light", "dark"]
# The whole square is transparent, or what is next to the picture in it.
BEHIND = {
    "white": {(255, 255, 255)},
    "grey": {(128, 128, 128)},
    "black": {(0, 0, 0)},
    "checker": {(255, 255, 255), (204, 204, 204)},
}


def a_clear_png(number: int, size: tuple[int, int] = (64, 64)) -> bytes:
    """Nothing to see; `number` makes it another file."""
    buffer = io.BytesIO()
    PIL.Image.new("RGBA", size, (number, 0, 0, 0)).save(buffer, "PNG")
    return buffer.getvalue()


def a_clear_collection(owner: Account) -> Collection:
    lines = ["filename,feature_0"]
    files = []
    for k in range(12):
        # Some are squares; others leave room next to them.
        files.append((f"{k}.png", a_clear_png(k, (64, 64 if k % 2 else 32))))
        lines.append(f"{k}.png,{k}")
    with transaction() as session:
        collection = create_collection(session, owner, "Clear")
        add_files(session, owner, collection, [*files, ("table.csv", "\n".join(lines).encode())])
        return collection


def a_page(browser: Browser, web: System, kind: str, background: str | None, **how: Any) -> Page:
    owner = an_account()
    annotation: dict[str, Any] = {"show_instructions": False}
    if background is not None:
        annotation["image_background"] = background
    campaign = a_campaign(
        owner, a_clear_collection(owner), kind=kind, budget=4, annotation=annotation, **PLANS[kind]
    )
    page = visit(browser.new_context(**{**DESK, **how}), link_of(campaign, web))
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    return page


def colours_of(picture: Locator) -> set[tuple[int, ...]]:
    """The colours of the inner three quarters; the corners are round."""
    with PIL.Image.open(io.BytesIO(picture.screenshot())) as image:
        pixels: NDArray[Any] = np.asarray(image.convert("RGB"))
    height, width, _ = pixels.shape
    inner = pixels[height // 8 : -height // 8, width // 8 : -width // 8].reshape(-1, 3)
    values, counts = np.unique(inner, axis=0, return_counts=True)
    # What mixes at the edges of squares is not counted.
    often = values[counts > 0.05 * len(inner)]
    return {tuple(int(part) for part in value) for value in often}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("background", BEHIND)
def test_transparent_pictures_lie_on_the_campaigns_background(
    browser: Browser, web: System, background: str, scheme: Scheme
) -> None:
    page = a_page(browser, web, "grid", background, color_scheme=scheme)
    for picture in page.locator(f"{TILES} img").all():
        assert colours_of(picture) == BEHIND[background]
    page.locator(TILES).first.focus()
    page.keyboard.press("Space")
    large = page.get_by_role("dialog").locator("img")
    expect(large).to_be_visible()
    large.evaluate("picture => picture.decode()")
    assert colours_of(large) == BEHIND[background]


@pytest.mark.parametrize("kind", PLANS)
def test_every_kind_of_task_has_the_background(browser: Browser, web: System, kind: str) -> None:
    page = a_page(browser, web, kind, "grey", color_scheme="dark")
    for picture in page.locator(f"{TILES} img").all():
        assert colours_of(picture) == BEHIND["grey"]


def test_it_is_white_by_default_and_stays_with_forced_colours(
    browser: Browser, web: System
) -> None:
    page = a_page(browser, web, "grid", None, color_scheme="dark", forced_colors="active")
    assert colours_of(page.locator(f"{TILES} img").first) == BEHIND["white"]


def test_a_requester_chooses_it_on_the_settings_page(browser: Browser, web: System) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    with transaction() as session:
        link = create_sign_in_link(session, owner, web.base_url)
    page = browser.new_page()
    page.goto(link)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.goto(f"{web.base_url}/campaigns/{campaign.id}/annotation")
    choice = page.get_by_label("Image background")
    expect(choice).to_have_value("white")
    choice.select_option("checker")
    page.get_by_role("button", name="Save").click()
    page.goto(f"{web.base_url}/campaigns/{campaign.id}/annotation")
    expect(choice).to_have_value("checker")
