"""How well aligned features predict held-out grids, as JSON."""

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from learning.feature_alignment import FeatureAlignment, Judgement
    from learning.feature_alignment.judging import Score

Json = dict[str, Any]


def figures_of(
    alignment: "FeatureAlignment",
    judgement: "Judgement",
    name: str,
    attributes: list[Json],
    references: Json,
) -> Json:
    """Return raw and aligned scores, overall and for each attribute, and the references.

    attributes: of the model's insight; references: see `references_of`.
    """
    scores = judgement.features[name]
    words = {attribute["index"]: attribute for attribute in attributes}
    return {
        "raw": score_of(scores.raw),
        "aligned": score_of(scores.aligned),
        "used_share": scores.used,
        "by_attribute": [
            {
                "attribute": number,
                **{side: words.get(number, {}).get(side, []) for side in ("low", "high")},
                "raw": score_of(raw),
                "aligned": score_of(aligned),
            }
            for number, (raw, aligned) in scores.by_attribute.items()
        ],
        "explained": [_number(share) for share in alignment.explained_],
        "gain": _number(alignment.gain_.value),
        "gain_error": _number(alignment.gain_.error),
        **references,
    }


def references_of(judgement: "Judgement", key: str) -> Json:
    """Return what does not depend on the features: the scores of the campaign's model and of
    people. key: what they follow from (app/alignments/references.py)."""
    people = judgement.people
    return {
        "campaign": None if judgement.seen is None else score_of(judgement.seen),
        "references_key": key,
        "people": None if people is None else {"auc": people.auc, "n_pairs": people.n_pairs},
    }


def score_of(score: "Score") -> Json | None:
    """Return None if too few pairs were held out."""
    if not math.isfinite(score.auc):
        return None
    return {name: _number(value) for name, value in vars(score).items()}


def _number(value: float) -> float | int:
    return value if isinstance(value, int) else round(float(value), 6)
