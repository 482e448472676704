"""Bird photographs grouped by a paid crowd, imported into the running system.

The answers (Chen and Vinayak, WWW 2025; 342 photographs of six species, 3 to 5 per grid) come
from a folder that is not part of the product. Placeholder pictures replace the photographs: each
species has its own shape and colour, each bird its own variation and its number. They become a
collection and a CEN campaign, and `likewise import-answers` imports the answers. Once there is a
model, Chromium opens map, attributes and clusters. Needs `make up` running.

    python -m bench.birds_campaign FOLDER_OF_THE_ANSWERS --out FOLDER_FOR_SCREENSHOTS
"""

import argparse
import csv
import subprocess
import sys
import time
from pathlib import Path
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from PIL import ImageDraw, ImageFont
from playwright.sync_api import Page, expect
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_mutual_info_score

from app.accounts.service import create_sign_in_link
from app.campaigns.models import Campaign
from app.campaigns.plan import CampaignPlan
from app.core.database import transaction
from app.core.settings import get_settings
from app.jobs.service import latest_job
from app.results.service import get_model
from bench.harness.campaigns import new_collection, published_embedding, start
from demo.shapes import SHAPES
from learning.neighbors import nearest_neighbors
from likewise import environment
from likewise.commands.shared import owner_of
from testbed.browser import chromium
from testbed.system import wait_until

# First image of each species, and how many images there are.
BOUNDS = (0, 60, 120, 178, 235, 292, 342)
COLOURS = (
    (214, 76, 66), (66, 118, 200), (60, 152, 92), (222, 164, 40), (134, 88, 176), (70, 160, 170)
)  # fmt: skip
SPECIES = tuple(f"species {letter}" for letter in "ABCDEF")
EDGE, NEIGHBOURS, PATIENCE_SECONDS = 96, 10, 1_200
SLOW = 120_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="Folder with birds_grid4.jsonl.gz.")
    parser.add_argument("--file", default="birds_grid4.jsonl.gz")
    parser.add_argument("--strategy", default="cen")
    parser.add_argument("--out", type=Path, required=True, help="Folder for screenshots.")
    options = parser.parse_args()
    environment.load()
    campaign_id = _campaign(options.strategy, options.file)
    began = time.monotonic()
    file = options.folder / options.file
    command = [sys.executable, "-m", "likewise.cli", "import-answers", str(campaign_id), str(file)]
    subprocess.run([*command, "--by", "position"], check=True)
    print(f"imported in {time.monotonic() - began:.1f} s")
    _wait_for_model(campaign_id)
    print(f"model after {time.monotonic() - began:.0f} s")
    print(figures(campaign_id))
    options.out.mkdir(parents=True, exist_ok=True)
    _look(campaign_id, options.out)


def _campaign(strategy: str, name: str) -> UUID:
    plan = CampaignPlan(
        name=f"Birds: {name}",
        collection_id=new_collection("Placeholder birds", write_birds),
        strategy=strategy,
        question="Which of these birds are of the same species?",
        budget=100,
        grid_size=4,
        seed=0,
    )
    return start(plan).id


def write_birds(folder: Path) -> Path:
    """Write a picture of every bird, in the order of their positions, and their species."""
    with (folder / "species.csv").open("w", encoding="utf-8", newline="") as table:
        rows = csv.writer(table, lineterminator="\n")
        rows.writerow(("filename", "species"))
        for number, species in enumerate(species_of_birds().tolist()):
            filename = f"bird-{number:03d}.png"
            draw_bird(number, species).save(folder / filename)
            rows.writerow((filename, SPECIES[species]))
    return folder


def species_of_birds() -> NDArray[np.int64]:
    """(342,) the species of each bird."""
    return np.repeat(np.arange(len(SPECIES)), np.diff(BOUNDS))


def draw_bird(number: int, species: int) -> Pillow.Image:
    """Draw the shape and colour of its species, varied, with its number."""
    rng = np.random.default_rng([species, number])
    ink = np.clip(np.array(COLOURS[species]) + rng.normal(0, 18, 3), 0, 255).astype(int)
    picture = Pillow.new("RGB", (EDGE, EDGE), (244, 240, 232))
    canvas = ImageDraw.Draw(picture)
    centre = (float(rng.uniform(42, 54)), float(rng.uniform(36, 44)))
    radius, turn = float(rng.uniform(26, 34)), float(rng.uniform(-0.35, 0.35))
    draw = list(SHAPES.values())[species]
    draw(canvas, centre, radius, turn, (int(ink[0]), int(ink[1]), int(ink[2])))
    canvas.text((EDGE / 2, EDGE - 4), str(number), (40, 40, 40), ImageFont.load_default(20), "md")
    return picture


def _wait_for_model(campaign_id: UUID) -> None:
    """Wait for the model; raises RuntimeError if the training fails or takes too long."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        with transaction() as session:
            job = latest_job(session, campaign_id)
        if job is not None and job.state == "done":
            return
        if job is not None and job.state == "failed":
            raise RuntimeError(f"The training failed: {job.error}")
        time.sleep(1)
    raise RuntimeError(f"No model was learned within {PATIENCE_SECONDS} s.")


def figures(campaign_id: UUID) -> str:
    """Figures of how well the published model separates the species."""
    with transaction() as session:
        model = get_model(session, session.get_one(Campaign, campaign_id))
    embedding = published_embedding(campaign_id)
    species = species_of_birds()
    clusters = KMeans(len(SPECIES), n_init=10, random_state=0).fit_predict(embedding)
    same = species[nearest_neighbors(embedding, NEIGHBOURS)] == species[:, None]
    return (
        f"model {model.version} of {model.n_answers} answers, {embedding.shape[1]} dimensions: "
        f"AMI of k-means and species {adjusted_mutual_info_score(species, clusters):.3f}, "
        f"{same.mean():.3f} of the ten nearest of the same species, metrics {model.metrics}"
    )


def _look(campaign_id: UUID, out: Path) -> None:
    root = f"{get_settings().base_url}/campaigns/{campaign_id}"
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        with transaction() as session:
            link = create_sign_in_link(session, owner_of(session, ""), get_settings().base_url)
        page.goto(link)
        page.get_by_role("button", name="Sign in").click()
        page.goto(root)
        expect(page.get_by_test_id("imported")).to_be_visible()
        _shot(page, out / "campaign.png")
        _look_at_map(page, root, out)
        page.goto(f"{root}/attributes")
        expect(page.get_by_role("img").first).to_be_visible()
        _shot(page, out / "attributes.png")
        page.goto(f"{root}/clusters")
        page.get_by_role("spinbutton", name="Clusters").fill(str(len(SPECIES)))
        page.get_by_role("button", name="Make clusters").click()
        expect(page.locator("article[data-cluster]")).to_have_count(len(SPECIES))
        _shot(page, out / "clusters.png")


def _look_at_map(page: Page, root: str, out: Path) -> None:
    page.goto(f"{root}/map")
    expect(page.get_by_test_id("map")).to_have_attribute("data-settled", "true", timeout=SLOW)
    _shot(page, out / "map.png")
    page.goto(f"{root}/map?colour=attribute:species")
    expect(page.get_by_test_id("map")).to_have_attribute("data-settled", "true", timeout=SLOW)
    _shot(page, out / "map-species.png")
    page.goto(f"{root}/map?colour=attribute:species&layout=tsne")
    expect(page.get_by_test_id("map")).to_have_attribute("data-settled", "true", timeout=SLOW)
    _shot(page, out / "map-tsne.png")


def _shot(page: Page, file: Path) -> None:
    loaded = "() => [...document.images].every((image) => image.complete)"
    wait_until("the images of a page", lambda: bool(page.evaluate(loaded)))
    page.screenshot(path=file, full_page=True)
    print(file)


if __name__ == "__main__":
    main()
