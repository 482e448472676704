"""`likewise backup` and `likewise restore`."""

from pathlib import Path
from typing import Annotated

import typer

from likewise import environment


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write; it must not exist yet.")],
) -> None:
    """Back up the database, storage and secret key to one file. Likewise can keep running."""
    environment.load()
    from likewise.backups.writing import write_backup

    manifest = write_backup(file.absolute())
    typer.echo(f"{file}: {manifest.in_words()}")
    typer.echo("The file contains the secret key. Store it as safely as a password.")


def restore(
    file: Annotated[Path, typer.Argument(help="A file that `likewise backup` wrote.")],
    into: Annotated[
        Path | None, typer.Option(help="The new data folder; LIKEWISE_DATA by default.")
    ] = None,
    check: Annotated[bool, typer.Option(help="Only check that the file is intact.")] = False,
) -> None:
    """Restore a backup to an empty data folder and database, and migrate it."""
    from likewise.backups.restoring import check_backup, restore_backup

    if check:
        typer.echo(f"{file} is intact: {check_backup(file).in_words()}")
        return
    folder = into.absolute() if into else environment.data_folder()
    manifest = restore_backup(file, folder)
    typer.echo(f"Restored into {folder}: {manifest.in_words()}")
    if manifest.rows.get("recruitment"):
        typer.echo(
            "This installation recruited people. Before you start it, read docs/operations.md, "
            "Backups of the ledger: bonuses paid since the backup would be paid again."
        )
