"""Files of answers collected elsewhere, to import into campaigns."""

import io
import json
import random
from typing import Any

import pytest
from sqlalchemy import func, select

from app.accounts.models import Account
from app.annotation.importing.problems import BadAnswerFile
from app.annotation.importing.service import ImportReport, import_answers
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.tables import metadata

Line = dict[str, Any]


def name_of(image: int) -> str:
    return f"image-{image:03d}.png"


def a_line(annotator: object, images: list[int], groups: list[int], **others: Any) -> Line:
    names = [name_of(image) for image in images]
    return {"annotator": annotator, "images": names, "groups": groups, **others}


GOOD = a_line("ada", [0, 1, 2], [0, 1, 1])


def by_colour(n: int, size: int = 5, n_annotators: int = 6, seed: int = 0) -> list[Line]:
    """Grids of different sizes, grouped by the colour of a_table: the position modulo three."""
    rng = random.Random(seed)
    lines = []
    for number in range(n):
        images = rng.sample(range(30), size - number % 2)
        groups = [image % 3 for image in images]
        lines.append(a_line(f"person {number % n_annotators}", images, groups, seconds=4.5))
    return lines


def packed(lines: list[Line] | list[str]) -> io.BytesIO:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    return io.BytesIO("\n".join(texts).encode())


def bring(
    campaign: Campaign, lines: list[Line] | list[str] | io.BytesIO, **options: Any
) -> ImportReport:
    file = packed(lines) if isinstance(lines, list) else lines
    with transaction() as session:
        owner = session.get_one(Account, campaign.owner_id)
        return import_answers(session, owner, campaign.id, file, **options)


def refusal(campaign: Campaign, lines: list[Line] | list[str] | io.BytesIO, **options: Any) -> str:
    """What is said of a file that cannot be imported, and that nothing of it is stored."""
    before = rows_of_all_tables()
    with pytest.raises(BadAnswerFile) as refused:
        bring(campaign, lines, **options)
    assert rows_of_all_tables() == before
    message = str(refused.value)
    assert message.startswith("Nothing was imported.")
    return message


def rows_of_all_tables() -> dict[str, int]:
    with transaction() as session:
        return {
            table.name: session.scalar(select(func.count()).select_from(table)) or 0
            for table in metadata.tables.values()
        }


def count(what: Any) -> int:
    with transaction() as session:
        return session.scalar(select(func.count()).select_from(what)) or 0
