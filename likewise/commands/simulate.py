"""`likewise simulate` lets simulated annotators answer a campaign over the HTTP API."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import httpx
import typer

from app.annotation.simulated import simulated_address
from app.campaigns.models import Campaign
from app.core.settings import get_settings
from app.kinds import kind_of
from app.planning.crowd import CrowdTraits, make_crowd, read_images
from app.recruitment.calls import link_of
from app.recruitment.service import list_recruitments
from likewise import environment
from likewise.commands.shared import find_campaign
from likewise.marketplace import MarketPlay, WorkerBehaviour, WorkSession
from likewise.markets import MTurkMarket, ProlificMarket
from likewise.simulation import CrowdRun


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
        float, typer.Option(min=0, max=1, help="Share of answers at random.")
    ] = 0.0,
    salience: Annotated[
        float,
        typer.Option(min=0, help="How strongly attributes that vary in a grid draw attention."),
    ] = 0.0,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    pace: Annotated[float, typer.Option(min=0, help="Seconds an annotator takes per grid.")] = 0.0,
    answers: Annotated[int, typer.Option(min=1, help="Stop after this many answers.")] = 10**9,
    log: Annotated[Path | None, typer.Option(help="Write one JSON line per stored answer.")] = None,
    mturk: Annotated[
        str, typer.Option(help="Address of an MTurk emulator whose workers answer instead.")
    ] = "",
    prolific: Annotated[
        str, typer.Option(help="Address of a Prolific emulator whose participants answer instead.")
    ] = "",
    returns: Annotated[
        float, typer.Option(min=0, max=1, help="Share of these people who return the task.")
    ] = 0.0,
    abandons: Annotated[
        float, typer.Option(min=0, max=1, help="Share of these people who abandon the task.")
    ] = 0.0,
    extras: Annotated[
        float, typer.Option(min=0, max=1, help="Share of these people who do all extra grids.")
    ] = 0.0,
) -> None:
    """Answer a campaign with simulated annotators, who use the same HTTP API as people."""
    environment.load()
    traits = CrowdTraits(annotators, noise, seed, preference, coarse, careless, salience)
    if mturk or prolific:
        if returns + abandons > 1:
            raise typer.BadParameter("--returns and --abandons must add up to at most 1.")
        behaviour = WorkerBehaviour(returns=returns, abandons=abandons, extras=extras)
        play = run_market(campaign, by, traits, pace, behaviour, mturk, prolific)
        typer.echo(what_came_of(play.log))
        return
    run = run_crowd(campaign, by, traits, pace, answers)
    if log is not None:
        log.write_text("".join(json.dumps(vars(entry)) + "\n" for entry in run.log))
    typer.echo(
        f"{len(run.log)} answers stored by {annotators} simulated annotators "
        f"in {run.seconds:.1f} s."
    )


def run_market(
    campaign: str,
    by: str,
    traits: CrowdTraits,
    pace: float,
    behaviour: WorkerBehaviour,
    mturk: str,
    prolific: str,
) -> MarketPlay:
    """Create workers in an emulator and let them take the campaign's recruitment places."""
    from app.core.database import transaction

    with transaction() as session:
        campaign_row: Campaign = find_campaign(session, campaign)
        names = [name.strip() for name in by.split(",") if name.strip()]
        crowd = make_crowd(read_images(session, campaign_row), names, traits, kind_of(campaign_row))
        links = frozenset(
            link_of(recruitment) for recruitment in list_recruitments(session, campaign_row)
        )
    http = httpx.Client(base_url=mturk or prolific, timeout=60)
    kind = "workers" if mturk else "participants"
    response = http.post(f"/emulator/{kind}", json={"count": traits.annotators})
    people = [
        person["worker_id" if mturk else "id"] for person in response.raise_for_status().json()
    ]
    play = MarketPlay(
        MTurkMarket(http) if mturk else ProlificMarket(http),
        httpx.Client(base_url=get_settings().base_url, timeout=60),
        crowd,
        campaign_row.max_groups,
        kind=campaign_row.kind,
        behaviour=behaviour,
        links=links,
        seed=traits.seed,
        pace=pace,
    )
    play.play(people)
    return play


def what_came_of(log: Sequence[WorkSession]) -> str:
    """Summarise what the workers did, and what they are owed by their own records."""
    if not log:
        return "Nobody found a place. Check that the recruitment is open and its task published."
    ends = Counter(session.end.replace("_", " ") for session in log)
    did = ", ".join(f"{n} {end}" for end, n in sorted(ends.items()))
    earned = sum(sum(session.earned_cents) for session in log)
    codes = Counter(session.code for session in log if session.code)
    why = "".join(f" Refused {n} times: {code}." for code, n in sorted(codes.items()))
    return f"{len(log)} places were taken: {did}.{why} Owed: {earned / 100:.2f}."


def run_crowd(
    campaign: str,
    by: str,
    traits: CrowdTraits,
    pace: float = 0.0,
    answers: int = 10**9,
) -> CrowdRun:
    """Find the campaign, build a crowd from its images' attributes, and let the crowd answer."""
    from app.core.database import transaction

    with transaction() as session:
        campaign_row: Campaign = find_campaign(session, campaign)
        names = [name.strip() for name in by.split(",") if name.strip()]
        crowd = make_crowd(read_images(session, campaign_row), names, traits, kind_of(campaign_row))
        link = simulated_address(campaign_row)
    run = CrowdRun(
        base_url=get_settings().base_url,
        link=link,
        kind=campaign_row.kind,
        max_groups=campaign_row.max_groups,
        crowd=crowd,
        seed=traits.seed,
        pace=pace,
        limit=answers,
    )
    run.play()
    return run
