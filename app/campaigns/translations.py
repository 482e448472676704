"""The requester's texts in other languages."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from app.core.languages import NAMES
from app.kinds.classes import same_name

LONGEST_TEXT = 20_000
# Characters of all translations. Every request of an annotator reads them.
LONGEST_TOTAL = 100_000
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
    classes: dict[str, str] = Field(
        default_factory=dict,
        max_length=MOST_NAMES,
        description="Names of classes in this language, by the campaign's own names. The question "
        "must be translated, too.",
    )


Translations = dict[str, Translation]


def check_languages(translations: Translations, own: str) -> None:
    """Raise ValueError for an unknown language, a translation into the language of the campaign's
    own texts, and for too many characters in all."""
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

    total = sum(
        len(translation.consent) + len(translation.instructions) + len(translation.thanks)
        + len(translation.screen_out_text) + len(translation.question)
        for translation in translations.values()
    )  # fmt: skip
    if total > LONGEST_TOTAL:
        raise ValueError(
            f"all translations together have {total:,} characters, and can have {LONGEST_TOTAL:,}. "
            "Shorten the consent texts and instructions, or leave out a language"
        )


def check_class_names(translations: dict[str, Any], classes: list[str]) -> str | None:
    """Return what is wrong with translated names of classes, or None."""
    for code, translation in translations.items():
        names = translation["classes"]
        unknown = [own for own in names if own not in classes]
        if unknown:
            known = f"The classes are {', '.join(classes)}." if classes else "There are no classes."
            return f"{code}: there is no class {unknown[0]!r}. {known}"
        if any(names.values()) and not translation["question"].strip():
            return (
                f"{code}: translate the question, too. Exports say in which language it was read."
            )
        if any(len(name) > LONGEST_NAME for name in names.values()):
            return f"{code}: a name can have at most {LONGEST_NAME} characters."
        shown = shown_names(names, classes)
        if len({same_name(name) for name in shown}) < len(shown):
            return f"{code}: two classes would have the same name."
    return None


def shown_names(names: dict[str, str], classes: list[str]) -> list[str]:
    """Return the names of classes as people read them, whose language has these `names`."""
    return [names.get(own, "").strip() or own for own in classes]


def swapped_name(
    before: dict[str, Any], after: dict[str, Any], classes: list[str]
) -> tuple[str, str] | None:
    """Return a language and the name in it that stood for another class before, or None."""
    for code, translation in after.items():
        old = shown_names(before.get(code, {}).get("classes", {}), classes)
        new = shown_names(translation["classes"], classes)
        for index, name in enumerate(new):
            others = [known for other, known in enumerate(old) if other != index]
            if same_name(name) in map(same_name, others):
                return code, name
    return None


def with_classes(translations: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Return translations in which the names of classes belong to other classes. `names`: the new
    name of each class that stays, by its old one."""
    return {
        code: {
            **translation,
            "classes": {
                names[own]: name for own, name in translation["classes"].items() if own in names
            },
        }
        for code, translation in translations.items()
    }


def changed_questions(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return the languages in which the question is no longer what it was. One that had no
    translation is not among them: answers say in which language the question was read."""
    return [
        code
        for code, translation in before.items()
        if translation["question"].strip()
        and after.get(code, {}).get("question", "").strip() != translation["question"].strip()
    ]
