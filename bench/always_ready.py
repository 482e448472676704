"""Measures whether anybody waits while a round is learned, with fifty annotators and 1,000 colours.

It uses the running system (`make up`) and a bins campaign with five rounds of 240 answers; the
simulated annotators take some seconds per grid. It measures how long "next grid" takes for them,
while a learning job runs and otherwise, who had to wait, and how old grids were. Writes
`docs/benchmarks/always_ready.md`.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence

import numpy as np
from sqlalchemy import select

from app.campaigns.models import Campaign, Grid, Round
from app.campaigns.plan import CampaignPlan
from app.core.database import transaction
from app.jobs.models import Job
from app.planning.crowd import CrowdTraits
from bench.harness.campaigns import new_collection, start, wait_until_finished
from bench.harness.paths import publish
from bench.harness.tables import table
from demo.colours import write_colours
from likewise import environment
from likewise.commands.simulate import run_crowd
from likewise.simulation import Handout

ANNOTATORS, IMAGES, BUDGET, ROUNDS = 50, 1_000, 1_200, 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--pace", type=float, default=4.0, help="seconds per grid for each annotator"
    )
    pace = parser.parse_args().pace
    environment.load()
    campaign = _start()
    run = run_crowd(str(campaign.id), "features", CrowdTraits(ANNOTATORS, 0.0), pace)
    wait_until_finished(campaign)
    publish("always_ready.md", report(campaign, run.handouts, run.seconds, pace))


def _start() -> Campaign:
    name = f"Bench ready {time.time():.0f}"
    plan = CampaignPlan(
        name=name,
        collection_id=new_collection(name, lambda folder: write_colours(folder, IMAGES, seed=7)),
        kind="bins",
        strategy="crowdster",
        budget=BUDGET,
        rounds=ROUNDS,
        learn_every=BUDGET,
        grids_per_assignment=100,
        seed=0,
    )
    return start(plan)


def report(campaign: Campaign, handouts: list[Handout], seconds: float, pace: float) -> str:
    """The results as Markdown."""
    with transaction() as session:
        jobs = session.scalars(select(Job).where(Job.campaign_id == campaign.id)).all()
        rows = session.execute(
            select(Round.number, Grid.basis).join(Grid).where(Round.campaign_id == campaign.id)
        ).all()
    spans = [(job.started_at, job.finished_at) for job in jobs]
    learning = [any(a and b and a <= handout.at <= b for a, b in spans) for handout in handouts]
    behind = Counter((number, number - 1 - basis) for number, basis in rows)
    # At the very end, some wait in case a grid that others hold is returned.
    last_lease = max(handout.at for handout in handouts if handout.status == "leased")
    n_waits = sum(handout.status == "wait" and handout.at < last_lease for handout in handouts)
    parts = {"while a round is learned": learning, "otherwise": [not learns for learns in learning]}
    head = ["next grid, as annotators see it", "requests", "median, ms", "99th percentile, ms"]
    lines = [
        "# Nobody waits",
        "",
        f"{ANNOTATORS} simulated annotators, {pace:g} s per grid, {IMAGES:,} colours, {BUDGET:,}",
        f"answers in {ROUNDS} rounds, played in {seconds:.0f} s on the machine that also runs the",
        "server, the database and the learning (two cores). `python -m bench.always_ready`.",
        "",
        *table(head, [_times(name, handouts, chosen) for name, chosen in parts.items()]),
        "",
        f"Requests that had to wait: {n_waits} of {len(handouts)}.",
        f"Learning jobs took {_durations(jobs)} s, including the start of the process.",
        "",
    ]
    body = []
    for number in range(1, ROUNDS + 1):
        more = sum(
            n for (round_number, late), n in behind.items() if round_number == number and late > 1
        )
        body.append(map(str, (number, behind[(number, 0)], behind[(number, 1)], more)))
    lines += table(["round", "grids of the newest model", "one model behind", "more"], body)
    return "\n".join(lines) + "\n"


def _times(name: str, handouts: list[Handout], chosen: list[bool]) -> list[str]:
    times = [
        1_000 * handout.seconds for handout, here in zip(handouts, chosen, strict=True) if here
    ]
    if not times:
        return [name, "0", "", ""]
    middle, slow = np.quantile(times, [0.5, 0.99])
    return [name, str(len(times)), f"{middle:.0f}", f"{slow:.0f}"]


def _durations(jobs: Sequence[Job]) -> str:
    took = sorted(
        (job.finished_at - job.started_at).total_seconds()
        for job in jobs
        if job.finished_at and job.started_at
    )
    return f"{took[0]:.1f} … {took[-1]:.1f}"


if __name__ == "__main__":
    main()
