"""What a requester sees of labels by votes and of the people who voted, as numbers and JSON."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from app.strategies.labels import SURE, Labels

if TYPE_CHECKING:
    from learning.aggregation import Aggregated
    from learning.crowd_labels import CrowdLabels
    from learning.votes import Votes


# If votes tell less than this about the truth, their errors cannot be removed.
LEAST_INFORMEDNESS = 0.1


def metrics_of(
    model: "CrowdLabels", labels: Labels, gain: NDArray[np.float64], grid_size: int
) -> dict[str, float]:
    """Return metrics of the labels.

    expected_right: the share of labels that is expected to be right.
    expected_balanced: the mean of that share among images that show what is asked for and among
        those that do not. If few images show it, always saying no is mostly right but useless.
    gain_of_next_grid: how many labels the next grid is expected to correct.
    held_out_auc: the classifier's AUC on images whose votes it had not seen.
    """
    sure = labels.sureness
    return {
        "expected_right": float(sure.mean()),
        "expected_balanced": _balanced(labels.probability),
        "gain_of_next_grid": gain_of_grid(gain, grid_size),
        "votes_per_image": float(labels.n_votes.mean()),
        "yes_share": float((labels.probability > 0.5).mean()),
        "contested": float((sure < SURE).sum()),
        **_classifier_scores(model, labels),
    }


def _balanced(probability: NDArray[np.float64]) -> float:
    shown = probability > 0.5
    sensitivity = probability[shown].sum() / probability.sum()
    specificity = (1 - probability[~shown]).sum() / (1 - probability).sum()
    return float((sensitivity + specificity) / 2)


def _classifier_scores(model: "CrowdLabels", labels: Labels) -> dict[str, float]:
    from sklearn.metrics import roc_auc_score

    known = (labels.n_votes > 0) & (labels.yes != labels.no)
    label = labels.yes[known] > labels.no[known]
    if model.classifier_ is None or len(np.unique(label)) < 2:
        return {}
    return {"held_out_auc": float(roc_auc_score(label, labels.prior[known]))}


def insight_of(
    model: "CrowdLabels", labels: Labels, votes: "Votes", aggregated: Mapping[str, "Aggregated"]
) -> dict[str, Any]:
    """Return `jury` (everyone who voted, with their `quality` according to the votes alone) and
    `reliability` (of the classifier's probabilities, in tenths)."""
    cast = (votes >= 0).sum(axis=0)
    return {
        "jury": [
            {
                "annotator": int(who),
                "n_votes": int(cast[who]),
                "yes_share": _rounded((votes[:, who] == 1).sum() / cast[who]),
                "sensitivity": _rounded(model.sensitivity_[who]),
                "specificity": _rounded(model.specificity_[who]),
                "quality": {
                    name: _rounded(result.quality[who]) for name, result in aggregated.items()
                },
            }
            for who in np.flatnonzero(cast).tolist()
        ],
        "reliability": reliability(labels, *model.mean_annotator_),
        "has_classifier": model.classifier_ is not None,
    }


def _rounded(value: Any) -> float:
    return round(float(value), 6)


def reliability(labels: Labels, sensitivity: float, specificity: float) -> list[dict[str, float]]:
    """Compare the classifier's probability with the votes, for images with votes in tenths of this
    probability: the mean probability, the share that shows what is asked for, and the number of
    images.

    The errors of an average annotator are removed from the share of yes votes (Rogan and Gladen
    1978), if the votes contain more than errors.
    """
    informedness = sensitivity + specificity - 1

    def corrected(share: float) -> float:
        if informedness <= LEAST_INFORMEDNESS:
            return share
        return float(np.clip((share - 1 + specificity) / informedness, 0, 1))

    asked = labels.n_votes > 0
    tenths = by_tenths(labels.prior[asked], labels.yes[asked] / labels.n_votes[asked])
    return [
        {"probability": _rounded(prior), "yes_share": _rounded(corrected(share)), "n_images": n}
        for prior, share, n in tenths
    ]


def gain_of_grid(gain: NDArray[np.float64], grid_size: int) -> float:
    """Return how many labels a grid of the images with the highest gain is expected to correct."""
    return float(np.sort(np.maximum(gain, 0.0))[::-1][:grid_size].sum())


def by_tenths(
    probability: NDArray[np.float64], share: NDArray[np.float64]
) -> list[tuple[float, float, int]]:
    """Return the mean probability, the mean share and the number of values of each tenth of the
    probability that has some."""
    bins = np.minimum((probability * 10).astype(int), 9)
    return [
        (float(probability[here].mean()), float(share[here].mean()), int(here.sum()))
        for here in (bins == place for place in np.unique(bins))
    ]
