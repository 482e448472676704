"""What a merge of learned attributes means for what is said of the parts."""

import math
from collections.abc import Sequence
from typing import Any

Attribute = dict[str, Any]
# Values of annotators with an entry for each attribute, which a merge adds up.
ADDED = ("preference", "used")
ERROR = "used_error"


def parts_of(attribute: Attribute) -> list[Attribute]:
    """Return the learned attributes that were merged into one, the largest share first; none for
    an attribute that was not merged."""
    parts: list[Attribute] = attribute.get("parts", [])
    return parts


def merged_numbers(attributes: Sequence[Attribute]) -> dict[int, int]:
    """Return for the number of each merged part that of the attribute that replaces it."""
    return {
        part["index"]: attribute["index"]
        for attribute in attributes
        for part in parts_of(attribute)
    }


def annotators_of(insight: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a model's annotators. A merged attribute has the sum of its parts, the other parts
    have 0."""
    annotators: list[dict[str, Any]] = insight["annotators"]
    merges = [
        [attribute["index"], *(part["index"] for part in parts_of(attribute))]
        for attribute in insight["attributes"]
        if parts_of(attribute)
    ]
    return [_with_sums(annotator, merges) for annotator in annotators] if merges else annotators


def _with_sums(annotator: dict[str, Any], merges: list[list[int]]) -> dict[str, Any]:
    summed = {name: list(annotator.get(name) or []) for name in (*ADDED, ERROR)}
    for target, *parts in merges:
        for name, values in summed.items():
            if max(parts) >= len(values):
                continue
            known = [values[part] for part in parts if values[part] is not None]
            for part in parts:
                values[part] = 0.0 if known else None
            if known:
                values[target] = combined_error(known) if name == ERROR else sum(known)
    return {**annotator, **{name: values for name, values in summed.items() if values}}


def combined_error(errors: Sequence[float]) -> float:
    """Return the standard error of a sum. What is about one part is not about another, so that
    errors of the parts hardly ever go the same way: this is rather too large."""
    return round(math.sqrt(sum(error * error for error in errors)), 6)
