"""Languages in which people read texts: their codes (BCP 47), names and directions."""

from collections.abc import Collection
from typing import Literal

Direction = Literal["ltr", "rtl"]
# By code: the name in English, and in the language itself.
NAMES = {
    "ar": ("Arabic", "العربية"),
    "bg": ("Bulgarian", "български"),
    "bn": ("Bengali", "বাংলা"),
    "ca": ("Catalan", "català"),
    "cs": ("Czech", "čeština"),
    "da": ("Danish", "dansk"),
    "de": ("German", "Deutsch"),
    "el": ("Greek", "Ελληνικά"),
    "en": ("English", "English"),
    "es": ("Spanish", "español"),
    "et": ("Estonian", "eesti"),
    "fa": ("Persian", "فارسی"),
    "fi": ("Finnish", "suomi"),
    "fr": ("French", "français"),
    "he": ("Hebrew", "עברית"),
    "hi": ("Hindi", "हिन्दी"),
    "hr": ("Croatian", "hrvatski"),
    "hu": ("Hungarian", "magyar"),
    "id": ("Indonesian", "Bahasa Indonesia"),
    "it": ("Italian", "italiano"),
    "ja": ("Japanese", "日本語"),
    "ko": ("Korean", "한국어"),
    "lt": ("Lithuanian", "lietuvių"),
    "lv": ("Latvian", "latviešu"),
    "ms": ("Malay", "Bahasa Melayu"),
    "nl": ("Dutch", "Nederlands"),
    "no": ("Norwegian", "norsk"),
    "pl": ("Polish", "polski"),
    "pt": ("Portuguese", "português"),
    "pt-BR": ("Portuguese, Brazil", "português (Brasil)"),
    "ro": ("Romanian", "română"),
    "ru": ("Russian", "русский"),
    "sk": ("Slovak", "slovenčina"),
    "sl": ("Slovenian", "slovenščina"),
    "sr": ("Serbian", "српски"),
    "sv": ("Swedish", "svenska"),
    "sw": ("Swahili", "Kiswahili"),
    "ta": ("Tamil", "தமிழ்"),
    "th": ("Thai", "ไทย"),
    "tl": ("Filipino", "Filipino"),
    "tr": ("Turkish", "Türkçe"),
    "uk": ("Ukrainian", "українська"),
    "ur": ("Urdu", "اردو"),
    "vi": ("Vietnamese", "Tiếng Việt"),
    "zh-Hans": ("Chinese, simplified", "简体中文"),
    "zh-Hant": ("Chinese, traditional", "繁體中文"),
}
RIGHT_TO_LEFT = frozenset({"ar", "fa", "he", "ur"})
# What browsers also call a language.
_ALSO = {
    "nb": "no", "nn": "no", "iw": "he", "in": "id", "fil": "tl",
    "zh": "zh-Hans", "zh-tw": "zh-Hant", "zh-hk": "zh-Hant", "zh-mo": "zh-Hant",
}  # fmt: skip


def direction_of(language: str) -> Direction:
    return "rtl" if language in RIGHT_TO_LEFT else "ltr"


def titles() -> dict[str, str]:
    """Return what requesters' pages call each language."""
    return {code: name if name == own else f"{name} ({own})" for code, (name, own) in NAMES.items()}


def own_name(language: str) -> str:
    return NAMES[language][1]


def first_accepted(accepted: str, available: Collection[str]) -> str | None:
    """Return the available language that a browser likes best, or None. `accepted` is its
    Accept-Language header."""
    by_tag = {code.lower(): code for code in available}
    # A regional form of a language serves its speakers elsewhere, if there is no other.
    for code in sorted(available):
        by_tag.setdefault(_base(code.lower()), code)
    tags = (tag for wanted in _by_weight(accepted) for tag in _forms(wanted))
    return next((by_tag[tag] for tag in tags if tag in by_tag), None)


def _base(tag: str) -> str:
    return tag.split("-")[0]


def _forms(tag: str) -> list[str]:
    """Return a tag and what it stands for, the closest first: zh-tw, zh-hant, zh."""
    base = _base(tag)
    script = "-".join(tag.split("-")[:2])
    forms = (tag, script, _ALSO.get(script), _ALSO.get(base), base)
    return [form.lower() for form in forms if form]


def _by_weight(accepted: str) -> list[str]:
    """Return the tags of an Accept-Language header in lower case, the best first."""
    weighted: list[tuple[float, str]] = []
    for part in accepted.split(","):
        tag, _, parameters = part.strip().partition(";")
        try:
            weight = float(parameters.strip().removeprefix("q=") or 1)
        except ValueError:
            weight = 0.0
        if 0 < weight <= 1:
            weighted.append((-weight, tag.strip().lower()))
    return [tag for _, tag in sorted(weighted, key=lambda pair: pair[0])]
