"""Parameters that a link's address brings along, and where they send people back to.

Which are kept is decided by the link, and what they say is checked before anything is written.
Panels sign nothing, so a value is believed as it is. It must only be one: present once, of a
sensible length, without characters that have no place in an id, and filled in by the panel.

People are sent back by how their visit ended. A value only ever stands after the “?” of the
requester's own address, with every character that has a meaning in addresses percent-encoded.
"""

import re
import unicodedata
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.annotation import sessions
from app.annotation.models import AnnotatorIdentity, Assignment
from app.annotation.schemas import HandIn
from app.annotation.sessions import AnnotatorSession
from app.core.errors import LikewiseError
from app.recruitment.models import LinkParameters, Recruitment
from app.recruitment.settings import (
    CODE,
    PERSON,
    PLACEHOLDER,
    LinkSettings,
    Outcome,
    link_settings,
    placeholders_of,
)

LONGEST_VALUE = 200
MOST_PAIRS = 100
FORMS = {
    "any": re.compile(r"[A-Za-z0-9._~@+:=-]+"),
    "word": re.compile(r"[A-Za-z0-9_-]+"),
    "digits": re.compile(r"[0-9]+"),
    "hex": re.compile(r"[0-9a-fA-F]+"),
    "uuid": re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
}
# What panels replace with a value: %SURVEY_CODE%, {{id}}, {TOKEN}, ${e://Field/RID}, [ID], [%ID%],
# <ID>, __ID__.
UNFILLED = re.compile(r"%[^%]*%|\$?\{.*\}|\[.*\]|<.*>|__[A-Za-z_]+__", re.DOTALL)
HELP = "Go back to the site that sent you here, and open the study from there again."
# What the annotators' page calls these ways out.
WAYS: dict[str, Outcome] = {"declined": "no_consent", "screened_out": "screened_out"}


class BadParameter(LikewiseError):
    """The address lacks a parameter, or one of them can't be right. `code` is `id_missing`,
    `id_malformed`, `parameter_repeated`, `parameter_long`, `parameter_malformed` or
    `parameter_unfilled`. `details` have the reason without the advice, for pages that give it in
    another language."""

    status = 403

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(f"{reason} {HELP} If it happens again, tell the requester.", code=code)
        self.details = {"reason": reason}


@dataclass(frozen=True)
class Kept:
    """The kept parameters of an address by name. `person` is the person's id, "" if there is
    none; it is among the values, too."""

    values: dict[str, str] = field(default_factory=dict)
    person: str = ""


def read_parameters(settings: LinkSettings, query: str) -> Kept:
    """Return what is kept of an address's query. Raises BadParameter."""
    names = [parameter.name for parameter in settings.parameters]
    if not names:
        return Kept()
    # Tools that fill in e-mail addresses leave "+" as it is, which forms read as a space.
    given = _pairs(query.replace("+", "%2B"), names)
    unfilled = {parameter.placeholder for parameter in settings.parameters}
    values = {}
    for name, texts in given.items():
        if len(texts) > 1:
            raise BadParameter("parameter_repeated", f"The address contains “{name}” twice.")
        [value] = texts
        if value:
            _check(name, value, unfilled)
            values[name] = value
    person = values.get(settings.person, "") if settings.person else ""
    if person and not FORMS[settings.person_form].fullmatch(person):
        raise BadParameter("id_malformed", f"The “{settings.person}” in the address is not an ID.")
    if settings.person and settings.person_required and not person:
        raise BadParameter(
            "id_missing", f"The address doesn't say who you are: “{settings.person}” is missing."
        )
    return Kept(values, person)


def _pairs(query: str, names: list[str]) -> dict[str, list[str]]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=MOST_PAIRS)
    except ValueError as error:
        raise BadParameter("parameter_long", "The address has too many parameters.") from error
    given: dict[str, list[str]] = {}
    for name, value in pairs:
        if name in names:
            given.setdefault(name, []).append(value)
    return given


def _check(name: str, value: str, unfilled: set[str]) -> None:
    if len(value) > LONGEST_VALUE:
        raise BadParameter(
            "parameter_long",
            f"The “{name}” in the address is longer than {LONGEST_VALUE} characters.",
        )
    if any(unicodedata.category(sign) in ("Cc", "Cs", "Co", "Cn") for sign in value) or (
        "\ufffd" in value
    ):
        raise BadParameter(
            "parameter_malformed", f"The “{name}” in the address contains unreadable characters."
        )
    if value in unfilled or UNFILLED.fullmatch(value.strip()):
        raise BadParameter(
            "parameter_unfilled",
            f"The site that sent you here didn't fill in the “{name}” of the address.",
        )


def keep(session: Session, assignment: Assignment, settings: LinkSettings, kept: Kept) -> None:
    """Store what an address said, separately from answers. The newest visit of an assignment
    counts, because that is where the person goes back to."""
    if kept.person:
        sessions.remember_person(session, assignment.annotator_id, kept.person)
    others = {name: value for name, value in kept.values.items() if name != settings.person}
    if not others:
        return
    row = {
        "assignment_id": assignment.id,
        "annotator_id": assignment.annotator_id,
        "campaign_id": assignment.campaign_id,
        "values": others,
    }
    statement = insert(LinkParameters).values(row)
    session.execute(
        statement.on_conflict_do_update(
            index_elements=["assignment_id"], set_={"values": statement.excluded["values"]}
        )
    )


def kept_of(session: Session, assignment: Assignment, settings: LinkSettings) -> Kept:
    """Return what is stored of the address by which somebody came."""
    row = session.get(LinkParameters, assignment.id, populate_existing=True)
    values = dict(row.values) if row is not None else {}
    identity = session.get(AnnotatorIdentity, assignment.annotator_id)
    person = (identity.external_id if identity is not None else None) or ""
    if settings.person and person:
        values[settings.person] = person
        return Kept(values, person)
    return Kept(values)


def substitutes(kept: Kept) -> dict[str, str]:
    """Return the values by the placeholders for which they stand in return addresses."""
    return {**kept.values, **({PERSON: kept.person} if kept.person else {})}


def return_address(
    session: Session, link: Recruitment, assignment: Assignment, outcome: Outcome
) -> str | None:
    """Return where somebody with this assignment goes when their visit ends so, or None if the link
    doesn't send people back."""
    settings = link_settings(link.settings)
    kept = kept_of(session, assignment, settings)
    return filled(settings, outcome, kept, assignment.completion_code)


def filled(settings: LinkSettings, outcome: Outcome, kept: Kept, code: str = "") -> str | None:
    """Return the address for an outcome with its placeholders replaced. None if there is none, or
    if it needs an id and the person has none."""
    template = settings.returns.template(outcome)
    values = substitutes(kept)
    needs_person = {PERSON, settings.person} & set(placeholders_of(template))
    if not template or (needs_person and not kept.person):
        return None
    # A code is proof of work, so only those who have done some get it.
    values[CODE] = code if outcome == "completed" else ""
    return PLACEHOLDER.sub(lambda name: quote(values.get(name[1], ""), safe=""), template)


def ways_out(session: Session, who: AnnotatorSession) -> dict[str, HandIn]:
    """Return where somebody who used a link goes without consent or after failed practice."""
    if who.assignment.recruitment_id is None:
        return {}
    link = session.get_one(Recruitment, who.assignment.recruitment_id)
    ways = {}
    for way, outcome in WAYS.items():
        address = return_address(session, link, who.assignment, outcome)
        if address is not None:
            ways[way] = HandIn(kind="address", address=address)
    return ways


def address_at_end(
    session: Session, link: Recruitment, assignment: Assignment, status: str
) -> str | None:
    """Return where somebody goes who gets no more grids, given the status of their request: they
    were stopped early by a check, nothing was left to do, or they are done."""
    if status == "stopped" and assignment.n_answered < assignment.target:
        return return_address(session, link, assignment, "screened_out")
    if assignment.n_answered:
        return return_address(session, link, assignment, "completed")
    settings = link_settings(link.settings)
    kept = kept_of(session, assignment, settings)
    return address_without_place(session, link, assignment.annotator_id, kept)


def address_without_place(
    session: Session, link: Recruitment, annotator_id: UUID, kept: Kept
) -> str | None:
    """Return where somebody goes for whom there is nothing to do now. Those who finished an
    assignment before have completed the study, whatever brought them back."""
    settings = link_settings(link.settings)
    code = session.scalar(
        select(Assignment.completion_code)
        .where(
            Assignment.annotator_id == annotator_id,
            Assignment.recruitment_id == link.id,
            Assignment.n_answered > 0,
        )
        .order_by(Assignment.created_at.desc())
        .limit(1)
    )
    if code is None:
        return filled(settings, "over_quota", kept)
    return filled(settings, "completed", kept, code)
