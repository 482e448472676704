"""Export of the pairs of images that people with different answers see differently."""

from collections.abc import Iterator

from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.core.cells import csv_line
from app.core.spreadsheets import neutral
from app.results.answer_groups import all_differences
from app.results.answers import filenames

COLUMNS = [
    "question", "answer", "image_i", "filename_i", "image_j", "filename_j", "choice",
    "yes", "n", "other_yes", "other_n", "difference", "p", "q",
]  # fmt: skip
# The strongest differences of each answer.
PER_ANSWER = 1_000


def answer_differences_csv(session: Session, campaign: Campaign) -> Iterator[bytes]:
    """Yield one line per question, answer and pair of images (or image and choice)."""
    yield csv_line(COLUMNS).encode()
    names = filenames(session, campaign)
    for asked, group, item in all_differences(session, campaign, PER_ANSWER):
        images = [cell for image in item.images for cell in (image, neutral(names[image]))]
        shown = [*images, "", ""][:4]
        numbers = [item.yes, item.n, item.other_yes, item.other_n, item.difference, item.p, item.q]
        head = [asked.question.key, neutral(group.name)]
        yield csv_line([*head, *shown, neutral(item.choice or ""), *numbers]).encode()
