"""`likewise campaign …` and `likewise export` manage campaigns without the browser."""

import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from sqlalchemy import select

from app.campaigns.changes import ACTIONS
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign
from app.campaigns.plan import RANGES, CampaignPlan, value_type
from app.campaigns.service import create_campaign
from app.collections.models import Collection
from app.core.errors import InvalidInput, NotFound
from app.results.catalogue import BY_NAME, Export, Options, get_export, make
from likewise import environment
from likewise.commands.shared import find_campaign, owner_of

cli = typer.Typer(help="Create and manage campaigns.", no_args_is_help=True)


def plan_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each field of a campaign's plan that is one value."""
    signature = inspect.signature(command)
    own = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    ]
    fields = ((name, CampaignPlan.model_fields[name]) for name in ("kind", "strategy", *RANGES))
    options = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.is_required() else field.default,
            annotation=Annotated[
                value_type(field) | None if field.default is None else value_type(field),
                typer.Option(help=field.description),
            ],
        )
        for name, field in fields
    ]
    described: Any = command
    described.__signature__ = signature.replace(parameters=[*own, *options])
    return command


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
@plan_options
def create(
    collection: Annotated[str, typer.Argument(help="Name of the collection.")],
    owner: Annotated[str, typer.Option(help="Owner's e-mail; the first account by default.")] = "",
    start: Annotated[bool, typer.Option(help="Launch it immediately.")] = False,
    **plan: Any,
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
        matches = session.scalars(owned).all()
        if len(matches) != 1:
            raise NotFound(f"{account.email} has {len(matches)} collections named {collection!r}.")
        campaign = create_campaign(session, account, CampaignPlan(collection_id=matches[0], **plan))
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
        campaign_row = find_campaign(session, campaign)
        owner = session.get_one(Account, campaign_row.owner_id)
        typer.echo(ACTIONS[action](session, owner, campaign_row.id).state)


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
    identities: Annotated[
        bool,
        typer.Option(
            "--identities", help="Say who people are in link_parameters.csv, without pseudonyms."
        ),
    ] = False,
) -> None:
    """Export answers, a model's results or a whole campaign. The file's name selects which."""
    environment.load()
    from app.core.database import snapshot

    chosen = get_export("archive.zip") if archive else _export_of(file)
    with snapshot() as session:
        campaign_row = find_campaign(session, campaign)
        options = Options(per_answer, identities)
        _write(file, make(session, campaign_row, chosen, version, options))
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
