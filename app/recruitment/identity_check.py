"""Checking with the platform who arrives, before anything is written: its own record is compared
with the address. No transaction is open in the meantime."""

import logging

from app.core.database import transaction
from app.core.errors import LikewiseError
from app.recruitment import entry
from app.recruitment.attempts import channel_client
from app.recruitment.calls import page_address
from app.recruitment.channel import ChannelError, NotAtWork
from app.recruitment.channels.spec import ChannelSpec, Entry
from app.recruitment.people import posting_ref

logger = logging.getLogger(__name__)


class PlatformSilent(LikewiseError):
    """The platform could not be asked who this is."""

    code = "platform_silent"
    status = 503


def confirm(spec: ChannelSpec, body: Entry) -> None:
    """Raise EntryRefused if the platform says that this person is not at work.

    If the platform cannot be asked, people are let in where its own record decides later whether
    they are paid; they are asked again only if they are new. Elsewhere PlatformSilent is raised,
    because otherwise nothing is known about the person.
    """
    arrival = spec.arrival(body)
    with transaction() as session:
        recruitment = entry.recruitment_of_link(session, body.link, spec.name)
        posting = entry.posting_of_arrival(session, recruitment, arrival)
        if not spec.must_confirm and entry.is_known(session, recruitment, arrival):
            return
        ref, client = posting_ref(recruitment, posting), channel_client(session, recruitment)
    try:
        spec.confirm(client.open(), ref, body, page_address(recruitment))
    except NotAtWork as error:
        raise entry.refused(
            recruitment, arrival, str(error), error.code or "not_at_work"
        ) from error
    except ChannelError as error:
        if not spec.must_confirm:
            logger.warning("could not ask about recruitment %s: %s", recruitment.id, error)
            return
        raise PlatformSilent(
            f"Likewise can't check with {spec.title} who you are at the moment. Your place is "
            "reserved. Wait a minute and reload this page."
        ) from error
