"""Feature sets on the collection's page: uploads, an error, a computed set with progress, rename
and delete; clean by axe, at two widths, and offered by the campaign's form."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from app.accounts.service import create_sign_in_link
from app.core.database import transaction
from testbed.builders import a_collection, a_draft, an_account
from testbed.system import System, running_system
from tests.support import axe
from tests.support.feature_sets import a_vector_table, an_npy, random_values

pytestmark = pytest.mark.browser
N = 120
WIDTHS = (1440, 390)
SLOW = 60_000


@pytest.fixture
def system(environment: dict[str, str], tmp_path: Path) -> Iterator[System]:
    with running_system(environment, tmp_path) as running:
        yield running


def files_in(folder: Path) -> dict[str, Path]:
    values = random_values(N, 32)
    text = a_vector_table(values[:110]).decode() + "\nnot-here.png" + ",1" * 32
    contents = {
        "clip.csv": text.encode(),
        "dino.npy": an_npy(values),
        "broken.csv": b"filename,size\nimage-000.png,large\n",
    }
    paths = {name: folder / name for name in contents}
    for name, path in paths.items():
        path.write_bytes(contents[name])
    return paths


def choose(page: Page, file: Path, name: str = "") -> Locator:
    page.get_by_role("button", name="Upload features").click()
    dialog = page.get_by_role("dialog", name="Upload features")
    dialog.get_by_label("File of vectors").set_input_files(file)
    if name:
        dialog.get_by_label("Name", exact=True).fill(name)
    return dialog


def item(page: Page, name: str) -> Locator:
    return page.get_by_test_id("feature-set").filter(has_text=name)


def test_feature_sets_on_the_collections_page(
    browser: Browser, system: System, tmp_path: Path
) -> None:
    owner = an_account()
    names = "\n".join(["filename,colour", *(f"image-{k:03d}.png,red" for k in range(N))])
    collection = a_collection(owner, N, names.encode())
    files = files_in(tmp_path)
    page = browser.new_context(viewport={"width": 1440, "height": 1000}).new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    with transaction() as session:
        page.goto(create_sign_in_link(session, owner, system.base_url))
    page.get_by_role("button", name="Sign in").click()
    page.goto(f"{system.base_url}/collections/{collection.id}")
    expect(page.get_by_test_id("features")).to_contain_text("no features yet")

    # A wrong table keeps the dialog open and says where it is wrong.
    dialog = choose(page, files["broken.csv"])
    expect(dialog.get_by_label("Name", exact=True)).to_have_value("broken")
    dialog.get_by_role("button", name="Upload", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("Line 2, column 'size' contains 'large'")
    assert axe.violations(page) == []
    page.screenshot(path=tmp_path / "error.png")
    dialog.get_by_label("File of vectors").set_input_files(files["clip.csv"])
    dialog.get_by_label("Name", exact=True).fill("CLIP ViT-B/32")
    dialog.get_by_role("button", name="Upload", exact=True).click()
    expect(dialog).to_be_hidden()
    expect(item(page, "CLIP")).to_contain_text("32 columns for 110 of 120 images")
    section = page.get_by_test_id("features")
    expect(section).to_contain_text("1 of 111 rows were not used")
    expect(section).to_contain_text("10 of 120 images have no row")

    # By keyboard alone, an array without names.
    page.get_by_role("button", name="Upload features").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Upload features")
    dialog.get_by_label("File of vectors").set_input_files(files["dino.npy"])
    expect(dialog.get_by_label("File names of the rows (optional)")).to_be_visible()
    dialog.get_by_label("Name", exact=True).focus()
    page.keyboard.press("Enter")
    expect(item(page, "dino")).to_contain_text("32 columns for 120 of 120 images")
    expect(page.get_by_role("button", name="Upload features")).to_be_focused()

    page.get_by_text("Compute features on the server").click()
    page.get_by_role("button", name="Compute appearance").click()
    bar = page.get_by_role("progressbar", name="Computing appearance")
    ready = item(page, "appearance").get_by_text("ready", exact=True)
    expect(bar.or_(ready).first).to_be_visible()
    expect(ready).to_be_visible(timeout=SLOW)
    expect(item(page, "appearance")).to_contain_text("200 numbers for 120 of 120 images")

    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 1000})
        assert axe.violations(page) == []
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width
        section.scroll_into_view_if_needed()
        section.screenshot(path=tmp_path / f"features-{width}.png")
    page.set_viewport_size({"width": 1440, "height": 1000})

    item(page, "dino").get_by_role("button", name="Rename").click()
    dialog = page.get_by_role("dialog", name="Rename dino")
    dialog.get_by_label("Name").fill("clip vit-b/32")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("already has a feature set")
    dialog.get_by_label("Name").fill("DINO")
    dialog.get_by_role("button", name="Save").click()
    expect(item(page, "DINO")).to_be_visible()

    draft = a_draft(owner, collection, strategy="scdc", budget=40)
    page.goto(f"{system.base_url}/campaigns/{draft.id}/edit#strategy")
    page.get_by_text("Settings of Semi-crowdsourced clustering").click()
    choice = page.get_by_label(re.compile("^Features"))
    choice.select_option("DINO")
    expect(choice).to_have_value("DINO")

    page.goto(f"{system.base_url}/collections/{collection.id}")
    item(page, "CLIP").get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete the features").click()
    expect(item(page, "CLIP")).to_have_count(0)
    assert problems == []
