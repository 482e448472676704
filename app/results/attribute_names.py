"""Names that requesters give to learned attributes: stored with the model, and carried to the next
one."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.service import record_audit
from app.campaigns.models import Campaign
from app.core.errors import InvalidInput, NotFound
from app.results.attribute_parts import parts_of
from app.results.models import Model
from app.results.vectors import read_vectors

MOST_NAME = 100
# An attribute of the next model with the same number keeps its name if both place the images in
# about the same order. A lower correlation means that the number now stands for something else.
SAME_FROM = 0.7


def name_of(attribute: dict[str, Any]) -> str:
    """Return the requester's name, empty if there is none."""
    name: str = attribute.get("name", "")
    return name


def rename_attribute(
    session: Session, account: Account, campaign: Campaign, model: Model, index: int, name: str
) -> None:
    """Name an attribute of a model; a blank name removes it. Raises NotFound, InvalidInput."""
    short = short_name(name)
    session.refresh(model, with_for_update=True)
    insight = model.insight or {}
    attributes = [dict(attribute) for attribute in insight.get("attributes", [])]
    named = next((each for each in attributes if each["index"] == index), None)
    if named is None:
        raise NotFound(f"Model {model.version} has no attribute {index}.")
    named["name"] = short
    model.insight = {**insight, "attributes": attributes}
    record_audit(
        session, account.id, "attribute.renamed", "campaign", campaign.id,
        version=model.version, attribute=index, name=short,
    )  # fmt: skip


def short_name(name: str) -> str:
    """Return a name without surplus blanks. Raises InvalidInput for a long one."""
    short = " ".join(name.split())
    if len(short) > MOST_NAME:
        raise InvalidInput(f"A name can have at most {MOST_NAME} characters.", code="bad_name")
    return short


def carry_names(
    session: Session, campaign: Campaign, insight: dict[str, Any], embedding: NDArray[np.float64]
) -> dict[str, Any]:
    """Return the insight of a new model with the names of the newest model's attributes.

    embedding: (N, d) of the new model.
    """
    newest = select(Model).where(Model.campaign_id == campaign.id).order_by(Model.version.desc())
    previous = session.scalar(newest.limit(1))
    before = ((previous and previous.insight) or {}).get("attributes", [])
    learned = [part for each in before for part in parts_of(each) or [each]]
    names = {each["index"]: name_of(each) for each in learned if name_of(each)}
    if previous is None or not names or not insight.get("attributes"):
        return insight
    vectors = np.nan_to_num(read_vectors(session, previous))
    attributes = [
        {**attribute, "name": names[attribute["index"]]}
        if attribute["index"] in names and is_same(vectors, embedding, attribute["index"])
        else attribute
        for attribute in insight["attributes"]
    ]
    return {**insight, "attributes": attributes}


def is_same(before: NDArray[np.float64], now: NDArray[np.float64], index: int) -> bool:
    """Tell whether a column orders the images in about the same way in two models, (N, d) and
    (M, e). A model may turn an attribute around."""
    if index >= min(before.shape[1], now.shape[1]):
        return False
    n = min(len(before), len(now))
    return abs(rank_correlation(before[:n, index], now[:n, index])) >= SAME_FROM


def rank_correlation(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return Spearman's correlation of two columns (N,), 0 if one of them is constant."""
    if min(np.ptp(first), np.ptp(second)) == 0:
        return 0.0
    # Imported here, so that servers start a second faster.
    from scipy.stats import spearmanr

    return float(spearmanr(first, second).statistic)
