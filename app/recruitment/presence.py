"""Asking the platform about somebody who comes, before anything is written: the platform's own
record against what an address says. No transaction is open meanwhile."""

import logging

from app.annotation.schemas import OpenMTurkSession, OpenProlificSession
from app.core.database import transaction
from app.core.errors import LikewiseError
from app.recruitment import entry
from app.recruitment.attempts import speaker_of
from app.recruitment.calls import page_address
from app.recruitment.channel import ChannelError, ChannelRefused
from app.recruitment.channels.prolific import Prolific
from app.recruitment.entry import Arrival
from app.recruitment.models import Recruitment
from app.recruitment.people import posting_ref

logger = logging.getLogger(__name__)


class PlatformSilent(LikewiseError):
    """The platform could not be asked who this is."""

    code = "platform_silent"
    status = 503


def require_accepted(body: OpenMTurkSession) -> None:
    """MTurk tells how many people are at work on a HIT, not who: with none, nobody has accepted
    it. When MTurk cannot be asked, people are let in: they are paid by MTurk's record alone.

    Raises EntryRefused.
    """
    arrival = Arrival(body.assignment_id, body.hit_id, body.worker_id)
    with transaction() as session:
        recruitment = entry.recruitment_of_link(session, body.link, "mturk")
        posting = entry.posting_of_arrival(session, recruitment, arrival)
        if entry.is_known(session, recruitment, arrival):
            return
        ref, speaker = posting_ref(recruitment, posting), speaker_of(session, recruitment)
    try:
        at_work = speaker.open().status(ref).at_work
    except ChannelError as error:
        logger.warning("could not ask MTurk about recruitment %s: %s", recruitment.id, error)
        return
    if at_work == 0:
        raise entry.refused(
            recruitment, arrival, "according to MTurk, nobody has accepted it", "not_accepted"
        )


def require_participant(body: OpenProlificSession) -> None:
    """Prolific's signed token, or its record of the submission, says who comes.

    Raises EntryRefused, and PlatformSilent when Prolific cannot be asked: without it nothing is
    known of who this is.
    """
    arrival = Arrival(body.session, body.study, body.participant)
    with transaction() as session:
        recruitment = entry.recruitment_of_link(session, body.link, "prolific")
        entry.posting_of_arrival(session, recruitment, arrival)
        speaker = speaker_of(session, recruitment)
    try:
        channel = speaker.open()
        assert isinstance(channel, Prolific)
        _confirm(channel, body, recruitment)
    except ChannelRefused as error:
        raise entry.refused(
            recruitment, arrival, f"Prolific says: {error}", error.code or "not_at_work"
        ) from error
    except ChannelError as error:
        raise PlatformSilent(
            "Likewise can't check with Prolific who you are at the moment. Your place is reserved. "
            "Wait a minute and reload this page."
        ) from error


def _confirm(channel: Prolific, body: OpenProlificSession, recruitment: Recruitment) -> None:
    """A signed statement is checked where one comes; then Prolific's record is asked all the same:
    it alone tells whether the submission is at work still."""
    if body.token:
        claims = channel.token_claims(body.token, page_address(recruitment))
        said = (claims.session_id, claims.participant, claims.study)
        if said != (body.session, body.participant, body.study):
            raise ChannelRefused("the signed token belongs to someone else", "another_person")
    channel.confirm_person(body.session, body.participant, body.study)
