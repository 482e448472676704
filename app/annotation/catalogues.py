"""Texts of the annotators' page by language: `app/messages/LANGUAGE.json`.

A text is a string with {placeholders}, or has one string for each plural form (CLDR) of {n}.
"""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "messages"
DEFAULT = "en"
RIGHT_TO_LEFT = frozenset({"ar"})


@lru_cache
def catalogues() -> dict[str, dict[str, Any]]:
    """Return all catalogues by language code, English first."""
    codes = sorted((path.stem for path in FOLDER.glob("*.json")), key=lambda code: code != DEFAULT)
    return {code: json.loads((FOLDER / f"{code}.json").read_text("utf-8")) for code in codes}


def choose_language(asked: str, campaign: str, accepted: str) -> str:
    """Return the language of a page: the one that the annotator requested, otherwise the
    campaign's, otherwise the first that the browser accepts (`accepted` is its Accept-Language
    header)."""
    if asked in catalogues():
        return asked
    if campaign in catalogues():
        return campaign
    return next((code for code in _by_weight(accepted) if code in catalogues()), DEFAULT)


def _by_weight(accepted: str) -> list[str]:
    weighted: list[tuple[float, str]] = []
    for part in accepted.split(","):
        tag, _, parameters = part.strip().partition(";")
        try:
            weight = float(parameters.strip().removeprefix("q=") or 1)
        except ValueError:
            weight = 0.0
        weighted.append((-weight, tag.split("-")[0].lower()))
    return [tag for weight, tag in sorted(weighted, key=lambda pair: pair[0]) if weight < 0]
