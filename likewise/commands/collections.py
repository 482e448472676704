"""`likewise import`: a folder of images becomes a collection."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.collections.models import Collection
from app.collections.service import UploadReport, add_files, create_collection
from app.core.errors import InvalidInput
from likewise import environment
from likewise.commands.shared import owner_of

BATCH_BYTES = 64 * 2**20


def import_folder(
    folder: Annotated[Path, typer.Argument(help="Images, and CSV files of attributes.")],
    name: Annotated[str, typer.Option(help="Name of the collection; the folder's if empty.")] = "",
    owner: Annotated[str, typer.Option(help="E-mail of the owner; the first account's.")] = "",
) -> None:
    """Import a folder of images (and CSV files of attributes) as a new collection."""
    environment.load()
    from app.core.database import transaction

    with transaction() as session:
        account = owner_of(session, owner)
        collection, report = collection_from_folder(
            session, account, folder, name or folder.resolve().name
        )
        typer.echo(
            f"{collection.name}: {len(report.added)} images added, "
            f"{len(report.duplicates)} duplicates folded, {len(report.rejected)} files rejected."
        )
        for filename, error in report.rejected:
            typer.echo(f"  {filename}: {error}", err=True)
        typer.echo(f"Collection {collection.id}")


def collection_from_folder(
    session: Session, owner: Account, folder: Path, name: str
) -> tuple[Collection, UploadReport]:
    """A new collection of the files directly in `folder` and below; raises InvalidInput."""
    if not folder.is_dir():
        raise InvalidInput(f"{folder} is not a folder.")
    collection = create_collection(session, owner, name)
    total = UploadReport()
    for batch in _batches(sorted(path for path in folder.rglob("*") if path.is_file())):
        report = add_files(session, owner, collection, batch)
        total.added += report.added
        total.duplicates += report.duplicates
        total.rejected += report.rejected
        total.attributes = report.attributes
    if not total.added:
        raise InvalidInput(f"There is no image in {folder} that can be used.")
    return collection, total


def _batches(paths: list[Path]) -> Iterator[list[tuple[str, bytes]]]:
    """Files in batches of bounded size; tables last, when all their images are there."""
    tables = [path for path in paths if path.suffix.lower() == ".csv"]
    images = [path for path in paths if path not in set(tables)]
    batch: list[tuple[str, bytes]] = []
    size = 0
    for path in images:
        batch.append((path.name, path.read_bytes()))
        size += len(batch[-1][1])
        if size > BATCH_BYTES:
            yield batch
            batch, size = [], 0
    yield [*batch, *((path.name, path.read_bytes()) for path in tables)]
