"""Where people who used a link are sent back to, by how their visit ended.

A value only ever stands after the “?” of the requester's own address, with every character that
has a meaning in addresses percent-encoded.
"""

from urllib.parse import quote

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
    if not template or (PERSON in placeholders_of(template) and PERSON not in values):
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


def outcome_of(assignment: Assignment, status: str) -> Outcome:
    """Return how the visit of somebody ended who gets no more grids, given the status of their
    request: stopped early by a check, nothing left to do, or done."""
    if status == "stopped" and assignment.n_answered < assignment.target:
        return "screened_out"
    return "completed" if assignment.n_answered else "over_quota"
