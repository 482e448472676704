"""The requester's texts as one annotator reads them: in their language where it is translated."""

from dataclasses import dataclass
from typing import Literal

from app.annotation.schemas import TextLanguage, TextLanguages
from app.campaigns.annotation_settings import AnnotationSettings
from app.campaigns.models import Campaign
from app.campaigns.translations import Translation, shown_names
from app.core.languages import direction_of
from app.kinds import kind_of

Name = Literal["question", "consent", "instructions", "thanks", "screen_out_text"]


@dataclass(frozen=True)
class Text:
    """A text and its language; "" if that is not known."""

    text: str
    language: str

    @property
    def shown(self) -> TextLanguage:
        """How a page marks the text."""
        known = self.language
        return TextLanguage(lang=known or None, dir=direction_of(known) if known else "auto")


class Texts:
    """The texts of a campaign for people who read a language; "" for its own texts."""

    def __init__(self, campaign: Campaign, settings: AnnotationSettings, language: str) -> None:
        self._campaign, self._settings, self._language = campaign, settings, language
        self._translation = settings.translations.get(language, Translation())

    def __getitem__(self, name: Name) -> Text:
        own = self._own(name)
        translated: str = getattr(self._translation, name)
        # Nobody is asked for consent in one language alone.
        if translated.strip() and (name != "consent" or own.strip()):
            return Text(translated, self._language)
        return Text(own, self._settings.text_language)

    def _own(self, name: Name) -> str:
        own: str = self._campaign.question if name == "question" else getattr(self._settings, name)
        return own

    @property
    def languages(self) -> TextLanguages:
        return TextLanguages(
            question=self["question"].shown,
            consent=self["consent"].shown,
            instructions=self["instructions"].shown,
            thanks=self["thanks"].shown,
            screen_out=self["screen_out_text"].shown,
        )

    @property
    def classes(self) -> list[str]:
        """The names of the campaign's classes; [] if it has none."""
        kind = kind_of(self._campaign)
        own = list(kind.choices) if kind.asks_for_classes else []
        return shown_names(self._translation.classes, own)
