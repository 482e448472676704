"""Where people who used a link are sent back to, by how their visit ended.

A value only ever stands after the “?” of the requester's own address, with every character that
has a meaning in addresses percent-encoded.
"""

from urllib.parse import quote
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.annotation.models import Assignment
from app.annotation.schemas import HandIn
from app.annotation.sessions import AnnotatorSession
from app.recruitment.link_fields import CODE, PERSON, PLACEHOLDER, Outcome, placeholders_of
from app.recruitment.models import Recruitment
from app.recruitment.parameters import Kept, kept_of, substitutes
from app.recruitment.settings import LinkSettings, link_settings

# What the annotators' page calls these ways out.
WAYS: dict[str, Outcome] = {"declined": "no_consent", "screened_out": "screened_out"}


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
