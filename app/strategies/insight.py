"""What a requester is told of the attributes and the annotators, as JSON."""

import math
from typing import TYPE_CHECKING, Any

# An attribute that fewer answers are about is no attribute of the crowd's.
MIN_ANSWERS = 3

if TYPE_CHECKING:
    from learning.baselines import PaperContextEmbedding
    from learning.cen import ContextEmbeddingNetwork
    from learning.groupings import Groupings

    Network = ContextEmbeddingNetwork | PaperContextEmbedding


def attributes_in_use(model: "Network", answers: "Groupings") -> list[int]:
    """Dimensions that part images and that more than a stray answer is about."""
    parted = model.embedding_.std(axis=0) > 0
    borne_out = model.attribute_share_ * len(answers) >= min(MIN_ANSWERS, len(answers))
    return [int(index) for index in (parted & borne_out).nonzero()[0]]


def insight_of(model: "Network", answers: "Groupings", words: list[list[str]]) -> dict[str, Any]:
    """`attributes`: those in use, by number; `annotators`: all who answered, by position.

    words: group descriptions of every answer; without any, attributes have no names.
    """
    return {
        "attributes": _attributes(model, answers, words),
        "annotators": _annotators(model, answers),
    }


def _attributes(
    model: "Network", answers: "Groupings", words: list[list[str]]
) -> list[dict[str, Any]]:
    # Imported here: the web server lists strategies without loading the numerics.
    from learning.words import attribute_words

    described = words if words else [[] for _ in range(len(answers))]
    probability = model.attribute_probability(answers)
    named = attribute_words(model.embedding_, probability, answers, described)
    in_use = attributes_in_use(model, answers)
    return [
        {
            "index": index,
            "share": round(float(model.attribute_share_[index]), 6),
            "low": list(named[index].low),
            "high": list(named[index].high),
            "middle": list(named[index].middle),
        }
        for index in in_use
    ]


def _annotators(model: "Network", answers: "Groupings") -> list[dict[str, Any]]:
    from learning.insight import annotator_insight

    told = annotator_insight(model, answers)
    return [
        {
            "annotator": annotator,
            "n_answers": int(told.n_answers[annotator]),
            "preference": [round(float(share), 6) for share in told.preference[annotator]],
            "n_groups": _number(told.n_groups[annotator]),
            "detail": _number(told.detail[annotator]),
            "carelessness": _number(told.carelessness[annotator]),
            "agreement": _number(told.agreement[annotator]),
            "n_repeats": int(told.n_repeats[annotator]),
            "consistency": _number(told.consistency[annotator]),
        }
        for annotator in range(len(told.n_answers))
        if told.n_answers[annotator]
    ]


def _number(value: float) -> float | None:
    return round(float(value), 6) if math.isfinite(value) else None
