"""`likewise forget` erases the identity of a person who asked for it, in all campaigns."""

from typing import Annotated

import typer

from likewise import environment


def forget(
    person: Annotated[
        str,
        typer.Argument(help="The person's id on the platform; you are asked for it if omitted."),
    ] = "",
) -> None:
    """Erase a person's MTurk or Prolific id. Their answers are kept."""
    environment.load()
    from app.core.database import transaction
    from app.recruitment.erasure import forget_everywhere

    # An id typed at the prompt does not stay in the shell's history.
    named = person or typer.prompt("The platform's id of the person", hide_input=True)
    with transaction() as session:
        found = forget_everywhere(session, named.strip())
    for one in found:
        told = "forgotten" if one.forgotten else "not forgotten yet: payments or work are open"
        typer.echo(f"{one.campaign}, annotator {one.annotator}: {told}")
    if not found:
        typer.echo("No campaign has a person with that id.")
    if not found or not all(one.forgotten for one in found):
        raise typer.Exit(1)
