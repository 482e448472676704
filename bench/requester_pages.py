"""How long a requester waits for a page, alone and while ten people answer without a pause.

`python -m bench.requester_pages`: a system of its own, a campaign of 200 images that has
finished, and another one that the crowd answers. Each page is opened in a browser that has
opened it before; it counts until its figures are shown. Writes a section of
`docs/benchmarks/results_pages.md`.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from uuid import uuid4

from playwright.sync_api import Locator, Page
from sqlalchemy import func, select

from app.accounts.models import Account
from app.accounts.service import create_sign_in_link
from app.campaigns.models import Campaign
from app.collections.models import Collection
from app.core.database import transaction
from app.planning.crowd import CrowdTraits, make_crowd, read_images
from app.results.models import Model
from bench.harness.campaigns import wait_until_finished
from bench.harness.sections import publish_section
from bench.harness.servers import own_servers
from bench.harness.tables import table
from bench.load.measuring import write_to_disk
from bench.load.runs import a_system, link_of
from likewise.simulation import CrowdRun
from testbed.browser import chromium
from testbed.builders import a_campaign, a_collection, a_draft, an_account
from testbed.system import System

N_IMAGES, PEOPLE, WARM_UP_SECONDS = 200, 10, 5.0
BUDGET, GRID_SIZE = 60, 24
SHOWN_WITHIN_MS = 60_000
Times = dict[str, list[float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=9)
    runs = parser.parse_args().runs
    with own_servers() as (servers, folder):
        write_to_disk(servers)
        with a_system(servers, folder, "web", "worker", "dispatcher") as system:
            owner = an_account()
            learned = a_learned_campaign(system, owner)
            open_one = a_campaign(
                owner,
                kind="bins",
                strategy="crowdster",
                budget=100_000,
                grid_size=20,
                grids_per_assignment=1_000,
                learn_every=1_000_000,
            )
            with signed_in(system, owner) as page:
                alone = measured(page, system, learned, runs)
                with a_crowd_at(system, open_one):
                    loaded = measured(page, system, learned, runs)
    publish_section("results_pages.md", "How long a requester waits", report(alone, loaded, runs))


def a_learned_campaign(system: System, owner: Account) -> Campaign:
    collection = a_collection(owner, n=N_IMAGES)
    campaign = a_campaign(owner, collection, budget=BUDGET, rounds=2, grid_size=GRID_SIZE)
    with transaction() as session:
        crowd = make_crowd(read_images(session, campaign), ["colour"], CrowdTraits(10, 0.1))
    CrowdRun(
        base_url=system.base_url,
        link=link_of(campaign),
        kind=campaign.kind,
        max_groups=campaign.max_groups,
        crowd=crowd,
        seed=0,
    ).play()
    wait_until_finished(campaign)
    return campaign


@contextmanager
def signed_in(system: System, owner: Account) -> Iterator[Page]:
    with transaction() as session:
        link = create_sign_in_link(session, owner, system.base_url)
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(SHOWN_WITHIN_MS)
        page.goto(link)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="Campaigns").wait_for()
        yield page


@contextmanager
def a_crowd_at(system: System, campaign: Campaign) -> Iterator[None]:
    """People who answer without a pause, until the end of the block."""
    address = f"127.0.0.1:{system.port_of('web')}"
    arguments = ["--address", address, "--link", link_of(campaign), "--people", str(PEOPLE)]
    command = [sys.executable, "-m", "bench.load.clients", *arguments, "--seconds", "3600"]
    crowd = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        time.sleep(WARM_UP_SECONDS)
        if crowd.poll() is not None:
            raise RuntimeError(f"the crowd ended with code {crowd.returncode}")
        yield
    finally:
        crowd.kill()
        crowd.wait()


def measured(page: Page, system: System, campaign: Campaign, runs: int) -> Times:
    """Seconds of each opening; the first, which fills the caches, is left out."""
    root = f"{system.base_url}/campaigns/{campaign.id}"
    api = f"{system.base_url}/api/v1/campaigns/{campaign.id}"
    with transaction() as session:
        own = select(func.max(Model.version)).where(Model.campaign_id == campaign.id)
        model = f"{api}/models/{session.scalar(own)}"
    steps: Mapping[str, Callable[[], float]] = {
        "first page": lambda: opened(page, system.base_url, page.get_by_role("main")),
        "campaign": lambda: opened(page, root, page.get_by_test_id("answers")),
        "map": lambda: opened(page, f"{root}/map", page.get_by_test_id("map")),
        "attributes": lambda: opened(page, f"{root}/attributes", page.get_by_role("img").first),
        "annotators": lambda: opened(page, f"{root}/annotators", page.locator("tbody tr").first),
        "a number of clusters suggested": lambda: asked(page, f"{model}/cluster-suggestion"),
        "plan of a new draft": lambda: plan_of_a_draft(page, system, campaign),
    }
    return {name: [step() for _ in range(runs + 1)][1:] for name, step in steps.items()}


def plan_of_a_draft(page: Page, system: System, campaign: Campaign) -> float:
    """Costs and expectations of a campaign that nobody has planned before."""
    with transaction() as session:
        owner = session.get_one(Account, campaign.owner_id)
        collection = session.get_one(Collection, campaign.collection_id)
    draft = a_draft(owner, collection, budget=BUDGET, grid_size=GRID_SIZE, name=str(uuid4()))
    return asked(page, f"{system.base_url}/api/v1/campaigns/{draft.id}/plan")


def opened(page: Page, address: str, content: Locator) -> float:
    began = time.perf_counter()
    page.goto(address)
    content.wait_for()
    return time.perf_counter() - began


def asked(page: Page, address: str) -> float:
    began = time.perf_counter()
    response = page.request.get(address, timeout=SHOWN_WITHIN_MS)
    if not response.ok:
        raise RuntimeError(f"{address}: {response.status} {response.text()}")
    return time.perf_counter() - began


def report(alone: Times, loaded: Times, runs: int) -> str:
    head = ["page", "alone", f"while {PEOPLE} people answer without a pause"]
    body = [[name, milliseconds(alone[name]), milliseconds(loaded[name])] for name in alone]
    about = (
        f"Milliseconds until the figures are shown, median of {runs} openings (slowest in "
        f"brackets): {N_IMAGES} images, {BUDGET} answers, in Chromium on the same two cores as the "
        "server and the crowd. `python -m bench.requester_pages`."
    )
    return "\n".join([about, "", *table(head, body)])


def milliseconds(seconds: list[float]) -> str:
    return f"{1000 * statistics.median(seconds):.0f} ({1000 * max(seconds):.0f})"


if __name__ == "__main__":
    main()
