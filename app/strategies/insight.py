"""What a requester sees of attributes and annotators, as JSON."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

# Fewer answers than this do not make an attribute of the crowd.
MIN_ANSWERS = 3

if TYPE_CHECKING:
    from learning.arrays import FloatArray
    from learning.attribute_insight import AttributeInsight
    from learning.baselines import PaperContextEmbedding
    from learning.cen import ContextEmbeddingNetwork
    from learning.groupings import Groupings
    from learning.words import AttributeWords

    Network = ContextEmbeddingNetwork | PaperContextEmbedding


def attributes_in_use(model: "Network", answers: "Groupings") -> list[int]:
    """Return attributes that separate images and that more than a few answers are about."""
    separate = model.embedding_.std(axis=0) > 0
    supported = model.attribute_share_ * len(answers) >= min(MIN_ANSWERS, len(answers))
    return [int(index) for index in (separate & supported).nonzero()[0]]


def insight_of(model: "Network", answers: "Groupings", words: list[list[str]]) -> dict[str, Any]:
    """Return `attributes` (those in use, by number) and `annotators` (all who answered, by
    position).

    For the default model, also return `structure` ("attributes", "pooled" or "none"), the share of
    answers about none of the attributes, and how many answers the structure was judged by. `words`
    are the group descriptions of every answer; without any, attributes have no names.
    """
    in_use = attributes_in_use(model, answers)
    probability = model.attribute_probability(answers)
    return {
        **_structure(model, probability[:, in_use]),
        "attributes": _attributes(model, answers, probability, words, in_use),
        "annotators": _annotators(model, answers),
    }


def _structure(model: "Network", probability: "FloatArray") -> dict[str, Any]:
    """`probability` is (G, A): how likely each answer is about each attribute in use."""
    from learning.baselines import PaperContextEmbedding

    if isinstance(model, PaperContextEmbedding):
        return {}
    none = 1.0 - probability.sum(axis=1)
    return {
        "structure": model.structure_,
        "held_out_answers": int(model.held_out_.get("held_out_answers", 0)),
        "none_share": _number(none.mean()),
        "none_share_error": _number(none.std() / math.sqrt(len(none))),
    }


def _attributes(
    model: "Network",
    answers: "Groupings",
    probability: "FloatArray",
    words: list[list[str]],
    in_use: list[int],
) -> list[dict[str, Any]]:
    # This is imported here so that the web server can list strategies without loading the numerics.
    from learning.attribute_insight import attribute_insight
    from learning.words import attribute_words

    described = words if words else [[] for _ in range(len(answers))]
    named = attribute_words(model.embedding_, probability, answers, described)
    insights = attribute_insight(model, answers, probability, described, in_use)
    return [
        {
            "index": index,
            **_certainty(model, index),
            **_words(named[index]),
            **_shape(insight),
        }
        for index, insight in zip(in_use, insights, strict=True)
    ]


def _certainty(model: "Network", index: int) -> dict[str, Any]:
    """Return the share of the answers. For the default model, also return its error and the
    confidence."""
    from learning.baselines import PaperContextEmbedding

    share = {"share": round(float(model.attribute_share_[index]), 6)}
    if isinstance(model, PaperContextEmbedding):
        return share
    return {
        **share,
        "share_error": _number(model.attribute_share_error_[index]),
        "confidence": _number(model.attribute_confidence_[index]),
    }


def _words(words: "AttributeWords") -> dict[str, Any]:
    return {"low": list(words.low), "high": list(words.high), "middle": list(words.middle)}


def _shape(insight: "AttributeInsight") -> dict[str, Any]:
    """Return the columns, the clusters of an unordered attribute, and an example grid."""
    example = insight.example
    return {
        "columns": list(insight.columns),
        "clusters": [
            {
                "size": cluster.size,
                "silhouette": _number(cluster.silhouette),
                "images": list(cluster.images),
                "words": list(cluster.words),
            }
            for cluster in insight.clusters
        ],
        "example": example and {"images": list(example.images), "groups": list(example.groups)},
    }


def _annotators(model: "Network", answers: "Groupings") -> list[dict[str, Any]]:
    from learning.insight import annotator_insight

    insight = annotator_insight(model, answers)
    return [
        {
            "annotator": annotator,
            "n_answers": int(insight.n_answers[annotator]),
            "preference": _numbers(insight.preference[annotator]),
            "used": _numbers(insight.used[annotator]),
            "used_error": _numbers(insight.used_error[annotator]),
            "n_groups": _number(insight.n_groups[annotator]),
            "detail": _number(insight.detail[annotator]),
            "carelessness": _number(insight.carelessness[annotator]),
            "agreement": _number(insight.agreement[annotator]),
            "n_repeats": int(insight.n_repeats[annotator]),
            "consistency": _number(insight.consistency[annotator]),
        }
        for annotator in range(len(insight.n_answers))
        if insight.n_answers[annotator]
    ]


def _numbers(values: Sequence[float]) -> list[float | None]:
    return [_number(value) for value in values]


def _number(value: float) -> float | None:
    return round(float(value), 6) if math.isfinite(value) else None
