"""The page Alignment: two uploaded tables and computed features are aligned and compared, the
export is loaded by a program without Likewise, and a new picture finds its neighbours."""

import io
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Browser, FilePayload, Locator, Page, expect

from app.accounts.models import Account
from app.accounts.service import create_sign_in_link
from app.campaigns.models import Campaign
from app.collections.models import Collection
from app.collections.service import add_files, create_collection
from app.core.database import transaction
from likewise.client import BadRequest, Conflict, Likewise
from testbed.builders import a_campaign, an_account, an_api_token
from testbed.system import System, running_system
from tests.app.test_alignments import loaded_outside
from tests.support import axe
from tests.support.aligned_campaigns import N, answered_campaign, clip_of, seen_in
from tests.support.feature_sets import a_vector_table

pytestmark = pytest.mark.browser
WIDTHS = (1440, 390)
SLOW = 300_000


@pytest.fixture
def system(environment: dict[str, str], tmp_path: Path) -> Iterator[System]:
    with running_system(environment, tmp_path) as running:
        yield running


def picture(seen: NDArray[np.float64], number: int = 200) -> bytes:
    """A picture whose colour is what the crowd sees, with grey stripes and a number of its own."""
    red, blue = np.clip(128 + 50 * seen, 0, 255)
    pixels = np.full((96, 96, 3), (red, 128, blue), np.uint8)
    pixels[::12] = 128
    pixels[0, 0] = number
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def coloured_collection(owner: Account) -> Collection:
    files = [(f"image-{k:03d}.png", picture(seen, k)) for k, seen in enumerate(seen_in(clip_of()))]
    with transaction() as session:
        collection = create_collection(session, owner, "Colours")
        add_files(session, owner, collection, files)
        return collection


def upload(page: Page, file: Path, name: str) -> None:
    page.get_by_role("button", name="Upload features").click()
    dialog = page.get_by_role("dialog", name="Upload features")
    dialog.get_by_label("File of vectors").set_input_files(file)
    dialog.get_by_label("Name", exact=True).fill(name)
    dialog.get_by_role("button", name="Upload", exact=True).click()
    expect(dialog).to_be_hidden()


def item(page: Page, name: str) -> Locator:
    return page.get_by_test_id("alignment").filter(has_text=name)


def clean(page: Page, folder: Path, name: str) -> None:
    """Screenshots at two widths, without violations of axe or anything that is too wide."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 1000})
        assert axe.violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.screenshot(path=folder / f"alignment-{name}-{width}.png", full_page=True)
    page.set_viewport_size({"width": 1440, "height": 1000})


def tables(folder: Path) -> dict[str, Path]:
    noise = np.random.default_rng(5).normal(size=(N, 8)).astype(np.float32)
    paths = {}
    for name, values in {"clip": clip_of(), "noise": noise}.items():
        paths[name] = folder / f"{name}.csv"
        paths[name].write_bytes(a_vector_table(values))
    return paths


def test_alignment_page(browser: Browser, system: System, tmp_path: Path) -> None:
    shots = Path(os.environ.get("ALIGNMENT_SHOTS", tmp_path))
    owner = an_account()
    collection = coloured_collection(owner)
    campaign = answered_campaign(owner, collection, strategy="cen", n_grids=90)
    page = browser.new_context(viewport={"width": 1440, "height": 1000}).new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    with transaction() as session:
        page.goto(create_sign_in_link(session, owner, system.base_url))
    page.get_by_role("button", name="Sign in").click()
    page.goto(f"{system.base_url}/collections/{collection.id}")
    for name, path in tables(tmp_path).items():
        upload(page, path, name)

    page.goto(f"{system.base_url}/campaigns/{campaign.id}")
    page.get_by_role("link", name="Alignment").click()
    section = page.get_by_test_id("alignments")
    expect(page.get_by_test_id("find-by-example")).to_contain_text("Align features that the server")
    clean(page, shots, "empty")
    section.get_by_label("clip").focus()
    page.keyboard.press("Space")
    for name in ("noise", "appearance"):
        section.get_by_label(name).check()
    section.get_by_role("button", name="Align 3 feature sets").press("Enter")
    bar = page.get_by_role("progressbar", name="Aligning clip")
    expect(bar.or_(item(page, "clip").get_by_text("ready")).first).to_be_visible()
    clean(page, shots, "running")
    for name in ("clip", "noise", "appearance"):
        expect(item(page, name).get_by_text("ready", exact=True)).to_be_visible(timeout=SLOW)

    expect(item(page, "noise")).to_contain_text("do not predict which images")
    figures = page.get_by_test_id("alignment-figures")
    rows = {
        row.get_by_role("rowheader").inner_text(): row for row in figures.locator("tr").all()[1:]
    }
    assert set(rows) >= {"clip", "noise", "appearance", "Chance", "Campaign"}
    assert auc(rows["clip"]) > auc(rows["clip"], "raw") + 0.1
    assert auc(rows["noise"]) == 0.5
    expect(page.get_by_test_id("alignment-attributes")).to_be_visible()

    with page.expect_download() as download:
        item(page, "clip").get_by_role("link", name="Download").click()
    data = Path(download.value.path()).read_bytes()
    position, deviation = loaded_outside(data, clip_of(5, seed=8), tmp_path)
    assert position.shape == deviation.shape
    assert np.isfinite(position).all()
    assert (deviation >= 0).all()
    assert (deviation.max(axis=1) > 0).all()

    find_by_example(page, campaign, shots)
    assert problems == []
    by_the_client(system, owner, campaign, tmp_path)


def auc(row: Locator, which: str = "aligned") -> float:
    cells = row.locator("td").all()
    return float(cells[0 if which == "raw" else 1].inner_text().split()[0])


def find_by_example(page: Page, campaign: Campaign, shots: Path) -> None:
    section = page.get_by_test_id("find-by-example")
    files = section.get_by_label("Drop up to 20 images here")
    bad: FilePayload = {"name": "broken.png", "mimeType": "image/png", "buffer": b"no picture"}
    files.set_input_files(bad)
    expect(section.get_by_role("alert")).to_contain_text("'broken.png'")
    clean(page, shots, "error")
    new = np.array([1.4, -1.2])
    data = page.evaluate_handle(
        """bytes => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([new Uint8Array(bytes)], 'new.png', {type: 'image/png'}));
            return transfer;
        }""",
        list(picture(new)),
    )
    section.get_by_role("group", name="New images").dispatch_event("drop", {"dataTransfer": data})
    place = page.get_by_test_id("place")
    expect(place).to_contain_text("new.png", timeout=60_000)
    near = place.locator("ol img")
    expect(near).to_have_count(12)
    names = [str(image.get_attribute("alt")) for image in near.all()[:4]]
    truth = seen_in(clip_of())
    apart = [np.linalg.norm(truth[int(name[6:9])] - new) for name in names]
    assert float(np.mean(apart)) < 0.6 * float(np.linalg.norm(truth - new, axis=1).mean())
    expect(place.get_by_role("img", name="Place of new.png on the map")).to_be_visible()
    clean(page, shots, "neighbours")
    place.locator("ol a").first.click()
    page.wait_for_url(f"**/campaigns/{campaign.id}/map?selected=*")


def by_the_client(system: System, owner: Account, campaign: Campaign, folder: Path) -> None:
    """What the page did, by the Python client, with a worker that aligns once more."""
    file, bad = folder / "new.png", folder / "bad.png"
    file.write_bytes(picture(np.array([1.4, -1.2])))
    bad.write_bytes(b"no picture")
    with Likewise(system.base_url, an_api_token(owner)) as likewise:
        own = likewise.campaign(str(campaign.id))
        before = {item.features: item for item in own.alignments()}
        [clip] = own.align("clip", timeout=SLOW / 1000, poll=0.5)
        assert (clip.id, clip.state, clip.used) == (before["clip"].id, "done", True)
        new = clip_of(3, seed=5)
        places = own.place_vectors("clip", new, k=4)
        assert [place.name for place in places] == ["0", "1", "2"]
        assert [len(place.neighbours) for place in places] == [4, 4, 4]
        data = own.download_alignment("clip", folder).read_bytes()
        position, _ = loaded_outside(data, new, folder)
        assert np.allclose(position, [place.position for place in places], atol=1e-4)
        [place] = own.place_images("appearance", [file], k=2)
        assert (place.name, len(place.neighbours)) == ("new.png", 2)
        with pytest.raises(BadRequest, match=r"'bad\.png'"):
            own.place_images("appearance", [bad])
        with pytest.raises(Conflict, match="were uploaded"):
            own.place_images("clip", [file])
        with pytest.raises(Conflict, match="do not predict"):
            own.place_vectors("noise", [[1.0] * 8])
        with pytest.raises(KeyError):
            own.place_images("objects", [file])


def test_nothing_to_align_yet(browser: Browser, system: System, tmp_path: Path) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    page = browser.new_context(viewport={"width": 1440, "height": 1000}).new_page()
    with transaction() as session:
        page.goto(create_sign_in_link(session, owner, system.base_url))
    page.get_by_role("button", name="Sign in").click()
    page.goto(f"{system.base_url}/campaigns/{campaign.id}/alignment")
    expect(page.get_by_test_id("alignments")).to_contain_text(
        "once the campaign has its first model"
    )
    clean(page, tmp_path, "nothing")
