"""`likewise backup` and `likewise restore`."""

from pathlib import Path
from typing import Annotated

import typer

from likewise import environment


def backup(
    file: Annotated[Path, typer.Argument(help="Where to; a file that is not there yet.")],
) -> None:
    """Back up database, storage and secret key into one file, while everything runs."""
    environment.load()
    from likewise.backups.writing import write_backup

    told = write_backup(file.absolute())
    typer.echo(f"{file}: {told.in_words()}")
    typer.echo("It holds the secret key. Keep it as you keep passwords.")


def restore(
    file: Annotated[Path, typer.Argument(help="What `likewise backup` made.")],
    into: Annotated[
        Path | None, typer.Option(help="The data folder to be; LIKEWISE_DATA if left out.")
    ] = None,
    check: Annotated[bool, typer.Option(help="Only look whether the file is whole.")] = False,
) -> None:
    """Restore a backup into a place that holds nothing yet, and migrate it."""
    from likewise.backups.restoring import check_backup, restore_backup

    if check:
        typer.echo(f"{file} is whole: {check_backup(file).in_words()}")
        return
    folder = into.absolute() if into else environment.data_folder()
    told = restore_backup(file, folder)
    typer.echo(f"Restored into {folder}: {told.in_words()}")
    if told.rows.get("recruitment"):
        typer.echo(
            "People were recruited there. Before it starts, read docs/operations.md, "
            "Backups of the books: bonuses paid since would be paid again."
        )
