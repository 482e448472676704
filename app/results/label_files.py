"""Exports of labels by votes, and of how well each annotator votes.

Columns are those of docs/exports.md, in its order; new ones come last.
"""

from collections.abc import Iterator

from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.core.cells import csv_line
from app.core.spreadsheets import neutral
from app.results.class_label_files import class_labels_csv, class_voters_csv
from app.results.class_labels import tells_class_labels
from app.results.images import all_images
from app.results.labels import labelled, read_labels, tells_labels, vote_insight
from app.results.models import Model
from learning.aggregation import METHODS

LABEL_COLUMNS = (
    "image",
    "filename",
    "label",
    "probability",
    "classifier",
    *METHODS,
    "yes",
    "no",
    "unsure",
)
VOTER_COLUMNS = (
    "annotator",
    "n_votes",
    "yes_share",
    "sensitivity",
    "specificity",
    *(f"quality_{method}" for method in METHODS),
)


def labels_csv(session: Session, campaign: Campaign, model: Model) -> Iterator[str]:
    """Return one line per image; only the header for a model without labels."""
    if tells_class_labels(model):
        yield from class_labels_csv(session, campaign, model)
        return
    yield csv_line(LABEL_COLUMNS)
    if not tells_labels(model):
        return
    labels = read_labels(campaign, model)
    for image in all_images(session, campaign, len(labels)):
        labelled_image = labelled(labels, image)
        by = ["" if (value := getattr(labelled_image, name)) is None else value for name in METHODS]
        yield csv_line(
            [
                image.position,
                neutral(image.filename),
                labelled_image.label,
                labelled_image.probability,
                labelled_image.prior,
                *by,
                labelled_image.yes,
                labelled_image.no,
                labelled_image.unsure,
            ]
        )


def voters_csv(session: Session, campaign: Campaign, model: Model) -> Iterator[str]:
    """Return one line per annotator who voted yes or no; only the header for a model without
    labels."""
    if tells_class_labels(model):
        yield from class_voters_csv(campaign, model)
        return
    yield csv_line(VOTER_COLUMNS)
    if not tells_labels(model):
        return
    for voter in vote_insight(model)["jury"]:
        quality = {f"quality_{name}": value for name, value in voter["quality"].items()}
        values = {**voter, **quality}
        yield csv_line([values[column] for column in VOTER_COLUMNS])
