"""Who can take part in a HIT: MTurk's own qualifications, and ours for people who took part
before."""

from collections.abc import Iterable

from app.recruitment.channel import ChannelRefused, ChannelUnavailable
from app.recruitment.channels.mturk.api import MTurkApi
from app.recruitment.channels.mturk.errors import has_code
from app.recruitment.channels.mturk.settings import MTurkSettings

# MTurk's own qualification types (reliability.md §1a).
LOCALE = "00000000000000000071"
PERCENT_APPROVED = "000000000000000000L0"
NUMBER_APPROVED = "00000000000000000040"

Requirement = dict[str, object]


def requirements(settings: MTurkSettings, former: str) -> list[Requirement]:
    """Return who can take part. `former` is the qualification type of people who may not, or
    empty."""
    asked: list[Requirement] = []
    if settings.countries:
        places = [_locale(country) for country in settings.countries]
        asked.append({"QualificationTypeId": LOCALE, "Comparator": "In", "LocaleValues": places})
    for kind, least in (
        (PERCENT_APPROVED, settings.min_percent_approved),
        (NUMBER_APPROVED, settings.min_approved),
    ):
        if least:
            asked.append(
                {
                    "QualificationTypeId": kind,
                    "Comparator": "GreaterThanOrEqualTo",
                    "IntegerValues": [least],
                }
            )
    if former:
        asked.append({"QualificationTypeId": former, "Comparator": "DoesNotExist"})
    return [{**requirement, "ActionsGuarded": settings.guard} for requirement in asked]


def _locale(country: str) -> dict[str, str]:
    name, _, part = country.partition("-")
    return {"Country": name, **({"Subdivision": part} if part else {})}


def qualification_type(api: MTurkApi, name: str, description: str) -> str:
    """Return the id of the account's qualification type with this name, and create it if needed."""
    type_id = _find_qualification_type(api, name)
    if type_id:
        return type_id
    try:
        reply = api.tell(
            "create_qualification_type",
            Name=name,
            Description=description,
            QualificationTypeStatus="Active",
        )
    except ChannelRefused as error:
        if not has_code(error, "QualificationTypeAlreadyExists"):
            raise
        type_id = _find_qualification_type(api, name)
        if not type_id:
            raise ChannelUnavailable("MTurk does not list its new qualification yet.") from error
        return type_id
    return str(reply["QualificationType"]["QualificationTypeId"])


def _find_qualification_type(api: MTurkApi, name: str) -> str:
    """Return the qualification type with exactly this name, because MTurk searches by words."""
    mine = api.every(
        "list_qualification_types",
        "QualificationTypes",
        Query=name,
        MustBeRequestable=False,
        MustBeOwnedByCaller=True,
    )
    return next(
        (
            str(qualification["QualificationTypeId"])
            for qualification in mine
            if qualification["Name"] == name
        ),
        "",
    )


def grant(api: MTurkApi, qualification: str, person: str) -> None:
    """Give someone a qualification without notifying them. Repeating this changes nothing."""
    api.tell(
        "associate_qualification_with_worker",
        QualificationTypeId=qualification,
        WorkerId=person,
        IntegerValue=1,
        SendNotification=False,
    )


def grant_to_all(api: MTurkApi, qualification: str, people: Iterable[str]) -> list[ChannelRefused]:
    """Give everyone the qualification. Return MTurk's refusals, for example for people it no longer
    knows."""
    refused = []
    for person in people:
        try:
            grant(api, qualification, person)
        except ChannelRefused as error:
            refused.append(error)
    return refused


def lacking(api: MTurkApi, qualification: str, people: Iterable[str]) -> list[str]:
    """Return the people who do not have the qualification yet."""
    wanted = set(people)
    if wanted:
        granted = api.every(
            "list_workers_with_qualification_type",
            "Qualifications",
            QualificationTypeId=qualification,
            Status="Granted",
        )
        wanted -= {holder["WorkerId"] for holder in granted}
    return sorted(wanted)
