"""`likewise import` makes a collection from a folder of images, or a campaign from an archive."""

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


def import_(
    path: Annotated[
        Path,
        typer.Argument(help="A folder of images and CSV files, or a campaign's archive."),
    ],
    name: Annotated[
        str, typer.Option(help="Name of the result; by default that of the folder or archive.")
    ] = "",
    owner: Annotated[str, typer.Option(help="Owner's e-mail; the first account by default.")] = "",
) -> None:
    """Import a folder of images as a new collection, or an archive as a new campaign."""
    environment.load()
    if not path.exists():
        raise InvalidInput(f"The file or folder {path} does not exist.")
    (_import_folder if path.is_dir() else _import_archive)(path, name, owner)


def _import_folder(folder: Path, name: str, owner: str) -> None:
    from app.core.database import transaction

    with transaction() as session:
        account = owner_of(session, owner)
        collection, report = collection_from_folder(
            session, account, folder, name or folder.resolve().name
        )
        typer.echo(
            f"{collection.name}: {len(report.added)} images added, "
            f"{len(report.duplicates)} duplicates merged, {len(report.rejected)} files rejected."
        )
        for filename, error in report.rejected:
            typer.echo(f"  {filename}: {error}", err=True)
        for filename, reason in report.partly_used:
            typer.echo(f"  {filename}: {reason}", err=True)
        typer.echo(f"Collection {collection.id}")


def _import_archive(path: Path, name: str, owner: str) -> None:
    from app.archive.reader import restore_archive
    from app.core.database import transaction
    from app.core.settings import get_settings

    with path.open("rb") as file, transaction() as session:
        campaign = restore_archive(session, owner_of(session, owner), file, name=name)
        address = f"{get_settings().base_url}/campaigns/{campaign.id}"
        summary = f"{campaign.name}: {campaign.n_images} images, {campaign.n_answers} answers"
        state = campaign.state
    typer.echo(f"{summary}, {state}\n  {address}")


def collection_from_folder(
    session: Session, owner: Account, folder: Path, name: str
) -> tuple[Collection, UploadReport]:
    """Create a collection from the files in `folder` and its subfolders; raises InvalidInput."""
    if not folder.is_dir():
        raise InvalidInput(f"{folder} is not a folder.")
    collection = create_collection(session, owner, name)
    total = UploadReport()
    for batch in _batches(sorted(path for path in folder.rglob("*") if path.is_file())):
        report = add_files(session, owner, collection, batch)
        total.added += report.added
        total.duplicates += report.duplicates
        total.rejected += report.rejected
        total.partly_used += report.partly_used
        total.attributes = report.attributes
    if not total.added:
        raise InvalidInput(f"{folder} has no usable image.")
    return collection, total


def _batches(paths: list[Path]) -> Iterator[list[tuple[str, bytes]]]:
    """Yield batches of bounded size. Tables come last, after the images that they describe."""
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
