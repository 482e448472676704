"""`likewise emulate` runs an emulator of a recruiting platform in the foreground."""

from decimal import Decimal, InvalidOperation
from typing import Annotated

import typer

TOKEN = "prolific-emulator-token"
cli = typer.Typer(no_args_is_help=True)


@cli.callback()
def emulate() -> None:
    """Run an emulator of a recruiting platform."""


@cli.command()
def mturk(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 chooses a free port.")] = 8100,
    host: Annotated[str, typer.Option()] = "127.0.0.1",
    allow_http: Annotated[
        bool, typer.Option(help="Accept ExternalURLs without TLS, for use on one machine.")
    ] = False,
    account: Annotated[
        list[str] | None,
        typer.Option(help="ACCESS_KEY:SECRET of a requester; repeat it for more."),
    ] = None,
    balance: Annotated[str, typer.Option(help="Balance of each requester in dollars.")] = "10000",
    workers: Annotated[int, typer.Option(min=0, help="Number of workers at the start.")] = 5,
    worker_site: Annotated[
        str | None, typer.Option(help="Origin of the worker site as browsers see it.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """Amazon Mechanical Turk: requester API for boto3, worker site, clock and faults."""
    from emulators.mturk.control import NewWorkers, add_workers
    from emulators.mturk.server import Emulator
    from emulators.mturk.state import Options

    standard = Options()
    options = Options(
        allow_http=allow_http,
        accounts=dict(_pair(pair) for pair in account) if account else standard.accounts,
        balance=_dollars(balance),
        worker_site=worker_site.rstrip("/") if worker_site else None,
        seed=seed,
    )
    emulator = Emulator(options, host=host, port=port)
    if workers:
        add_workers(emulator.state, NewWorkers(count=workers))
    typer.echo(f"MTurk emulator: {emulator.endpoint_url} (worker site and boto3's endpoint_url)")
    typer.echo(f"Access key {next(iter(options.accounts))}; control at /emulator/docs")
    emulator.serve()


@cli.command()
def prolific(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 chooses a free port.")] = 8600,
    host: Annotated[str, typer.Option()] = "127.0.0.1",
    site: Annotated[
        str | None, typer.Option(help="Origin of the participants' pages as browsers see it.")
    ] = None,
    token: Annotated[str, typer.Option(help="API token of the researcher.")] = TOKEN,
    balance: Annotated[str, typer.Option(help="Workspace balance, in pounds or dollars.")] = (
        "10000"
    ),
    currency: Annotated[str, typer.Option(help="GBP or USD.")] = "USD",
    participants: Annotated[
        int, typer.Option(min=0, help="Number of participants at the start.")
    ] = 20,
    seed: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """Prolific: researcher's API, participants' pages, webhooks, clock and faults."""
    from emulators.prolific.options import AccountOptions, Options
    from emulators.prolific.server import serve

    account = AccountOptions(
        token=token, balance=int(_dollars(balance) * 100), currency=currency.upper()
    )
    options = Options(accounts=(account,), participants=participants, seed=seed)

    def announce(address: str) -> None:
        typer.echo(f"Prolific emulator: {address} (participants' pages and the API)")
        typer.echo(f"Token {token}; control under /emulator/")

    serve(port, host=host, site=site, options=options, announce=announce)


def _pair(account: str) -> tuple[str, str]:
    key, _, secret = account.partition(":")
    if not key or not secret:
        raise typer.BadParameter("Give --account as ACCESS_KEY:SECRET.")
    return key, secret


def _dollars(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise typer.BadParameter("Give --balance as a number of dollars.") from None
