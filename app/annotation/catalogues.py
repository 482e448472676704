"""Texts of the annotators' page by language: `app/messages/LANGUAGE.json`.

A text is a string with {placeholders}, or has one string for each plural form (CLDR) of {n}.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from app.campaigns.annotation_settings import AnnotationSettings
from app.core.languages import Direction, direction_of, first_accepted, own_name

FOLDER = Path(__file__).parent.parent / "messages"
DEFAULT = "en"


@lru_cache
def catalogues() -> dict[str, dict[str, Any]]:
    """Return all catalogues by language code, English first."""
    codes = sorted((path.stem for path in FOLDER.glob("*.json")), key=lambda code: code != DEFAULT)
    return {code: json.loads((FOLDER / f"{code}.json").read_text("utf-8")) for code in codes}


def choose_language(asked: str, campaign: str, accepted: str) -> str:
    """Return the language of buttons and hints: the one that the annotator requested, otherwise the
    campaign's, otherwise the first that the browser accepts (`accepted` is its Accept-Language
    header)."""
    if asked in catalogues():
        return asked
    if campaign in catalogues():
        return campaign
    return first_accepted(accepted, catalogues()) or DEFAULT


@dataclass(frozen=True)
class PageLanguage:
    """The languages of one annotator's page.

    interface: the language of buttons and hints
    reading: the one in which the annotator reads the requester's texts, where they are translated
    """

    interface: str
    reading: str

    @property
    def direction(self) -> Direction:
        return direction_of(self.interface)


def page_language(asked: str, settings: AnnotationSettings, accepted: str) -> PageLanguage:
    """Return the languages of an annotator's page. Buttons and hints follow the requester's texts
    where the page is translated into their language."""
    if asked in choices_of(settings):
        reading: str | None = asked
    elif settings.language != "auto":
        reading = settings.language
    else:
        reading = first_accepted(accepted, _readable(settings))
    interface = choose_language(reading or "", settings.language, accepted)
    return PageLanguage(interface, reading or interface)


def choices_of(settings: AnnotationSettings) -> dict[str, str]:
    """Return the languages that an annotator can choose, by code, with their own names."""
    others = sorted({*settings.translations, settings.text_language} - {"", *catalogues()})
    own = {code: str(texts["language"]) for code, texts in catalogues().items()}
    return own | {code: own_name(code) for code in others}


def _readable(settings: AnnotationSettings) -> set[str]:
    """Return the languages in which there is something to choose from: those of the requester's
    texts, if all are known."""
    if settings.translations and settings.text_language:
        return {*settings.translations, settings.text_language}
    return {*settings.translations, *catalogues()}
