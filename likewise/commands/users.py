"""`likewise user …` manages accounts and one-time sign-in links."""

from typing import Annotated

import typer
from sqlalchemy import select

from likewise import environment

cli = typer.Typer(help="Manage accounts and sign-in links.", no_args_is_help=True)


@cli.command("add")
def add(
    email: str,
    admin: Annotated[bool, typer.Option(help="Can manage accounts and settings.")] = False,
) -> None:
    """Create an account and print its one-time sign-in link."""
    environment.load()
    from app.accounts.service import create_account, create_sign_in_link
    from app.core.database import transaction
    from app.core.settings import get_settings

    with transaction() as session:
        account = create_account(session, email, "admin" if admin else "requester")
        link = create_sign_in_link(session, account, get_settings().base_url)
    typer.echo(link)


@cli.command("link")
def link(email: str) -> None:
    """Print a new one-time sign-in link for an account."""
    environment.load()
    from app.accounts.service import account_by_email, create_sign_in_link
    from app.core.database import transaction
    from app.core.settings import get_settings

    with transaction() as session:
        account = account_by_email(session, email)
        address = create_sign_in_link(session, account, get_settings().base_url)
    typer.echo(address)


@cli.command("token")
def token(
    email: str,
    name: Annotated[str, typer.Option(help="Name of the token.")] = "command line",
    write: Annotated[bool, typer.Option(help="Can also make changes.")] = False,
    days: Annotated[
        int | None, typer.Option(help="Days until it expires; never by default.")
    ] = None,
) -> None:
    """Print a new API token for an account."""
    environment.load()
    from app.accounts.service import account_by_email
    from app.accounts.tokens import create_token
    from app.core.database import transaction

    with transaction() as session:
        account = account_by_email(session, email)
        _, text = create_token(session, account, name, "write" if write else "read", days)
    typer.echo(text)


@cli.command("sign-out")
def sign_out(
    email: str,
    factor: Annotated[bool, typer.Option(help="Also remove the second factor.")] = False,
) -> None:
    """End all sessions of an account. Use --factor if its owner lost the second factor."""
    environment.load()
    from app.accounts.service import account_by_email, remove_second_factor
    from app.accounts.sessions import end_all
    from app.core.database import transaction

    with transaction() as session:
        account = account_by_email(session, email)
        if factor:
            remove_second_factor(session, None, account)
        end_all(session, account)
    typer.echo(f"{email} is signed out everywhere")


@cli.command("list")
def list_accounts() -> None:
    """List all accounts."""
    environment.load()
    from app.accounts.models import Account
    from app.core.database import transaction

    with transaction() as session:
        for account in session.scalars(select(Account).order_by(Account.email)):
            state = "disabled" if account.disabled_at else account.role
            typer.echo(f"{account.email:<40} {state}")
