"""Compares the planner's estimate for the demo campaigns with what simulated runs then need.

In the running system (`make up`), a dry run of a copy of each demo campaign gives the number of
answers for a quality. Then other simulated crowds (`likewise simulate`) play copies with three
quarters, once and five quarters of that budget over HTTP. The number needed is interpolated
between the budgets, each the mean of three crowds. Writes `docs/benchmarks/planner.md`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from sqlalchemy import select

from app.campaigns.changes import plan_of
from app.campaigns.models import Campaign
from app.campaigns.service import create_campaign, start_campaign
from app.core.database import transaction
from app.planning.crowd import CrowdTraits, make_crowd, read_images
from app.planning.dry_run import answers_needed
from app.planning.service import ends_of, read_plan, request_dry_run
from bench.harness.campaigns import published_embedding, wait_until_finished
from bench.harness.paths import publish
from bench.harness.tables import table
from learning.simulation import neighbours_right, true_distances
from likewise import environment
from likewise.commands.demo import COLOUR_CAMPAIGN, EMOJI_CAMPAIGN
from likewise.commands.shared import owner_of
from likewise.commands.simulate import run_crowd

CASES = {COLOUR_CAMPAIGN: ["features"], EMOJI_CAMPAIGN: ["category", "colour"]}
TARGETS = (0.5, 0.6, 0.7)
FACTORS = (0.75, 1.0, 1.25)
PACE = 0.5
# These crowds differ from those of a dry run; single crowds vary by about 0.05.
SEEDS = (1_000, 1_001, 1_002)


@dataclass(frozen=True)
class Case:
    """One row: the estimate, each budget's quality, and the number needed (None: outside)."""

    name: str
    target: float
    estimate: float
    qualities: list[tuple[int, float]]
    seconds: float

    @property
    def needed(self) -> float | None:
        budgets = np.log([budget for budget, _ in self.qualities])
        right = np.maximum.accumulate([share for _, share in self.qualities])
        if not right[0] <= self.target <= right[-1]:
            return None
        return float(np.exp(np.interp(self.target, right, budgets)))


def main() -> None:
    environment.load()
    cases = [case for name, by in CASES.items() for case in measure(name, by)]
    publish("planner.md", report(cases))


def measure(name: str, by: list[str]) -> list[Case]:
    """Run the dry run once, then three campaigns for each quality."""
    draft = _copy(name, budget=None, seed=SEEDS[0])
    started = time.monotonic()
    with transaction() as session:
        request_dry_run(session, owner_of(session, ""), draft.id, by)
    while (state := _dry_run_state(draft)) != "done":
        if state == "failed":
            raise RuntimeError(f"the dry run of {name} failed")
        time.sleep(0.5)
    seconds = time.monotonic() - started
    with transaction() as session:
        run = read_plan(session, session.get_one(Campaign, draft.id)).dry_run
    assert run is not None
    cases = []
    for target in TARGETS:
        estimate = answers_needed(ends_of(run), target)
        if estimate is None:
            continue
        qualities = [_mean_quality(name, by, round(factor * estimate)) for factor in FACTORS]
        cases.append(Case(name, target, estimate, qualities, seconds))
        print(cases[-1], cases[-1].needed, flush=True)
    return cases


def _copy(name: str, budget: int | None, seed: int) -> Campaign:
    with transaction() as session:
        owner = owner_of(session, "")
        # Other campaigns may have got the same name since.
        query = select(Campaign).where(Campaign.name == name).order_by(Campaign.created_at)
        plan = plan_of(session.scalars(query.limit(1)).one())
        changes = {
            "name": f"Bench planner {budget} {seed} {time.time():.0f}",
            "seed": seed,
            "budget": budget or plan.budget,
            "learn_every": 1_000_000,
            "grids_per_assignment": 1_000,
            "annotation": {},
        }
        return create_campaign(session, owner, plan.model_copy(update=changes))


def _dry_run_state(campaign: Campaign) -> str:
    with transaction() as session:
        job = read_plan(session, session.get_one(Campaign, campaign.id)).job
        return job.state if job else ""


def _mean_quality(name: str, by: list[str], budget: int) -> tuple[int, float]:
    """(budget, share of the nearest neighbours that are right), over campaigns in the system."""
    return budget, float(np.mean([_played(name, by, budget, seed) for seed in SEEDS]))


def _played(name: str, by: list[str], budget: int, seed: int) -> float:
    campaign = _copy(name, budget, seed)
    traits = CrowdTraits(seed=seed)
    with transaction() as session:
        start_campaign(session, owner_of(session, ""), campaign.id)
    run_crowd(str(campaign.id), ",".join(by), traits, PACE)
    campaign = wait_until_finished(campaign)
    with transaction() as session:
        crowd = make_crowd(read_images(session, campaign), by, traits)
    return float(neighbours_right(published_embedding(campaign.id), true_distances(crowd)).mean())


def report(cases: list[Case]) -> str:
    """The results as Markdown."""
    lines = [
        "# The planner's estimate",
        "",
        "Copies of the demo campaigns in the running system, each budget played by three different",
        f"simulated crowds over HTTP ({CrowdTraits().annotators} annotators, {PACE:g} s per grid), "
        "means. Quality:",
        "share of each image's ten nearest neighbours that are right. `python -m bench.planner`.",
        "",
    ]
    head = ["campaign", "quality wanted", "estimate", "found with ¾, 1, 1¼ of it", "needed"]
    body = []
    for case in cases:
        qualities = ", ".join(f"{share:.2f}" for _, share in case.qualities)
        needed = case.needed
        ratio = [f"{needed:.0f}", f"{case.estimate / needed:.2f}"] if needed else ["outside", "–"]
        body.append([case.name, f"{case.target:.0%}", f"{case.estimate:.0f}", qualities, *ratio])
    lines += table([*head, "estimate / needed"], body)
    seconds = {case.name: case.seconds for case in cases}
    lines += ["", *(f"Dry run of {name}: {took:.0f} s." for name, took in seconds.items())]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
