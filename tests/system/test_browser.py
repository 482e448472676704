"""Two people in a real browser: one asks, the other groups, and the results appear."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from app.accounts.service import create_sign_in_link
from app.core.database import transaction
from testbed.builders import a_png, a_table, a_zip, an_account
from testbed.system import System

pytestmark = pytest.mark.browser
N_IMAGES = 40
SLOW = 240_000
script_errors: list[str] = []


@pytest.fixture
def requester(browser: Browser, system: System) -> Iterator[Page]:
    """The page of a signed-in requester."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    account = an_account()
    with transaction() as session:
        link = create_sign_in_link(session, account, system.base_url)
    page = watched_page(context)
    page.goto(link)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Campaigns")).to_be_visible()
    yield page
    context.close()


def watched_page(context: BrowserContext) -> Page:
    page = context.new_page()
    page.on("pageerror", lambda error: script_errors.append(f"{page.url}: {error}"))
    return page


def a_folder_of_files(folder: Path) -> list[Path]:
    """Images, some of them in a ZIP, a table, and a text file that claims to be an image."""
    folder.mkdir()
    pictures = [(f"image-{k:03d}.png", a_png(k)) for k in range(N_IMAGES)]
    files = [*pictures[:30], ("rest.zip", a_zip(pictures[30:])), ("table.csv", a_table(N_IMAGES))]
    for name, data in [*files, ("broken.png", b"this is no image")]:
        (folder / name).write_bytes(data)
    return sorted(folder.iterdir())


def create_collection(page: Page, files: list[Path]) -> None:
    page.get_by_role("link", name="New collection").first.click()
    page.get_by_label("Name").fill("Forty pictures")
    page.get_by_role("button", name="Create collection").click()
    page.get_by_test_id("file-input").set_input_files(files)
    report = page.get_by_test_id("upload-report")
    expect(report).to_contain_text("40 added", timeout=SLOW)
    expect(report).to_contain_text("broken.png")
    page.get_by_role("button", name="Show the images").click()
    expect(page.get_by_test_id("thumbs").get_by_role("img")).to_have_count(N_IMAGES)


def create_campaign(page: Page, fields: dict[str, str], kind: str, strategy: str) -> str:
    """Set a campaign up in the wizard and launch it; returns the annotators' link."""
    link = page.get_by_role("link", name="New campaign").first
    knows_collection = "collection=" in (link.get_attribute("href") or "")
    link.click()
    if not knows_collection:
        page.get_by_role("button", name="Forty pictures").click()
    expect(page.get_by_test_id("preview")).to_be_visible()
    page.get_by_role("radio", name=kind.capitalize()).check()
    fill_step(page, fields, "Images per grid")
    page.get_by_role("button", name="Next: Strategy").click()
    page.get_by_role("radio", name=strategy).check()
    page.locator("summary", has_text="Settings of").click()
    fill_step(page, fields, "Rounds", "Share of grids prepared in advance")
    page.get_by_role("button", name="Next: Quality").click()
    page.get_by_label(re.compile("^Share of repeats")).fill("0")
    page.get_by_role("button", name="Next: Budget").click()
    fill_step(page, fields, "Budget (answers)", "Grids per assignment")
    page.get_by_role("button", name="Next: Launch").click()
    page.get_by_role("button", name="Launch the campaign").click()
    expect(page.get_by_test_id("state")).to_have_text("running")
    return page.get_by_test_id("annotator-link").input_value()


def fill_step(page: Page, fields: dict[str, str], *names: str) -> None:
    for name in names:
        if name in fields:
            page.get_by_label(re.compile(f"^{re.escape(name)}")).fill(fields[name])


def group_of(page: Page, image: int) -> int:
    """How the person at this browser sees it: three kinds of pictures."""
    return image % 3


def answer_grid(page: Page) -> None:
    """Click a group, then its images; describe the groups; submit."""
    images = [
        int(value)
        for value in page.locator("button[data-image]").evaluate_all(
            "found => found.map(one => one.dataset.image)"
        )
    ]
    for group in range(3):
        page.locator(f"button[data-group='{group}']").click()
        for image in images:
            if group_of(page, image) == group:
                page.locator(f"button[data-image='{image}']").click()
        if any(group_of(page, image) == group for image in images):
            page.locator(f"[data-description='{group}']").fill(f"kind {group}")
    send(page)


def send(page: Page) -> None:
    """Submit, images that are left over included, and as fast as nobody can look at them."""
    page.get_by_test_id("submit").click()
    for question in ("leftovers", "quick"):
        if page.get_by_test_id(question).is_visible():
            page.get_by_test_id(f"submit-{question}").click()


def answer_bins(page: Page) -> None:
    """Drag each image from the tray into its bin; one stays over."""
    tray = page.get_by_test_id("tray")
    images = [
        int(value)
        for value in tray.locator("button[data-image]").evaluate_all(
            "found => found.map(one => one.dataset.image)"
        )
    ]
    for image in images[:-1]:
        source = tray.locator(f"button[data-image='{image}']")
        drag(page, source.bounding_box(), bin_box(page, group_of(page, image)))
    expect(tray.locator("button[data-image]")).to_have_count(1)
    send(page)


def bin_box(page: Page, number: int) -> dict[str, float] | None:
    return page.locator(f"[data-group='{number}']").first.bounding_box()  # type: ignore[return-value]


def drag(page: Page, source: object, target: object) -> None:
    for number, box in enumerate((source, target)):
        assert isinstance(box, dict)
        x, y = box["x"] + box["width"] / 2, box["y"] + min(box["height"] / 2, 60)
        page.mouse.move(x, y, steps=4)
        page.mouse.down() if number == 0 else page.mouse.up()


def annotate(page: Page, link: str, n_grids: int, answer: object) -> None:
    page.goto(link)
    page.get_by_test_id("start").click()
    for done in range(n_grids):
        expect(page.get_by_test_id("progress")).to_contain_text(str(done), timeout=SLOW)
        expect(page.locator("button[data-image]").first).to_be_visible(timeout=SLOW)
        seen = page.locator("button[data-image]").first.get_attribute("data-image")
        assert seen is not None
        assert callable(answer)
        with page.expect_response(re.compile("/answer$")) as reply:
            answer(page)
        assert reply.value.status == 200, reply.value.text()


def locality_of_rounds(page: Page) -> list[float | None]:
    rows = page.get_by_test_id("rounds").locator("tbody tr td:last-child").all_inner_texts()
    return [None if text == "random" else float(text) for text in rows]


def test_files_become_a_campaign_that_people_answer_and_that_learns(
    browser: Browser, requester: Page, system: System, tmp_path: Path
) -> None:
    create_collection(requester, a_folder_of_files(tmp_path / "files"))
    bins_link = create_campaign(
        requester,
        {"Images per grid": "9", "Rounds": "2", "Share of grids prepared in advance": "0",
         "Budget (answers)": "8", "Grids per assignment": "8"},
        kind="bins",
        strategy="CrowdSter",
    )  # fmt: skip
    annotator = watched_page(browser.new_context(viewport={"width": 1200, "height": 900}))
    annotate(annotator, bins_link, 8, answer_bins)
    expect(requester.get_by_test_id("state")).to_have_text("finished", timeout=SLOW)
    first, second = locality_of_rounds(requester)
    assert first is None
    assert second is not None
    assert second < 0.95
    check_results(requester)
    check_exports(requester, tmp_path)
    grid_link = create_campaign(
        requester,
        {"Images per grid": "12", "Rounds": "1", "Budget (answers)": "3",
         "Grids per assignment": "3"},
        kind="grid",
        strategy="Context Embedding Network",
    )  # fmt: skip
    annotate(annotator, grid_link, 3, answer_grid)
    expect(annotator.get_by_text(re.compile(r"[A-Z0-9]{4}-[A-Z0-9]{4}"))).to_be_visible()
    expect(requester.get_by_test_id("state")).to_have_text("finished", timeout=SLOW)
    check_results(requester)
    assert script_errors == []


def to_section(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Campaign").get_by_role("link", name=name).click()


def check_results(page: Page) -> None:
    """The map is drawn; a click chooses an image, whose ten nearest neighbours appear."""
    to_section(page, "Map")
    canvas = page.get_by_test_id("map")
    expect(canvas).to_be_visible(timeout=SLOW)
    page.get_by_label("Find an image").fill("image-007.png")
    neighbours = page.get_by_test_id("neighbours").locator("img[data-image]")
    expect(neighbours).to_have_count(10)
    expect(page.get_by_test_id("neighbours")).to_contain_text("image-007.png")
    nearest = neighbours.first.get_attribute("alt")
    neighbours.first.click()
    expect(page.get_by_test_id("neighbours")).to_contain_text(f"Nearest to {nearest}")
    assert all(
        neighbours.evaluate_all("all => all.map(one => one.complete && one.naturalWidth > 0)")
    )


def check_exports(page: Page, folder: Path) -> None:
    to_section(page, "Exports")
    files = {}
    for name in ("answers.csv", "answers.jsonl", "embedding.csv", "embedding.npz"):
        with page.expect_download() as download:
            page.get_by_test_id("exports").locator(f"a[href$='{name}']").click()
        files[name] = folder / name
        download.value.save_as(files[name])
    answers = [json.loads(line) for line in files["answers.jsonl"].read_text().splitlines()]
    assert len(answers) == 8
    for answer in answers:
        grouped = {
            (group, image % 3)
            for image, group in zip(answer["images"], answer["groups"], strict=True)
            if group >= 0
        }
        # What the person meant is what was stored: one group for each kind of picture.
        assert len(grouped) == len({group for group, _ in grouped}) <= 3
    assert len(files["answers.csv"].read_text().splitlines()) == 1 + 8 * 9
    assert len(files["embedding.csv"].read_text().splitlines()) == 1 + N_IMAGES
    with np.load(files["embedding.npz"]) as arrays:
        assert arrays["embedding"].shape[0] == N_IMAGES
        assert np.isfinite(arrays["embedding"]).all()
