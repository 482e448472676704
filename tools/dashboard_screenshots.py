"""Pictures of the requester's pages for docs/screenshots/dashboard, from a played demo.

`make up` and `make demo`, then `python tools/dashboard_screenshots.py`: on a desk and a phone,
light and dark.
"""

import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page

sys.path.insert(0, str(Path(__file__).parent.parent))
from app.accounts.service import create_sign_in_link
from app.campaigns.changes import clone_campaign, delete_draft
from app.core.database import transaction
from app.core.settings import get_settings
from likewise import environment
from likewise.commands.demo import COLOUR_CAMPAIGN, EMOJI_CAMPAIGN
from likewise.commands.shared import find_campaign, owner_of
from testbed.browser import chromium

FOLDER = Path(__file__).parent.parent / "docs" / "screenshots" / "dashboard"
SIZES = {"desk": 1440, "phone": 390}
HEIGHT = 900
SETTLED_MS = 2_000


def main() -> None:
    environment.load()
    FOLDER.mkdir(exist_ok=True)
    with transaction() as session:
        owner = owner_of(session, "")
        emoji = find_campaign(session, EMOJI_CAMPAIGN)
        colours = find_campaign(session, COLOUR_CAMPAIGN)
        draft = clone_campaign(session, owner, emoji.id)
    pages = {
        "home": "/",
        "collection": f"/collections/{emoji.collection_id}",
        "wizard-task": f"/campaigns/{draft.id}/edit#task",
        "wizard-budget": f"/campaigns/{draft.id}/edit#budget",
        **{
            section or "monitor": f"/campaigns/{emoji.id}/{section}"
            for section in ("", "map", "attributes", "compare", "quality", "annotators", "exports")
        },
        "map-of-colours": f"/campaigns/{colours.id}/map",
    }
    with chromium() as browser:
        for size in SIZES:
            for scheme in ("light", "dark"):
                page = signed_in(browser, size, scheme)
                for name, address in pages.items():
                    page.goto(get_settings().base_url + address.rstrip("/"))
                    take(page, f"{name}-{size}-{scheme}")
                page.context.close()
    with transaction() as session:
        delete_draft(session, owner_of(session, ""), draft.id)


def signed_in(browser: Browser, size: str, scheme: str) -> Page:
    with transaction() as session:
        link = create_sign_in_link(session, owner_of(session, ""), get_settings().base_url)
    context = browser.new_context(
        viewport={"width": SIZES[size], "height": HEIGHT},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = context.new_page()
    page.goto(link)
    page.get_by_role("button", name="Sign in").click()
    return page


def take(page: Page, name: str) -> None:
    """As WebP, which is a tenth of the PNG."""
    page.wait_for_timeout(SETTLED_MS)
    path = FOLDER / f"{name}.png"
    page.screenshot(path=path)
    Image.open(path).save(path.with_suffix(".webp"), quality=75)
    path.unlink()


main()
