"""People who arrive through a link: its own address, or a personal one.

The lock order is annotator (or the queue of newcomers), invitation, recruitment. A refusal rolls
back what was written. People who have started can continue whatever happens to the link, unless
their own address was withdrawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import func, or_, select, update
from sqlalchemy.orm import Session

from app.accounts.passwords import shared_fits
from app.annotation import sessions, simulated
from app.annotation.models import Annotator, Answer, Assignment
from app.annotation.sessions import AnnotatorSession
from app.campaigns.annotation_settings import annotation_of
from app.campaigns.links import ADDRESS
from app.campaigns.models import Campaign
from app.core.database import locked
from app.core.errors import LikewiseError, NotFound
from app.core.security import hash_token, pseudonym, unsign
from app.recruitment.links import has_place, is_at_work
from app.recruitment.models import Invitation, Recruitment
from app.recruitment.parameters import Kept, address_without_place, keep, read_parameters
from app.recruitment.settings import PERSONAL, link_settings

# Refusals of people for whom there is no place, and of those who have done their share.
SENT_BACK = ("study_over", "link_closed", "link_full", "link_used", "device_limit")


class LinkRefused(LikewiseError):
    """The link does not let this person in. `code` is `password_needed`, `wrong_password`,
    `personal_link`, `revoked`, `link_used`, `study_over`, `link_closed`, `link_full` or
    `device_limit`.
    `details` say where the link sends the person back to, if it does."""

    status = 403

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message, code=code)


@dataclass(frozen=True)
class LinkArrival:
    """The campaign, link and personal address that an address leads to."""

    campaign: Campaign
    link: Recruitment
    invitation: Invitation | None


def arrival_of(session: Session, address: str) -> LinkArrival:
    """Return what an address leads to, given its last part. Raises NotFound."""
    token = unsign(ADDRESS, address)
    link: Recruitment | None = None
    invitation: Invitation | None = None
    if isinstance(token, str):
        link = session.scalar(
            select(Recruitment).where(
                Recruitment.link_token == token, Recruitment.channel == "link"
            )
        )
        if link is None:
            known = Invitation.token_hash == hash_token(token)
            invitation = session.scalar(select(Invitation).where(known))
    if invitation is not None:
        link = session.get_one(Recruitment, invitation.recruitment_id)
    if link is None:
        raise NotFound(
            "This link doesn't lead to an open study. Check that you copied the whole link.",
            code="unknown_link",
        )
    return LinkArrival(session.get_one(Campaign, link.campaign_id), link, invitation)


def enter(
    session: Session,
    address: str,
    browser: str,
    password: str | None,
    client: str,
    query: str = "",
) -> AnnotatorSession:
    """Open the session of a person who uses an address. The same person continues their open
    assignment or takes on another one. `browser` is the random key that the browser stores,
    `client` its network address, and `query` what the address said after the “?”.

    Raises NotFound, BadParameter, LinkRefused, TooManyAttempts.
    """
    campaign = simulated.campaign_of_address(session, address)
    if campaign is not None:
        return simulated.enter(session, campaign, browser)
    arrival = arrival_of(session, address)
    _require_address(arrival)
    settings = link_settings(arrival.link.settings)
    kept = read_parameters(settings, query)
    key = _key_of(arrival, browser, kept.person)
    campaign = arrival.campaign
    if sessions.known_annotator(session, campaign.id, key, "link") is None:
        _require_password(arrival.link, password, client)
    annotator = sessions.annotator_of(session, campaign, key, "link")
    if arrival.invitation is not None:
        _bind(session, arrival.invitation, annotator.id)
    try:
        assignment = _assignment(session, arrival, annotator)
    except LinkRefused as refusal:
        _add_way_back(session, refusal, arrival.link, annotator, kept)
        last = _last_with_code(session, arrival, annotator, refusal)
        if last is None:
            raise
        return AnnotatorSession(campaign, annotator, last)
    keep(session, assignment, settings, kept)
    assignment.seen_at = datetime.now(UTC)
    session.flush()
    return AnnotatorSession(campaign, annotator, assignment)


def _assignment(session: Session, arrival: LinkArrival, annotator: Annotator) -> Assignment:
    """Return the person's current assignment, or another one. Raises LinkRefused."""
    assignment = sessions.current_assignment(session, annotator)
    if assignment is None:
        return _take_on(session, arrival, annotator)
    is_unbegun = assignment.state == "open" and not assignment.n_answered
    if is_unbegun and assignment.screened_out_at is None:
        if arrival.campaign.state == "finished" and not _has_draft(session, assignment):
            raise _over()
        _require_place_again(session, arrival.link, assignment)
    return assignment


def _last_with_code(
    session: Session, arrival: LinkArrival, annotator: Annotator, refusal: LinkRefused
) -> Assignment | None:
    """Return the last assignment of somebody who returns after the end without a way back, because
    they may have lost the page that showed their completion codes."""
    shows_code = annotation_of(arrival.campaign.annotation).completion == "code"
    if refusal.code != "study_over" or refusal.details or not shows_code:
        return None
    return sessions.last_completed(session, annotator)


def _has_draft(session: Session, assignment: Assignment) -> bool:
    """Whether work on the first grid was saved: work that was started is finished first."""
    draft = select(Answer.id).where(
        Answer.assignment_id == assignment.id,
        Answer.state == "leased",
        Answer.draft.is_not(None),
    )
    return session.scalar(select(draft.exists())) is True


def _add_way_back(
    session: Session, refusal: LinkRefused, link: Recruitment, annotator: Annotator, kept: Kept
) -> None:
    """Say in a refusal for which there is a way back where the link sends the person."""
    is_pause = link.state == "paused" and refusal.code != "study_over"
    if refusal.code not in SENT_BACK or is_pause:
        # Panels take somebody who is sent back for good, and a pause ends.
        return
    address = address_without_place(session, link, annotator.id, kept)
    if address is not None:
        refusal.details = {"return_address": address}


def _require_address(arrival: LinkArrival) -> None:
    invitation = arrival.invitation
    if invitation is None and link_settings(arrival.link.settings).access in PERSONAL:
        raise LinkRefused(
            "personal_link",
            "In this study everyone has a personal link. Open the link that was sent to you.",
        )
    if invitation is not None and invitation.revoked_at is not None:
        raise LinkRefused(
            "revoked",
            "This link was withdrawn. If you think this is a mistake, ask the person who sent it "
            "to you.",
        )


def _key_of(arrival: LinkArrival, browser: str, person: str) -> str:
    """Return the key that recognises a person. For a list, the address itself identifies the person
    in any browser, and so does an id in the address. Otherwise the browser does, separately for
    each link."""
    link, invitation = arrival.link, arrival.invitation
    if person:
        return pseudonym(f"person:{link.id}", person)
    if link.link_token == arrival.campaign.link_token:
        # The first link uses the same key as before campaigns had several links.
        return browser
    if invitation is None:
        return pseudonym(f"link:{link.id}", browser)
    listed = link_settings(link.settings).access == "listed"
    return pseudonym(f"invitation:{invitation.id}", "" if listed else browser)


def _require_password(link: Recruitment, password: str | None, client: str) -> None:
    if link_settings(link.settings).access != "password":
        return
    if password is None:
        raise LinkRefused("password_needed", "This link needs a password.")
    if not shared_fits(link.password_hash, password, f"link/{link.id}", client):
        raise LinkRefused("wrong_password", "The password is not correct.")


def _bind(session: Session, invitation: Invitation, annotator_id: UUID) -> None:
    """Tie an address to a person permanently. Raises LinkRefused if it belongs to someone else."""
    bound = session.scalar(
        update(Invitation)
        .where(
            Invitation.id == invitation.id,
            Invitation.revoked_at.is_(None),
            or_(Invitation.used_at.is_(None), Invitation.annotator_id == annotator_id),
        )
        .values(
            annotator_id=annotator_id,
            used_at=func.coalesce(Invitation.used_at, func.now()),
        )
        .returning(Invitation.id)
        .execution_options(synchronize_session=False)
    )
    if bound is None:
        raise LinkRefused(
            "link_used",
            "Someone has already used this link in another browser, and it allows only one "
            "assignment. If that was you, continue in that browser.",
        )


def _take_on(session: Session, arrival: LinkArrival, annotator: Annotator) -> Assignment:
    """Take on another assignment if the link has one for this person. Raises LinkRefused."""
    link = arrival.link
    if link.places:
        # If two people come for the last place, one waits here for the other.
        link = locked(session, Recruitment, link.id)
    refusal = _refusal(session, link, annotator)
    if refusal is not None:
        raise refusal
    assignment = sessions.new_assignment(arrival.campaign, annotator, "link")
    assignment.recruitment_id = link.id
    session.add(assignment)
    session.flush()
    return assignment


def may_take_on(session: Session, link: Recruitment, annotator: Annotator) -> bool:
    """Return whether a person who is here could have another assignment at the moment."""
    revoked = select(Invitation.id).where(
        Invitation.annotator_id == annotator.id, Invitation.revoked_at.is_not(None)
    )
    return _refusal(session, link, annotator) is None and session.scalar(revoked) is None


def _refusal(session: Session, link: Recruitment, annotator: Annotator) -> LinkRefused | None:
    settings = link_settings(link.settings)
    done = _codes(session, link, annotator)
    if settings.access == "single_use" and done:
        sentence = "This link allows one assignment, and you have completed it. Thank you!"
        return LinkRefused("link_used", _with_code(session, link.campaign_id, sentence, done[0]))
    if settings.per_device and len(done) >= settings.per_device:
        sentence = "You have done as much as one person can do in this study. Thank you!"
        return LinkRefused("device_limit", _with_code(session, link.campaign_id, sentence, done[0]))
    if session.get_one(Campaign, link.campaign_id).state == "finished":
        return _over()
    if link.state != "open":
        return LinkRefused(
            "link_closed",
            "The study is not taking new people at the moment. Try again later, or ask the person "
            "who sent you the link.",
        )
    return None if has_place(session, link) else _full()


def _codes(session: Session, link: Recruitment, annotator: Annotator) -> Sequence[str]:
    """Return the completion codes of a person's assignments through a link, the newest first."""
    return session.scalars(
        select(Assignment.completion_code)
        .where(Assignment.annotator_id == annotator.id, Assignment.recruitment_id == link.id)
        .order_by(Assignment.created_at.desc())
    ).all()


def _with_code(session: Session, campaign_id: UUID, sentence: str, code: str) -> str:
    """Add the completion code, because someone who returns after the end may have lost the page
    that showed it."""
    campaign = session.get_one(Campaign, campaign_id)
    shows_code = annotation_of(campaign.annotation).completion == "code"
    return f"{sentence} Your completion code is {code}." if shows_code else sentence


def _require_place_again(session: Session, link: Recruitment, assignment: Assignment) -> None:
    """Check that there is still a place for someone who took one, left without working and returns.
    Their place may have gone to someone else."""
    if not link.places:
        return
    link = locked(session, Recruitment, link.id)
    is_here = select(Assignment.id).where(Assignment.id == assignment.id, is_at_work())
    if session.scalar(is_here) is None and not has_place(session, link):
        raise _full()


def _over() -> LinkRefused:
    return LinkRefused("study_over", "The study is over. Thank you for your interest!")


def _full() -> LinkRefused:
    return LinkRefused("link_full", "Enough people have taken part. There is nothing left to do.")
