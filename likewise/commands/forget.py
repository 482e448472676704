"""`likewise forget`: a person who asked to be forgotten, in all campaigns."""

from typing import Annotated

import typer

from likewise import environment


def forget(
    person: Annotated[
        str, typer.Argument(help="What the platform calls the person; asked for if left out.")
    ] = "",
) -> None:
    """Forget who a person was on MTurk or Prolific; their answers stay."""
    environment.load()
    from app.core.database import transaction
    from app.recruitment.erasure import forget_everywhere

    # Asked for, it does not stay in the shell's history.
    named = person or typer.prompt("The platform's id of the person", hide_input=True)
    with transaction() as session:
        found = forget_everywhere(session, named.strip())
    for one in found:
        told = "forgotten" if one.forgotten else "not settled yet: money or work is open"
        typer.echo(f"{one.campaign}, annotator {one.annotator}: {told}")
    if not found:
        typer.echo("No campaign knows that id.")
    if not found or not all(one.forgotten for one in found):
        raise typer.Exit(1)
