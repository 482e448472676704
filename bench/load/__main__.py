"""One campaign under load, on servers of its own: `python -m bench.load [PART ...]`.

Every part starts a system over a new database with durable commits, a bins campaign of 300 images,
and a crowd in a process of its own on the same cores. Reports answers per second, how long
annotators waited, and processor time per answer by process, in `docs/benchmarks/load.md`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import psycopg
from psycopg import sql
from sqlalchemy import func, select

from app.campaigns.links import annotator_link
from app.core.database import transaction
from app.jobs.models import Job
from bench.harness.paths import BENCHMARKS, publish
from bench.harness.servers import own_servers, use
from bench.harness.store import RowFile
from bench.harness.tables import Goal, Row, goals_table, of, table
from testbed.builders import a_campaign, a_collection, an_account
from testbed.servers import Servers
from testbed.system import System, running_system

STORED = RowFile(BENCHMARKS / "load.json", ("code", "part"), digits=3)
N_IMAGES, SHOWN = 300, 20


@dataclass(frozen=True)
class Part:
    """A crowd and what else goes on. pace: seconds from grid to grid, 0 without a pause;
    learn_every: answers from training to training, 0 for none."""

    title: str
    people: int
    pace: float = 0.0
    learn_every: int = 0
    images: bool = False


PARTS = {
    "ten": Part("10 people without a pause", 10),
    "fifty": Part("50 people without a pause", 50),
    "learning": Part("20 people without a pause, learning", 20, learn_every=200),
    "images": Part("10 people without a pause, with images", 10, images=True),
    "class": Part("500 people, 10 s a grid, learning", 500, pace=10.0, learn_every=500),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all by default")
    parser.add_argument("--code", default="today", help="the name of the code that is measured")
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    with own_servers() as (servers, folder):
        write_to_disk(servers)
        for name in options.parts or PARTS:
            row = measured(PARTS[name], servers, folder, options.seconds)
            print(name, row, flush=True)
            STORED.add({"code": options.code, "part": name, **row})
    publish("load.md", report(STORED.rows()))


def write_to_disk(servers: Servers) -> None:
    """As in production; test servers do not wait for the disk."""
    with psycopg.connect(servers.postgres.uri, autocommit=True) as connection:
        for name in ("fsync", "full_page_writes", "synchronous_commit"):
            connection.execute(sql.SQL("ALTER SYSTEM RESET {}").format(sql.Identifier(name)))
        connection.execute("SELECT pg_reload_conf()")


def measured(part: Part, servers: Servers, folder: Path, seconds: float) -> Row:
    with tempfile.TemporaryDirectory(dir=folder) as name:
        place = Path(name)
        place.chmod(0o755)
        values = {
            "DATABASE_URL": servers.new_database(),
            "LIKEWISE_SECRET_KEY": "bench",
            "LIKEWISE_DATA": str(place / "data"),
        }
        names = ("web", "worker", "dispatcher") if part.learn_every else ("web", "dispatcher")
        with running_system(values, place, *names) as system:
            use(system.environment)
            link = a_link(part)
            with processor_time(system, servers) as used:
                result = play(part, system, link, seconds)
            return {**figures(result, used), "trainings": n_trainings()}


def a_link(part: Part) -> str:
    owner = an_account()
    campaign = a_campaign(
        owner,
        a_collection(owner, n=N_IMAGES),
        kind="bins",
        strategy="crowdster",
        budget=100_000,
        rounds=2,
        grid_size=SHOWN,
        grids_per_assignment=1_000,
        learn_every=part.learn_every or 1_000_000,
    )
    return annotator_link(campaign, "").removeprefix("/a/")


def play(part: Part, system: System, link: str, seconds: float) -> Row:
    command = [
        sys.executable, "-m", "bench.load.clients", "--address", f"127.0.0.1:{system.port}",
        "--link", link, "--people", str(part.people), "--seconds", str(seconds),
        "--pace", str(part.pace), *(["--images"] if part.images else []),
    ]  # fmt: skip
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    result: Row = json.loads(done.stdout)
    return result


@contextmanager
def processor_time(system: System, servers: Servers) -> Iterator[dict[str, float]]:
    """Core seconds of each of the system's processes, with their children, during the block."""
    roots = {name: process.pid for name, process in system.processes.items()}
    assert system.valkey.process is not None
    roots["valkey"] = system.valkey.process.pid
    roots["postgresql"] = int((servers.postgres.folder / "postmaster.pid").read_text().split()[0])
    before = {name: core_seconds(pid) for name, pid in roots.items()}
    used: dict[str, float] = {}
    yield used
    used |= {name: core_seconds(pid) - before[name] for name, pid in roots.items()}


def core_seconds(pid: int) -> float:
    """Of a process and its children, also those that have ended."""
    process = psutil.Process(pid)
    own = process.cpu_times()
    total = own.children_user + own.children_system
    for each in (process, *process.children(recursive=True)):
        try:
            times = each.cpu_times()
        except psutil.NoSuchProcess:
            # It ended just now, and its parent counts it the next time.
            continue
        total += times.user + times.system
    return total


def figures(result: Row, used: dict[str, float]) -> Row:
    calls, seconds = result["calls"], result["seconds"]
    n = sum(kind == "submit" for kind, *_ in calls)
    return {
        "answers": n,
        "answers_per_second": n / seconds,
        "waits": result["n_waits"],
        **{kind: percentiles([took for each, _, took, _ in calls if each == kind])
           for kind in ("claim", "images", "submit")},
        "ms_per_answer": {name: 1000 * core / n for name, core in used.items()},
        "ms_of_client_per_answer": 1000 * result["core_seconds"] / n,
    }  # fmt: skip


def percentiles(seconds: list[float]) -> dict[str, float]:
    """In milliseconds; none of no requests."""
    if not seconds:
        return {}
    ms = 1000 * np.quantile(seconds, [0.5, 0.95, 0.99])
    return {
        name: round(float(value), 1) for name, value in zip(("p50", "p95", "p99"), ms, strict=True)
    }


def n_trainings() -> int:
    with transaction() as session:
        query = select(func.count()).select_from(Job).where(Job.state == "done")
        return session.scalar(query) or 0


def report(rows: list[Row]) -> str:
    head = ["", "code", "answers/s", "claim p50 / p95 / p99, ms", "images", "submit",
            "waits", "core ms per answer", "of these web", "PostgreSQL", "trainings"]  # fmt: skip
    body = [
        [
            part.title,
            row["code"],
            f"{row['answers_per_second']:.0f}",
            *(" / ".join(f"{value:.0f}" for value in row[kind].values())
              for kind in ("claim", "images", "submit")),
            str(row["waits"]),
            f"{sum(row['ms_per_answer'].values()):.1f}",
            f"{row['ms_per_answer']['web']:.1f}",
            f"{row['ms_per_answer']['postgresql']:.1f}",
            str(row["trainings"]),
        ]
        for name, part in PARTS.items()
        for row in of(rows, part=name)
    ]  # fmt: skip
    return "\n".join(
        [
            "# Under load",
            "",
            f"`python -m bench.load`: one bins campaign of {N_IMAGES} images, {SHOWN} in a grid, "
            "durable commits, one web process, on a machine with two cores that also runs the "
            "crowd. Trainings are included in core ms per answer where there are some.",
            "",
            *table(head, body),
            "",
            *goals_table("today", goals({row["part"]: row for row in of(rows, code="today")})),
            "",
        ]
    )


def goals(rows: dict[str, Row]) -> list[Goal]:
    """What is wanted of one campaign on two cores, with the crowd on the same machine."""
    reached = []
    for part, what, least in (
        ("ten", "answers/s without learning", 120),
        ("learning", "answers/s with learning", 80),
    ):
        if part in rows:
            rate = rows[part]["answers_per_second"]
            reached.append((what, f"{least}", f"{rate:.0f}", rate >= least))
    if "ten" in rows:
        cost = sum(rows["ten"]["ms_per_answer"].values())
        reached.append(("core ms for an answer", "at most 8", f"{cost:.1f}", cost <= 8))
    for kind, most in (("claim", 200), ("submit", 300)) if "class" in rows else ():
        p99 = rows["class"][kind]["p99"]
        goal = (f"500 people, {kind}, p99", f"less than {most} ms", f"{p99:.0f} ms", p99 < most)
        reached.append(goal)
    return reached


if __name__ == "__main__":
    main()
