"""Exports of a model's own clusters and of its estimates of annotators.

Columns are those of docs/exports.md, in its order; new ones come last.
"""

from collections.abc import Iterator

from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.core.cells import csv_line
from app.core.spreadsheets import neutral
from app.results.images import all_images
from app.results.models import Model
from app.results.own_clusters import (
    cluster_insight,
    member_of,
    read_memberships,
    stored_clusters,
    tells_clusters,
)

MEMBERSHIP_COLUMNS = (
    "image",
    "filename",
    "cluster",
    "cluster_name",
    "probability",
    "second_cluster",
    "second_probability",
    "asked",
)
RELIABILITY_COLUMNS = (
    "annotator",
    "n_answers",
    "n_pairs",
    "sensitivity",
    "sensitivity_low",
    "sensitivity_high",
    "specificity",
    "specificity_low",
    "specificity_high",
    "weight",
)


def memberships_csv(session: Session, campaign: Campaign, model: Model) -> Iterator[str]:
    """Return one line per image: its cluster, the probability, the second most likely one, and
    whether it was in an answer; only the header for a model without its own clusters."""
    yield csv_line(MEMBERSHIP_COLUMNS)
    if not tells_clusters(model):
        return
    memberships = read_memberships(campaign, model)
    stored = stored_clusters(session, model)
    for image in all_images(session, campaign, len(memberships)):
        member = member_of(memberships, image)
        name = stored[member.cluster]["name"] if member.cluster < len(stored) else ""
        second = "" if member.second_cluster is None else member.second_cluster
        yield csv_line(
            [
                image.position,
                neutral(image.filename),
                member.cluster,
                neutral(name),
                member.probability,
                second,
                member.second_probability,
                member.asked,
            ]
        )


def reliability_csv(session: Session, campaign: Campaign, model: Model) -> Iterator[str]:
    """Return one line per annotator: how often they put together images of one cluster, and apart
    images of different ones; only the header for a model without such estimates."""
    yield csv_line(RELIABILITY_COLUMNS)
    if not tells_clusters(model):
        return
    for annotator in cluster_insight(model)["reliability"]:
        ends = {
            f"{name}_{end}": value
            for name in ("sensitivity", "specificity")
            for end, value in zip(
                ("low", "high"), annotator[f"{name}_interval"] or ("", ""), strict=True
            )
        }
        values = {**annotator, **ends}
        yield csv_line([values[column] for column in RELIABILITY_COLUMNS])
