"""Personal addresses of a link: reading a list of people, and making, listing and withdrawing
their addresses."""

import csv
import io
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session
from uuid_utils.compat import uuid7

from app.accounts.models import Account
from app.accounts.service import record_audit
from app.annotation.models import Annotator, Assignment
from app.annotation.sessions import complete_assignment
from app.campaigns.links import link_address
from app.campaigns.service import get_campaign
from app.core.database import locked
from app.core.errors import Conflict, InvalidInput, NotFound
from app.core.events import campaign_changed
from app.core.security import hash_token, new_token
from app.core.settings import get_settings
from app.core.spreadsheets import as_meant
from app.recruitment.links import get_link, is_finished
from app.recruitment.models import Invitation, Recruitment
from app.recruitment.settings import link_settings

MOST_PEOPLE = 10_000
LONGEST = 200
COLUMN = "person"


@dataclass(frozen=True)
class BadLine:
    """A line without a usable person, and why. `line` counts from 1."""

    line: int
    text: str
    why: str


@dataclass(frozen=True)
class PeopleList:
    people: list[str]
    bad_lines: list[BadLine]


def read_people(text: str, known: set[str]) -> PeopleList:
    """Return everyone on the list who is not in `known` (see `sameness`), each once.

    Raises InvalidInput if the text is not a list, or the list is empty or too long.
    """
    people: list[str] = []
    bad: list[BadLine] = []
    seen = set(known)
    for line, cells in _rows(text):
        person = cells[0] if len(cells) == 1 else ""
        why = _fault(cells, seen, known)
        if why:
            bad.append(BadLine(line, ", ".join(cells)[:LONGEST], why))
            continue
        seen.add(sameness(person))
        people.append(person)
        if len(people) > MOST_PEOPLE:
            raise InvalidInput(
                f"A list can have at most {MOST_PEOPLE} people. Make another link for the others.",
                code="long_list",
            )
    if not people and not bad:
        raise InvalidInput("The list is empty.", code="empty_list")
    return PeopleList(people, bad)


def sameness(person: str) -> str:
    """Return a value that is equal for two spellings of the same name or address."""
    return unicodedata.normalize("NFKC", person).casefold()


def _fault(cells: list[str], seen: set[str], known: set[str]) -> str:
    if len(cells) > 1:
        return f"too many columns; in the first line, name the column with people “{COLUMN}”"
    [person] = cells
    if not person:
        return "no person in this line"
    if len(person) > LONGEST:
        return f"more than {LONGEST} characters"
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in person):
        return "contains characters that can't be displayed"
    if sameness(person) in known:
        return "already has an address"
    return "is in the list twice" if sameness(person) in seen else ""


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the person alone, or all cells if it is not clear which of them is
    the person."""
    text = text.removeprefix("\ufeff")
    first = text.lstrip().partition("\n")[0]
    delimiter = next((separator for separator in ",;\t" if separator in first), ",")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    is_first = True
    try:
        for cells in reader:
            cells = [as_meant(cell.strip()) for cell in cells]
            if not any(cells):
                continue
            named = [cell.casefold() for cell in cells]
            if is_first and COLUMN in named:
                header = named
            elif header is None or len(cells) > len(header):
                yield reader.line_num, cells
            else:
                column = header.index(COLUMN)
                yield reader.line_num, [cells[column] if column < len(cells) else ""]
            is_first = False
    except csv.Error as error:
        raise InvalidInput(
            f"Line {reader.line_num} of the list is not valid CSV: {error}.", code="bad_list"
        ) from error


@dataclass(frozen=True)
class NewAddress:
    """A new address. It is shown once, because only its hash is stored. `person` is empty for
    single-use addresses."""

    number: int
    person: str
    address: str


@dataclass(frozen=True)
class Invited:
    """An address and its progress. `annotator` is the person's number in the campaign."""

    invitation: Invitation
    annotator: int | None
    n_answered: int
    n_finished: int

    @property
    def state(self) -> str:
        if self.invitation.revoked_at is not None:
            return "revoked"
        if self.invitation.used_at is None:
            return "unused"
        return "finished" if self.n_finished else "begun"


def invite_people(
    session: Session, account: Account, campaign_id: UUID, link_id: UUID, table: str
) -> tuple[list[NewAddress], list[BadLine]]:
    """Make an address for everyone on a list (`read_people`) who has none. Also
    return what was wrong with other lines. Raises InvalidInput, Conflict."""
    link = _personal_link(session, account, campaign_id, link_id, "listed")
    labels = session.scalars(
        select(Invitation.label).where(
            Invitation.recruitment_id == link.id, Invitation.revoked_at.is_(None)
        )
    )
    listed = read_people(table, {sameness(label) for label in labels if label})
    addresses = _make(session, account, link, listed.people)
    return addresses, listed.bad_lines


def make_addresses(
    session: Session, account: Account, campaign_id: UUID, link_id: UUID, n: int
) -> list[NewAddress]:
    """Make so many single-use addresses. Raises InvalidInput, Conflict."""
    link = _personal_link(session, account, campaign_id, link_id, "single_use")
    if n < 1:
        raise InvalidInput("Make at least one address.")
    return _make(session, account, link, [""] * min(n, MOST_PEOPLE + 1))


def _personal_link(
    session: Session, account: Account, campaign_id: UUID, link_id: UUID, access: str
) -> Recruitment:
    link = get_link(session, account, campaign_id, link_id, edit=True)
    if link_settings(link.settings).access != access:
        what = "a list of people" if access == "listed" else "single-use addresses"
        raise Conflict(f"This link doesn't use {what}. Make another link.", code="other_access")
    return link


def _make(
    session: Session, account: Account, link: Recruitment, people: Sequence[str]
) -> list[NewAddress]:
    """Make addresses. The caller must hold the link's row lock, so that each number is given
    once."""
    of_link = Invitation.recruitment_id == link.id
    n, last = session.execute(
        select(func.count(), func.coalesce(func.max(Invitation.number), 0)).where(of_link)
    ).one()
    if n + len(people) > MOST_PEOPLE:
        raise InvalidInput(
            f"A link can have at most {MOST_PEOPLE} addresses. This one has {n}. Make another "
            "link.",
            code="long_list",
        )
    base = get_settings().base_url
    tokens = [new_token() for _ in people]
    if people:
        session.execute(
            insert(Invitation),
            [
                {
                    "id": uuid7(),
                    "recruitment_id": link.id,
                    "number": number,
                    "token_hash": hash_token(token),
                    "label": person,
                }
                for number, (person, token) in enumerate(zip(people, tokens, strict=True), last + 1)
            ],
        )
        record_audit(
            session, account.id, "link.invited", "recruitment", link.id,
            campaign=str(link.campaign_id), addresses=len(people),
        )  # fmt: skip
        campaign_changed(session, link.campaign_id)
    return [
        NewAddress(number, person, link_address(token, base))
        for number, (person, token) in enumerate(zip(people, tokens, strict=True), last + 1)
    ]


def revoke(
    session: Session, account: Account, campaign_id: UUID, link_id: UUID, invitation_id: UUID
) -> Invitation:
    """Withdraw an address so that it can no longer be used. Work that was started ends, and its
    completed part is owed. Raises NotFound, Conflict."""
    # The link's row is not locked here, because people who arrive lock the address before the link.
    campaign = get_campaign(session, account, campaign_id, edit=True)
    link = get_link(session, account, campaign.id, link_id)
    invitation = session.get(Invitation, invitation_id)
    if invitation is None or invitation.recruitment_id != link.id:
        raise NotFound("This link has no such address.")
    invitation = locked(session, Invitation, invitation.id)
    if invitation.revoked_at is not None:
        raise Conflict("This address has already been withdrawn.")
    invitation.revoked_at = datetime.now(UTC)
    at_work = session.scalars(
        select(Assignment)
        .where(
            Assignment.annotator_id == invitation.annotator_id,
            Assignment.recruitment_id == link.id,
            Assignment.state == "open",
        )
        .with_for_update(key_share=True)
    )
    for assignment in at_work.all():
        complete_assignment(session, assignment)
    record_audit(
        session, account.id, "link.revoked", "recruitment", link.id,
        campaign=str(campaign_id), number=invitation.number,
    )  # fmt: skip
    campaign_changed(session, link.campaign_id)
    return invitation


def invited(session: Session, invitations: Sequence[Invitation]) -> list[Invited]:
    """Return the progress of these addresses, in the same order."""
    people = [
        invitation.annotator_id for invitation in invitations if invitation.annotator_id is not None
    ]
    rows = session.execute(
        select(
            Annotator.id,
            Annotator.position,
            func.coalesce(func.sum(Assignment.n_answered), 0),
            func.count(Assignment.id).filter(is_finished()),
        )
        .outerjoin(Assignment, Assignment.annotator_id == Annotator.id)
        .where(Annotator.id.in_(people))
        .group_by(Annotator.id, Annotator.position)
    )
    known = {who: (position, int(done), finished) for who, position, done, finished in rows}
    return [
        Invited(invitation, *known[invitation.annotator_id])
        if invitation.annotator_id in known
        else Invited(invitation, None, 0, 0)
        for invitation in invitations
    ]
