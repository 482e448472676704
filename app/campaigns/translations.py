"""The requester's texts in other languages."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from app.core.languages import NAMES

LONGEST_TEXT = 20_000
# Every request of an annotator reads them.
MOST_LANGUAGES = 20
LONGEST_QUESTION = 2_000
MOST_NAMES, LONGEST_NAME = 10, 40


class Translation(BaseModel):
    """The texts of a campaign in one language. People who read it see the campaign's own text in
    place of an empty one."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(default="", max_length=LONGEST_QUESTION)
    consent: str = Field(default="", max_length=LONGEST_TEXT)
    instructions: str = Field(default="", max_length=LONGEST_TEXT)
    thanks: str = Field(default="", max_length=LONGEST_TEXT)
    screen_out_text: str = Field(default="", max_length=LONGEST_TEXT)
    classes: list[str] = Field(
        default_factory=list,
        max_length=MOST_NAMES,
        description="The names of the campaign's classes, in the same order.",
    )


Translations = dict[str, Translation]


def check_languages(translations: Translations, own: str) -> None:
    """Raise ValueError for an unknown language, or for a translation into the language of the
    campaign's own texts."""
    unknown = sorted(set(translations) - set(NAMES))
    if unknown:
        raise ValueError(
            f"{unknown[0]!r} is not a language that Likewise knows. Choose from {', '.join(NAMES)}"
        )
    if own in translations:
        raise ValueError(
            f"{own!r} is the language of the campaign's own texts. Remove the translation, or "
            "choose another language for your texts"
        )


def check_class_names(translations: dict[str, Any], classes: list[str]) -> str | None:
    """Return what is wrong with translated names of classes, or None."""
    for code, translation in translations.items():
        names = [name.strip() for name in translation["classes"]]
        if not names:
            continue
        if len(names) != len(classes):
            return (
                f"{code}: {len(names)} names for {len(classes)} classes. Give one name for each "
                "class, in the same order, or none."
            )
        shown = [name or own for name, own in zip(names, classes, strict=True)]
        if len({name.casefold() for name in shown}) < len(shown):
            return f"{code}: two classes would have the same name."
        if any(len(name) > LONGEST_NAME for name in names):
            return f"{code}: a name can have at most {LONGEST_NAME} characters."
    return None


def changed_questions(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return the languages in which the question is no longer what it was. One that had no
    translation is not among them: answers say in which language the question was read."""
    return [
        code
        for code, translation in before.items()
        if translation["question"].strip()
        and after.get(code, {}).get("question", "").strip() != translation["question"].strip()
    ]
