"""A requester's images: a lost connection, a closed tab, a search, and what deleting takes."""

import base64
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from sqlalchemy import select

from app.accounts.service import create_sign_in_link
from app.campaigns.service import finish_campaign
from app.collections.models import Collection, Image
from app.core.database import transaction
from testbed.builders import COLOURS, a_campaign, a_png, an_account
from testbed.servers import ROOT
from testbed.system import System, running_system

pytestmark = pytest.mark.browser
AXE = (ROOT / "frontend/node_modules/axe-core/axe.min.js").read_text()
N_IMAGES = 120
SLOW = 60_000
DROP = """
(zone, files) => {
  const transfer = new DataTransfer();
  for (const [name, text] of files) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    transfer.items.add(new File([bytes], name));
  }
  const about = { dataTransfer: transfer, bubbles: true, cancelable: true };
  zone.dispatchEvent(new DragEvent('drop', about));
}
"""


@pytest.fixture
def files_worker(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[System]:
    (tmp_path / "shelf").mkdir()
    source = f"file://{tmp_path}/shelf"
    with running_system(environment, tmp_path, LIKEWISE_IMPORT_SOURCES=source) as running:
        yield running


def a_folder(folder: Path) -> Path:
    folder.mkdir()
    lines = ["filename,colour"]
    for k in range(N_IMAGES):
        (folder / f"image-{k:03d}.png").write_bytes(a_png(k))
        lines.append(f"image-{k:03d}.png,{COLOURS[k % 3]}")
    (folder / "colours.csv").write_text("\n".join(lines))
    return folder


class Line:
    """The line to the server: fails once and comes back, later is cut for good."""

    def __init__(self, page: Page, cut_after: int) -> None:
        self.requests, self.cut_after = 0, cut_after
        page.route("**/files", self._carry)

    def _carry(self, route: Route) -> None:
        self.requests += 1
        if self.requests == 2 or self.requests > self.cut_after:
            route.abort("internetdisconnected")
        else:
            route.continue_()


def test_an_upload_outlives_a_lost_connection_and_a_closed_tab(
    browser: Browser, files_worker: System, tmp_path: Path
) -> None:
    owner = an_account()
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: dialog.accept())
    with transaction() as session:
        page.goto(create_sign_in_link(session, owner, files_worker.base_url))
    page.get_by_role("button", name="Sign in").click()

    folder = a_folder(tmp_path / "Summer")
    page.get_by_role("link", name="New collection").first.click()
    line = Line(page, cut_after=5)
    page.get_by_test_id("folder-input").set_input_files(folder)
    # One drop makes the collection, called as the folder.
    expect(page.get_by_role("heading", level=1)).to_have_text("Summer")
    # It comes back by itself after the first failure, before the line is cut for good.
    while line.requests <= line.cut_after:
        page.wait_for_timeout(50)
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached", timeout=SLOW)
    expect(page.get_by_test_id("upload-progress")).to_contain_text("of 121 files")
    page.unroute("**/files")

    page.reload()
    n_before = int((page.get_by_test_id("n-images").text_content() or "").split()[0])
    assert 20 <= n_before < N_IMAGES
    drop(page, folder)
    report = page.get_by_test_id("upload-report")
    expect(report).to_contain_text("0 rejected, 1 table used", timeout=SLOW)
    added, known = map(int, re.findall("([0-9]+) (?:added|already)", report.inner_text())[:2])
    # A request that was under way when the tab closed may have arrived since.
    assert added + known == N_IMAGES
    assert known >= n_before
    expect(page.get_by_test_id("n-images")).to_have_text(f"{N_IMAGES} images")
    check_stored(N_IMAGES)
    assert violations(page) == []
    launch = report.get_by_role("link", name="Launch a campaign")
    assert "/campaigns/new?collection=" in (launch.get_attribute("href") or "")
    page.get_by_role("button", name="Show the images").click()

    check_search(page)
    check_deletion(page)
    check_import(page, tmp_path / "shelf")
    check_deletion_of_all(page)
    assert complaints == []
    context.close()


def drop(page: Page, folder: Path) -> None:
    files = [(file.name, base64.b64encode(file.read_bytes()).decode()) for file in folder.iterdir()]
    page.get_by_role("group", name="Upload").evaluate(DROP, files)


def check_stored(n: int) -> None:
    with transaction() as session:
        rows = session.execute(select(Image.position, Image.filename).order_by("position")).all()
    assert [position for position, _ in rows] == list(range(n))
    assert len({name for _, name in rows}) == n


def violations(page: Page) -> list[Any]:
    page.evaluate(AXE)
    broken_rules: list[Any] = page.evaluate("axe.run().then((result) => result.violations)")
    return [(rule["id"], [node["target"] for node in rule["nodes"]]) for rule in broken_rules]


def check_search(page: Page) -> None:
    thumbs = page.get_by_test_id("thumbs").get_by_role("img")
    page.get_by_label("Search").fill("colour:red image-00")
    expect(page.get_by_test_id("found")).to_have_text("4 of 120 images")
    page.get_by_label("Sort by").select_option("file name")
    expect(thumbs.first).to_have_attribute("alt", "image-000.png")
    assert [thumb.get_attribute("alt") for thumb in thumbs.all()] == [
        f"image-{k:03d}.png" for k in (0, 3, 6, 9)
    ]
    thumbs.first.click()
    dialog = page.get_by_role("dialog", name="image-000.png")
    expect(dialog).to_contain_text("no campaign")
    expect(dialog).to_contain_text("SHA-256")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("dialog", name="image-003.png")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Show all").click()
    page.get_by_role("group", name="colour").get_by_role("button", name="green").click()
    expect(page.get_by_test_id("found")).to_have_text("40 of 120 images")
    page.get_by_role("button", name="Table").click()
    # Ordered by name already: once more turns it round.
    page.get_by_role("columnheader", name="File name").get_by_role("button").click()
    expect(page.get_by_role("table").get_by_role("button", name=".png").first).to_have_text(
        "image-118.png"
    )
    assert violations(page) == []
    page.get_by_role("button", name="Show all").click()
    page.get_by_role("button", name="Grid").click()
    expect(thumbs.first).to_have_attribute("alt", "image-119.png")


def check_deletion(page: Page) -> None:
    """A campaign over the first images keeps them; what came after goes."""
    with transaction() as session:
        collection = session.scalars(select(Collection)).one()
    owner = an_owner(collection)
    campaign = a_campaign(owner, collection, name="First look", budget=2, grid_size=6)
    drop_more(page)
    expect(page.get_by_test_id("n-images")).to_have_text("122 images")
    page.get_by_role("button", name="Show the images").click()
    page.get_by_label("Search").fill("image-00 extra")
    expect(page.get_by_test_id("found")).to_have_text("0 of 122 images")
    page.get_by_label("Search").fill("")
    expect(page.get_by_test_id("found")).to_have_text("122 images")
    page.get_by_label("Select image-118.png").click()
    page.get_by_label("Select image-116.png").click(modifiers=["Shift"])
    chosen = page.get_by_role("region", name="Selected images")
    expect(chosen).to_contain_text("3 selected")
    chosen.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog", name="Delete images")
    expect(dialog).to_contain_text("All 3 chosen images cannot be deleted")
    expect(dialog).to_contain_text("“First look”, running")
    dialog.get_by_role("button", name="Keep them").click()
    chosen.get_by_role("button", name="Clear selection").click()
    page.get_by_label("Search").fill("extra")
    expect(page.get_by_test_id("found")).to_have_text("2 of 122 images")
    page.get_by_role("button", name="Select all found").click()
    chosen.get_by_role("button", name="Delete").click()
    dialog.get_by_role("button", name="Delete 2 images").click()
    expect(page.get_by_test_id("n-images")).to_have_text("120 images")
    check_stored(N_IMAGES)
    with transaction() as session:
        finish_campaign(session, owner, campaign.id)


def an_owner(collection: Collection) -> Any:
    from app.accounts.models import Account

    with transaction() as session:
        return session.get_one(Account, collection.owner_id)


def drop_more(page: Page) -> None:
    files = [(f"extra-{k}.png", base64.b64encode(a_png(1000 + k)).decode()) for k in range(2)]
    page.get_by_role("group", name="Upload").evaluate(DROP, files)
    expect(page.get_by_test_id("upload-report")).to_contain_text("2 added", timeout=SLOW)


def check_import(page: Page, shelf: Path) -> None:
    """A list of keys below an allowed folder, by the worker; one of them is not there."""
    for k in range(3):
        (shelf / f"shelf-{k}.png").write_bytes(a_png(2000 + k))
    (shelf.parent / "list.csv").write_text(
        "key,colour\nshelf-0.png,red\nshelf-1.png,\nshelf-9.png,blue\n"
    )
    page.get_by_text("Import from web addresses or object storage").click()
    page.get_by_test_id("manifest").set_input_files(shelf.parent / "list.csv")
    page.get_by_label("Object storage").select_option(index=1)
    page.get_by_role("button", name="Import", exact=True).click()
    status = page.get_by_test_id("import")
    expect(status).to_contain_text("3 of 3 rows: 2 added, 0 already there, 1", timeout=SLOW)
    expect(page.get_by_test_id("n-images")).to_have_text("122 images")
    status.get_by_text("Rows with a problem").click()
    expect(status).to_contain_text("Line 4: file:///")
    assert violations(page) == []


def check_deletion_of_all(page: Page) -> None:
    page.get_by_role("button", name="Delete…").first.click()
    dialog = page.get_by_role("dialog", name="Delete Summer")
    expect(dialog).to_contain_text(
        "This also deletes 122 images and 1 campaign (“First look”, finished) with 0 answers"
    )
    remove = dialog.get_by_role("button", name="Delete the collection")
    expect(remove).to_be_disabled()
    dialog.get_by_label("Type “Summer” to confirm").fill("Summer")
    remove.click()
    expect(page.get_by_role("heading", name="Campaigns")).to_be_visible()
    with transaction() as session:
        assert session.query(Collection).count() == session.query(Image).count() == 0
