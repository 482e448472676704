"""Checking with the platform who arrives, before anything is written: its own record is compared
with the address. No transaction is open in the meantime."""

import logging

from app.annotation.schemas import OpenMTurkSession, OpenProlificSession
from app.core.database import transaction
from app.core.errors import LikewiseError
from app.recruitment import entry
from app.recruitment.attempts import channel_client
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
    """Raise EntryRefused if MTurk says that nobody is working on the HIT.

    MTurk reports how many people are working on a HIT, but not who. If MTurk cannot be asked,
    people are let in, because only MTurk's record decides whether they are paid.
    """
    arrival = Arrival(body.assignment_id, body.hit_id, body.worker_id)
    with transaction() as session:
        recruitment = entry.recruitment_of_link(session, body.link, "mturk")
        posting = entry.posting_of_arrival(session, recruitment, arrival)
        if entry.is_known(session, recruitment, arrival):
            return
        ref, client = posting_ref(recruitment, posting), channel_client(session, recruitment)
    try:
        at_work = client.open().status(ref).at_work
    except ChannelError as error:
        logger.warning("could not ask MTurk about recruitment %s: %s", recruitment.id, error)
        return
    if at_work == 0:
        raise entry.refused(
            recruitment, arrival, "according to MTurk, nobody has accepted it", "not_accepted"
        )


def require_participant(body: OpenProlificSession) -> None:
    """Check with Prolific's signed token and its record of the submission who arrives.

    Raises EntryRefused, and PlatformSilent if Prolific cannot be asked, because otherwise nothing
    is known about the person.
    """
    arrival = Arrival(body.session, body.study, body.participant)
    with transaction() as session:
        recruitment = entry.recruitment_of_link(session, body.link, "prolific")
        entry.posting_of_arrival(session, recruitment, arrival)
        client = channel_client(session, recruitment)
    try:
        channel = client.open()
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
    """Check the signed token if there is one. Prolific's record is read in any case, because only
    it tells whether the submission is still active."""
    if body.token:
        claims = channel.token_claims(body.token, page_address(recruitment))
        claimed = (claims.session_id, claims.participant, claims.study)
        if claimed != (body.session, body.participant, body.study):
            raise ChannelRefused("the signed token belongs to someone else", "another_person")
    channel.confirm_person(body.session, body.participant, body.study)
