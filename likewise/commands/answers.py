"""`likewise import-answers` adds answers collected elsewhere to a campaign."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from app.accounts.models import Account
from app.annotation.importing.service import ImportReport, import_answers
from app.campaigns.models import Campaign
from app.core.errors import InvalidInput
from likewise import environment
from likewise.commands.shared import find_campaign


class NamedBy(StrEnum):
    """How the file names images."""

    name = "name"
    position = "position"


class FileFormat(StrEnum):
    """What a line of the file is."""

    answers = "answers"
    triplets = "triplets"


def import_answers_(
    campaign: Annotated[str, typer.Argument(help="Name or id of a campaign that has started.")],
    file: Annotated[Path, typer.Argument(help="One answer per line; can be gzipped.")],
    by: Annotated[
        NamedBy, typer.Option(help="Whether the file names images by file name or by position.")
    ] = NamedBy.name,
    file_format: Annotated[
        FileFormat,
        typer.Option(
            "--format",
            help="JSON Lines of answers, or triplets: three images, the third of which is the one "
            "apart.",
        ),
    ] = FileFormat.answers,
    learn: Annotated[bool, typer.Option(help="Learn a model from the answers immediately.")] = True,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the file without storing anything.")
    ] = False,
) -> None:
    """Import answers that were collected elsewhere. A file with a mistake is rejected entirely."""
    environment.load()
    from app.core.database import transaction
    from app.core.settings import get_settings

    if not file.is_file():
        raise InvalidInput(f"The file {file} does not exist.")
    try:
        opened = file.open("rb")
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}.") from error
    with opened, transaction() as session:
        campaign_row = find_campaign(session, campaign)
        owner = session.get_one(Account, campaign_row.owner_id)
        report = import_answers(
            session,
            owner,
            campaign_row.id,
            opened,
            named_by=by.value,
            file_format=file_format.value,
            learn=learn,
            dry_run=dry_run,
        )
        typer.echo(_sentences(campaign_row, report, dry_run=dry_run))
        address = f"{get_settings().base_url}/campaigns/{campaign_row.id}"
    typer.echo(f"  {address}")


def _sentences(campaign: Campaign, report: ImportReport, *, dry_run: bool) -> str:
    """Describe what was imported, or would be imported in a dry run."""
    verb = "would be imported" if dry_run else _was(report.n_new, "imported")
    sentences = [f"{campaign.name}: {_counted(report.n_new, 'answer')} {verb}"]
    if report.sizes is not None:
        smallest, largest = report.sizes
        images = str(smallest) if smallest == largest else f"{smallest} to {largest}"
        sentences[0] += (
            f" from {_counted(report.n_annotators, 'annotator')} "
            f"({report.n_new_annotators:,} new), grids of {images} images"
        )
    sentences[0] += "."
    if report.n_known:
        n = report.n_known
        sentences.append(f"{_counted(n, 'answer')} {_was(n, 'already there')}.")
    for field, n in report.ignored.items():
        sentences.append(f"The field {field!r} was ignored in {_counted(n, 'line')}.")
    if report.is_learning:
        sentences.append("A model is being learned from the answers.")
    return "\n".join(sentences)


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _was(n: int, what: str) -> str:
    return f"{'was' if n == 1 else 'were'} {what}"
