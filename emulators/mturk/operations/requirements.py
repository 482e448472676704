"""Qualification requirements of a HIT type, at most ten, each with consistent parameters."""

from emulators.mturk.eligibility import LOCALE, SYSTEM
from emulators.mturk.errors import Refused, missing
from emulators.mturk.shapes import Document
from emulators.mturk.state import State

MOST = 10
_LOCALE_COMPARATORS = ("EqualTo", "NotEqualTo", "In", "NotIn", "Exists", "DoesNotExist")
# "You can specify up to 15 … IntegerValues" and "up to 30 … LocaleValues" (API reference).
_MOST_VALUES = {"IntegerValues": 15, "LocaleValues": 30}


def check_requirements(state: State, owner: str, requirements: list[Document]) -> None:
    if len(requirements) > MOST:
        raise Refused(f"More than {MOST} QualificationRequirements.", "ParameterOutOfRange")
    for requirement in requirements:
        _check_type(state, owner, requirement)
        _check_values(requirement)
        if "RequiredToPreview" in requirement and "ActionsGuarded" in requirement:
            raise _bad_combination("ActionsGuarded, RequiredToPreview")


def _check_type(state: State, owner: str, requirement: Document) -> None:
    identifier = requirement["QualificationTypeId"]
    own = state.qualification_types.get(identifier)
    if identifier not in SYSTEM and (own is None or own.owner != owner):
        raise missing("QualificationType", identifier, "QualificationTypeDoesNotExist")


def _check_values(requirement: Document) -> None:
    comparator = requirement["Comparator"]
    is_locale = requirement["QualificationTypeId"] == LOCALE
    name, other = ("LocaleValues", "IntegerValues")[:: 1 if is_locale else -1]
    if is_locale and comparator not in _LOCALE_COMPARATORS:
        raise _bad_combination("Comparator, LocaleValues")
    values = requirement.get(name, [])
    if comparator in ("Exists", "DoesNotExist"):
        right = not values
    elif comparator in ("In", "NotIn"):
        right = 1 <= len(values) <= _MOST_VALUES[name]
    else:
        right = len(values) == 1
    if not right or requirement.get(other):
        raise _bad_combination("Comparator, IntegerValues, LocaleValues")


def _bad_combination(names: str) -> Refused:
    # Users quote this error; its type is not in the service model.
    return Refused(
        f"The combination of parameters supplied to the request is invalid: {names}.",
        "InvalidParameterCombination",
        kind="InvalidParameterCombinationError",
    )
