"""One run: a system over a new database, its campaigns, and a crowd in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import func, select

from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.jobs.models import Job
from bench.harness.servers import use
from bench.harness.tables import Row
from bench.load.filling import fill, settle
from bench.load.measuring import figures, processes_of, processor_time
from bench.load.parts import N_IMAGES, SHOWN, Part
from testbed.builders import a_campaign, a_collection, an_account
from testbed.servers import Servers
from testbed.system import System, running_system

# Grids of all campaigns together that a run may use up.
GRIDS = 100_000


@contextmanager
def a_system(servers: Servers, folder: Path, *names: str, **settings: str) -> Iterator[System]:
    """Processes over a new database, which this process uses as well."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        place = Path(name)
        place.chmod(0o755)
        values = {
            "DATABASE_URL": servers.new_database(),
            "LIKEWISE_SECRET_KEY": "bench",
            "LIKEWISE_DATA": str(place / "data"),
            **settings,
        }
        with running_system(values, place, *names) as system:
            use(system.environment)
            yield system


def measured(part: Part, servers: Servers, folder: Path, seconds: float) -> Row:
    names = [f"web-{n}" if n > 1 else "web" for n in range(1, part.servers + 1)]
    names += ["worker", "dispatcher"] if part.learn_every else ["dispatcher"]
    with a_system(servers, folder, *names) as system:
        links = campaigns_of(part, system.environment["DATABASE_URL"])
        command = [*crowd_command(part, system, links), "--seconds", str(seconds),
                   "--pace", str(part.pace), *(["--images"] if part.images else [])]  # fmt: skip
        with processor_time(processes_of(system, servers)) as used:
            result = play("bench.load.clients", command)
        return {**figures(result, used), "trainings": n_trainings()}


def campaigns_of(part: Part, database: str) -> list[str]:
    """Their links."""
    owner = an_account()
    collection = a_collection(owner, n=N_IMAGES)
    campaigns = [
        a_campaign(
            owner,
            collection,
            kind="bins",
            strategy="crowdster",
            budget=GRIDS // part.campaigns,
            rounds=2,
            grid_size=SHOWN,
            grids_per_assignment=1_000,
            learn_every=part.learn_every or 1_000_000,
        )
        for _ in range(part.campaigns)
    ]
    if part.answers:
        for campaign in campaigns:
            fill(database, campaign.id, part.answers)
        settle(database)
    return [link_of(campaign) for campaign in campaigns]


def link_of(campaign: Campaign) -> str:
    return annotator_link(campaign, "").removeprefix("/a/")


def crowd_command(part: Part, system: System, links: Sequence[str]) -> list[str]:
    """Arguments of every crowd (bench.load.clients.crowd_parser) but for its time."""
    webs = [name for name in system.processes if name.partition("-")[0] == "web"]
    addresses = [f"127.0.0.1:{system.port_of(name)}" for name in webs]
    return [
        *(part for address in addresses for part in ("--address", address)),
        *(part for link in links for part in ("--link", link)),
        "--people",
        str(part.people),
    ]


def play(module: str, arguments: Sequence[str]) -> Row:
    """What the crowd of a module prints."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    result: Row = json.loads(done.stdout)
    return result


def n_trainings() -> int:
    with transaction() as session:
        query = select(func.count()).select_from(Job).where(Job.state == "done")
        return session.scalar(query) or 0
