"""`likewise simulate`: a crowd of simulated annotators answers a campaign over the HTTP API."""

import json
from pathlib import Path
from typing import Annotated

import typer

from app.campaigns.models import Campaign
from app.campaigns.service import annotator_link
from app.core.settings import get_settings
from likewise import environment
from likewise.commands.shared import find_campaign
from likewise.simulation import CrowdRun, CrowdTraits, load_crowd


def simulate(
    campaign: Annotated[str, typer.Argument(help="Name or id of a running campaign.")],
    annotators: Annotated[int, typer.Option(min=1, max=2000)] = 8,
    by: Annotated[
        str, typer.Option(help="Attributes to group by, or `features` for k-means on them.")
    ] = "",
    noise: Annotated[float, typer.Option(min=0, max=1, help="Share of misplaced images.")] = 0.1,
    preference: Annotated[
        float, typer.Option(min=0, max=1, help="How often annotators use their own attribute.")
    ] = 0.8,
    coarse: Annotated[
        float, typer.Option(min=0, max=1, help="Share of annotators who make few groups.")
    ] = 0.0,
    careless: Annotated[
        float, typer.Option(min=0, max=1, help="Share of answers without thought.")
    ] = 0.0,
    salience: Annotated[
        float, typer.Option(min=0, help="How much what varies in a grid draws attention.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    pace: Annotated[float, typer.Option(min=0, help="Seconds an annotator takes per grid.")] = 0.0,
    answers: Annotated[int, typer.Option(min=1, help="Stop after so many in all.")] = 10**9,
    log: Annotated[Path | None, typer.Option(help="Write one JSON line per stored answer.")] = None,
) -> None:
    """Answer a campaign with simulated annotators, seeded, as people would: over HTTP."""
    environment.load()
    traits = CrowdTraits(annotators, noise, seed, preference, coarse, careless, salience)
    run = run_crowd(campaign, by, traits, pace, answers)
    if log is not None:
        log.write_text("".join(json.dumps(vars(entry)) + "\n" for entry in run.log))
    typer.echo(
        f"{len(run.log)} answers stored by {annotators} simulated annotators "
        f"in {run.seconds:.1f} s."
    )


def run_crowd(
    campaign: str,
    by: str,
    traits: CrowdTraits,
    pace: float = 0.0,
    answers: int = 10**9,
) -> CrowdRun:
    """Find the campaign, build the crowd from its images' attributes, and let it answer."""
    from app.core.database import transaction

    with transaction() as session:
        found: Campaign = find_campaign(session, campaign)
        names = [name.strip() for name in by.split(",") if name.strip()]
        crowd = load_crowd(session, found, names, traits)
        link = annotator_link(found, "").removeprefix("/a/")
    run = CrowdRun(
        base_url=get_settings().base_url,
        link=link,
        kind=found.kind,
        max_groups=found.max_groups,
        crowd=crowd,
        seed=traits.seed,
        pace=pace,
        limit=answers,
    )
    run.play()
    return run
