"""`likewise simulate`: a crowd of simulated annotators answers a campaign over the HTTP API."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import httpx
import typer

from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign
from app.core.settings import get_settings
from app.planning.crowd import CrowdTraits, make_crowd, read_images
from app.recruitment.calls import link_of
from app.recruitment.service import list_recruitments
from likewise import environment
from likewise.commands.shared import find_campaign
from likewise.marketplace import Habits, MarketPlay, Stint
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
        float, typer.Option(min=0, max=1, help="Share of answers without thought.")
    ] = 0.0,
    salience: Annotated[
        float, typer.Option(min=0, help="How much what varies in a grid draws attention.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    pace: Annotated[float, typer.Option(min=0, help="Seconds an annotator takes per grid.")] = 0.0,
    answers: Annotated[int, typer.Option(min=1, help="Stop after so many in all.")] = 10**9,
    log: Annotated[Path | None, typer.Option(help="Write one JSON line per stored answer.")] = None,
    mturk: Annotated[
        str, typer.Option(help="Address of an MTurk emulator: its workers do it instead.")
    ] = "",
    prolific: Annotated[
        str, typer.Option(help="Address of a Prolific emulator: its participants do it instead.")
    ] = "",
    returns: Annotated[
        float, typer.Option(min=0, max=1, help="Of these, the share who give the task back.")
    ] = 0.0,
    abandons: Annotated[
        float, typer.Option(min=0, max=1, help="Of these, the share who walk away from it.")
    ] = 0.0,
    extras: Annotated[
        float, typer.Option(min=0, max=1, help="Of these, the share who do all extra grids.")
    ] = 0.0,
) -> None:
    """Answer a campaign with simulated annotators, seeded, as people would: over HTTP."""
    environment.load()
    traits = CrowdTraits(annotators, noise, seed, preference, coarse, careless, salience)
    if mturk or prolific:
        if returns + abandons > 1:
            raise typer.BadParameter("Those who return and those who abandon it: at most 1.")
        habits = Habits(returns=returns, abandons=abandons, extras=extras)
        play = run_market(campaign, by, traits, pace, habits, mturk, prolific)
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
    habits: Habits,
    mturk: str,
    prolific: str,
) -> MarketPlay:
    """Workers of an emulator, made for this, take the places of the campaign's recruitments."""
    from app.core.database import transaction

    with transaction() as session:
        found: Campaign = find_campaign(session, campaign)
        names = [name.strip() for name in by.split(",") if name.strip()]
        crowd = make_crowd(read_images(session, found), names, traits, found.kind)
        links = frozenset(link_of(one) for one in list_recruitments(session, found))
    http = httpx.Client(base_url=mturk or prolific, timeout=60)
    kind = "workers" if mturk else "participants"
    made = http.post(f"/emulator/{kind}", json={"count": traits.annotators})
    people = [one["worker_id" if mturk else "id"] for one in made.raise_for_status().json()]
    play = MarketPlay(
        MTurkMarket(http) if mturk else ProlificMarket(http),
        httpx.Client(base_url=get_settings().base_url, timeout=60),
        crowd,
        found.max_groups,
        kind=found.kind,
        habits=habits,
        links=links,
        seed=traits.seed,
        pace=pace,
    )
    play.play(people)
    return play


def what_came_of(log: Sequence[Stint]) -> str:
    """A sentence on what the workers did, and what they are owed by their own word."""
    if not log:
        return "Nobody found a place: is the recruitment open, and its task on the market?"
    ends = Counter(one.end.replace("_", " ") for one in log)
    did = ", ".join(f"{n} {end}" for end, n in sorted(ends.items()))
    owed = sum(sum(one.owed_cents) for one in log)
    codes = Counter(one.code for one in log if one.code)
    why = "".join(f" Refused {n} times: {code}." for code, n in sorted(codes.items()))
    return f"{len(log)} places were taken: {did}.{why} Owed: {owed / 100:.2f}."


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
        crowd = make_crowd(read_images(session, found), names, traits, found.kind)
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
