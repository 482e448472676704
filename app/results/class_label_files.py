"""The labels and voters of a campaign with classes, for the exports of app/results/label_files.py.

Columns are those of docs/exports.md, in its order. Names of classes are in the header, because a
campaign's classes do not change in number.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.core.cells import csv_line
from app.core.spreadsheets import neutral
from app.kinds import kind_of
from app.results.class_labels import Classified, class_insight, classified, read_class_labels
from app.results.images import all_images
from app.results.models import Model
from learning.aggregation import METHODS

# Each stands for as many columns as there are classes.
OF_CLASSES = ("probability", "classifier", *METHODS, "votes")


def class_labels_csv(session: Session, campaign: Campaign, model: Model) -> Iterator[str]:
    """Return one line per image, with the names of its labels."""
    by_class = [f"{part} {name}" for part in OF_CLASSES for name in campaign.classes]
    yield csv_line(
        ["image", "filename", "label", "sureness", "answers", "unsure", *map(neutral, by_class)]
    )
    labels = read_class_labels(campaign, model)
    names = kind_of(campaign).group_names
    chosen, sureness = labels.chosen(), labels.sureness
    for image in all_images(session, campaign, len(labels)):
        at = image.position
        row = classified(labels, image, chosen[at], float(sureness[at]))
        group = sum(1 << k for k in row.labels) if labels.can_have_several else row.labels[0]
        yield csv_line(
            [
                at,
                neutral(image.filename),
                neutral(names[group]),
                row.sureness,
                row.answers,
                row.unsure,
                *_figures(row, len(campaign.classes)),
            ]
        )


def _figures(row: Classified, n_classes: int) -> list[Any]:
    columns = [row.probability, row.prior, *(getattr(row, name) for name in METHODS), row.votes]
    return [value for values in columns for value in values or [""] * n_classes]


def class_voters_csv(campaign: Campaign, model: Model) -> Iterator[str]:
    """Return one line per annotator: how often their answers are right, and their confusion of the
    classes, or sensitivity and specificity for each label."""
    voters = class_insight(model)["voters"]
    several = kind_of(campaign).n_groups(len(campaign.classes)) > len(campaign.classes)
    classes = campaign.classes
    if several:
        parts = [f"{part} {name}" for part in ("sensitivity", "specificity") for name in classes]
    else:
        parts = [f"{given} for {name}" for name in classes for given in classes]
    quality = [f"quality_{method}" for method in METHODS]
    yield csv_line(["annotator", "n_votes", "right", *quality, *map(neutral, parts)])
    for voter in voters:
        figures = (
            [*voter["sensitivity"], *voter["specificity"]]
            if several
            else np.ravel(voter["confusion"]).tolist()
        )
        by_votes = [voter["quality"][method] for method in METHODS]
        head = [voter["annotator"], voter["n_votes"], voter["right"]]
        yield csv_line([*head, *by_votes, *figures])
