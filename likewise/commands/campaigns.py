"""`likewise campaign …` and `likewise export` manage campaigns without the browser."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from sqlalchemy import select

from app.campaigns.changes import ACTIONS
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign
from app.campaigns.service import CampaignPlan, create_campaign
from app.collections.models import Collection
from app.core.errors import InvalidInput, NotFound
from app.results.catalogue import BY_NAME, Export, Options, get_export, make
from likewise import environment
from likewise.commands.shared import find_campaign, owner_of

cli = typer.Typer(help="Create and manage campaigns.", no_args_is_help=True)


@cli.command("list")
def list_campaigns() -> None:
    """List all campaigns."""
    environment.load()
    from app.core.database import transaction

    with transaction() as session:
        for campaign in session.scalars(select(Campaign).order_by(Campaign.created_at)):
            typer.echo(
                f"{campaign.id}  {campaign.state:<8}  {campaign.n_answers:>6} of "
                f"{campaign.budget:<6}  {campaign.kind}/{campaign.strategy}  {campaign.name}"
            )


@cli.command("create")
def create(
    collection: Annotated[str, typer.Argument(help="Name of the collection.")],
    name: Annotated[str, typer.Option(help="Name of the campaign.")],
    kind: Annotated[str, typer.Option(help="grid, bins or select.")] = "grid",
    strategy: Annotated[str, typer.Option(help="cen, crowdster, scdc or neucrowd.")] = "cen",
    question: str = CampaignPlan.question,
    budget: Annotated[int, typer.Option(help="Total number of answers.")] = 100,
    rounds: int | None = None,
    grid_size: int | None = None,
    ready_share: Annotated[
        float, typer.Option(help="Share of a round prepared early; 0 waits for each model.")
    ] = CampaignPlan.ready_share,
    owner: Annotated[str, typer.Option(help="Owner's e-mail; the first account by default.")] = "",
    start: Annotated[bool, typer.Option(help="Launch it immediately.")] = False,
) -> None:
    """Create a campaign, and print its id and the link for annotators."""
    environment.load()
    from app.core.database import transaction
    from app.core.settings import get_settings

    with transaction() as session:
        account = owner_of(session, owner)
        owned = select(Collection.id).where(
            Collection.owner_id == account.id, Collection.name == collection
        )
        found = session.scalars(owned).all()
        if len(found) != 1:
            raise NotFound(f"{account.email} has {len(found)} collections named {collection!r}.")
        plan = CampaignPlan(
            name=name,
            collection_id=found[0],
            kind=kind,
            strategy=strategy,
            question=question,
            budget=budget,
            rounds=rounds,
            grid_size=grid_size,
            ready_share=ready_share,
        )
        campaign = create_campaign(session, account, plan)
        if start:
            ACTIONS["start"](session, account, campaign.id)
        typer.echo(f"{campaign.id}\n{annotator_link(campaign, get_settings().base_url)}")


@cli.command("act")
def act(
    campaign: Annotated[str, typer.Argument(help="Name or id.")],
    action: Annotated[
        str, typer.Argument(help="start, pause, resume, finish, retry or admit (new images).")
    ],
) -> None:
    """Start, pause, resume or finish a campaign, retry its learning, or admit new images."""
    environment.load()
    from app.accounts.models import Account
    from app.core.database import transaction

    if action not in ACTIONS:
        raise InvalidInput(f"{action!r} is not an action. Choose one of {', '.join(ACTIONS)}.")
    with transaction() as session:
        found = find_campaign(session, campaign)
        owner = session.get_one(Account, found.owner_id)
        typer.echo(ACTIONS[action](session, owner, found.id).state)


def export(
    campaign: Annotated[str, typer.Argument(help="Name or id.")],
    file: Annotated[
        Path, typer.Argument(help=f"Ends in one of: {', '.join(BY_NAME)}; any name with --archive.")
    ],
    archive: Annotated[
        bool, typer.Option("--archive", help="Write the whole campaign, for `likewise import`.")
    ] = False,
    version: Annotated[
        int | None, typer.Option(min=1, help="Version of the model; the newest by default.")
    ] = None,
    per_answer: Annotated[
        int, typer.Option(min=1, help="Maximum number of triplets per answer.")
    ] = Options.per_answer,
) -> None:
    """Export answers, a model's results or a whole campaign. The file's name selects which."""
    environment.load()
    from app.core.database import snapshot

    chosen = get_export("archive.zip") if archive else _export_of(file)
    with snapshot() as session:
        found = find_campaign(session, campaign)
        _write(file, make(session, found, chosen, version, Options(per_answer)))
    print(file, file=sys.stderr)


def _export_of(file: Path) -> Export:
    """The export whose name the file's name ends with; the longest one if several match."""
    fitting = [name for name in BY_NAME if file.name.endswith(name)]
    if not fitting:
        raise InvalidInput(
            f"{file.name} names no export. End the file's name in one of {', '.join(BY_NAME)}."
        )
    return get_export(max(fitting, key=len))


def _write(file: Path, pieces: Iterator[bytes]) -> None:
    """Write under a temporary name first, so that the file is never there incomplete."""
    partial = file.with_name(f".{file.name}.part")
    try:
        with partial.open("wb") as out:
            out.writelines(pieces)
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)
