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
    from app.recruitment.people import forget_everywhere

    # An id typed at the prompt does not stay in the shell's history.
    named = person or typer.prompt("The platform's id of the person", hide_input=True)
    with transaction() as session:
        matches = forget_everywhere(session, named.strip())
    for match in matches:
        outcome = "forgotten" if match.forgotten else "not forgotten yet: payments or work are open"
        typer.echo(f"{match.campaign}, annotator {match.annotator}: {outcome}")
    if not matches:
        typer.echo("No campaign has a person with that id.")
    if not matches or not all(match.forgotten for match in matches):
        raise typer.Exit(1)
