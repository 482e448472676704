"""Identities of people: how they are known on platforms, and deleting what identifies them.

On platforms people are known by a keyed hash. The platform's own id is stored separately from
answers, only for payments. It can be deleted, and so can names on a requester's list, what links'
addresses said of people, and their answers to questionnaires. Answers to grids, and everything that
was learned from them, stay: they are stored by numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, and_, delete, exists, or_, select, update
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.service import record_audit
from app.annotation.models import (
    Annotator,
    AnnotatorIdentity,
    Assignment,
    QuestionnaireReply,
)
from app.annotation.sessions import person_key
from app.campaigns.locks import locked_campaign
from app.campaigns.models import Campaign
from app.campaigns.service import get_campaign
from app.core.errors import Conflict, NotFound
from app.core.settings import get_settings
from app.recruitment.channel import PostingRef, SubmissionRef
from app.recruitment.models import (
    Invitation,
    LinkParameters,
    Payment,
    Posting,
    Recruitment,
    Submission,
)
from app.recruitment.settings import settings_model

# These payments are not finished, so they may still need the person's id.
UNSETTLED = ("held", "due", "running", "failed", "parked")
# The number of campaigns in one sweep. Each is locked while its identities are deleted.
AT_ONCE = 20


def person_hash(recruitment: Recruitment, person: str) -> str:
    """Return the keyed hash by which a person is known in the recruitment's campaign."""
    return person_key(recruitment.campaign_id, recruitment.channel, person)


def checker(recruitment: Recruitment, known: str) -> Callable[[str], bool]:
    """Return a function that tells whether a platform's id belongs to the person with this hash."""
    campaign_id, channel = recruitment.campaign_id, recruitment.channel
    return lambda person: person_key(campaign_id, channel, person) == known


def person_of(session: Session, recruitment: Recruitment, known: str) -> str:
    """Return the platform's id of a person, or "" if it was deleted or never known here."""
    return (
        session.scalar(
            select(AnnotatorIdentity.external_id).where(
                AnnotatorIdentity.campaign_id == recruitment.campaign_id,
                AnnotatorIdentity.channel == recruitment.channel,
                AnnotatorIdentity.key_hash == known,
            )
        )
        or ""
    )


def annotator_of(session: Session, recruitment: Recruitment, known: str) -> UUID | None:
    """Return a person's annotator in the recruitment's campaign, or None if they never came."""
    return session.scalar(
        select(AnnotatorIdentity.annotator_id).where(
            AnnotatorIdentity.campaign_id == recruitment.campaign_id,
            AnnotatorIdentity.channel == recruitment.channel,
            AnnotatorIdentity.key_hash == known,
        )
    )


def posting_ref(recruitment: Recruitment, posting: Posting) -> PostingRef:
    """Return the reference of a published posting."""
    settings = settings_model(recruitment.channel).model_validate(recruitment.settings)
    return PostingRef(posting.external_id or "", posting.details, settings)


def submission_ref(session: Session, recruitment: Recruitment, row: Submission) -> SubmissionRef:
    """Return a submission by the platform's ids. `person` is "" if the id was deleted here."""
    posting = session.get_one(Posting, row.posting_id)
    person = person_of(session, recruitment, row.person_hash)
    return SubmissionRef(posting_ref(recruitment, posting), row.external_id, person)


@dataclass(frozen=True)
class Forgotten:
    """How many identities were deleted now, and how many were kept because money or work is not
    settled."""

    people: int
    kept: int


@dataclass(frozen=True)
class Known:
    """How many people's ids, names or answers to questions are stored, how many of these people are
    not settled, and when the others' identities will be deleted automatically, if at all."""

    people: int
    unsettled: int
    until: datetime | None


@dataclass(frozen=True)
class IdentityRecord:
    """An annotator of a campaign to whom a platform id belongs."""

    campaign_id: UUID
    campaign: str
    annotator: int
    forgotten: bool


def known_people(session: Session, account: Account, campaign_id: UUID) -> Known:
    campaign = get_campaign(session, account, campaign_id)
    people = _known(session, campaign)
    days, ended = get_settings().retention_days, campaign.finished_at
    until = ended + timedelta(days=days) if days and ended and people else None
    return Known(len(people), len(_unsettled(session, people)), until)


def forget_people(session: Session, account: Account, campaign_id: UUID) -> Forgotten:
    """Delete the identities of everyone in a campaign with whom everything is settled."""
    get_campaign(session, account, campaign_id, edit=True)
    campaign = locked_campaign(session, campaign_id)
    return _forget(session, campaign, account.id)


def forget_person(
    session: Session, account: Account, campaign_id: UUID, person: str | int
) -> Forgotten:
    """Delete the identity of one person: their platform id, or their number as an annotator. Raises
    NotFound for an unknown person, and Conflict while their payments or work are not settled."""
    get_campaign(session, account, campaign_id, edit=True)
    campaign = locked_campaign(session, campaign_id)
    people = _named(session, person, campaign)
    if not people:
        raise NotFound(
            "Nobody in this campaign has that ID or number, or it has already been deleted."
        )
    if _unsettled(session, people):
        raise Conflict(
            "This person has payments or work that are not settled, and Likewise needs the ID to "
            "settle them. Settle them on the campaign's Recruit page first.",
            code="not_settled",
        )
    return _forget(session, campaign, account.id, people)


def forget_everywhere(session: Session, platform_id: str) -> list[IdentityRecord]:
    """Delete one person's identity in all campaigns where everything is settled, and return where
    they were known."""
    identities = session.scalars(
        select(AnnotatorIdentity)
        .where(AnnotatorIdentity.external_id == platform_id)
        .order_by(AnnotatorIdentity.campaign_id)
    ).all()
    records = []
    for identity in identities:
        campaign = locked_campaign(session, identity.campaign_id)
        forgotten = _forget(session, campaign, None, [identity.annotator_id])
        number = session.get_one(Annotator, identity.annotator_id).position
        records.append(IdentityRecord(campaign.id, campaign.name, number, forgotten.people == 1))
    return records


def forget_old(session: Session) -> int:
    """Delete identities in campaigns that ended at least `retention_days` ago. Return how many."""
    days = get_settings().retention_days
    if not days:
        return 0
    query = (
        select(Campaign.id)
        .where(
            Campaign.finished_at < datetime.now(UTC) - timedelta(days=days),
            or_(_has_identity(), _has_label(), _has_parameters(), _has_reply()),
        )
        .order_by(Campaign.finished_at)
        .limit(AT_ONCE)
    )
    campaigns = session.scalars(query).all()
    return sum(
        _forget(session, locked_campaign(session, campaign_id), None).people
        for campaign_id in campaigns
    )


def _forget(
    session: Session, campaign: Campaign, account_id: UUID | None, people: list[UUID] | None = None
) -> Forgotten:
    """Delete the identities of these annotators, or of all. The caller must hold the campaign's row
    lock, which payments take as well."""
    asked = _known(session, campaign) if people is None else people
    unsettled = _unsettled(session, asked)
    settled = [annotator_id for annotator_id in asked if annotator_id not in unsettled]
    session.execute(
        update(AnnotatorIdentity)
        .where(AnnotatorIdentity.annotator_id.in_(settled))
        .values(external_id=None)
    )
    session.execute(delete(LinkParameters).where(LinkParameters.annotator_id.in_(settled)))
    session.execute(delete(QuestionnaireReply).where(QuestionnaireReply.annotator_id.in_(settled)))
    labels = update(Invitation).where(Invitation.label != "").values(label="")
    session.execute(labels.where(Invitation.annotator_id.in_(settled)))
    if people is None and campaign.state == "finished":
        # Nobody can use an address any more that was never used.
        mine = select(Recruitment.id).where(Recruitment.campaign_id == campaign.id)
        unused = and_(Invitation.annotator_id.is_(None), Invitation.recruitment_id.in_(mine))
        session.execute(labels.where(unused))
    if settled:
        record_audit(
            session, account_id, "campaign.people_forgotten", "campaign", campaign.id,
            people=len(settled), kept=len(unsettled),
        )  # fmt: skip
    return Forgotten(len(settled), len(unsettled))


def _known(session: Session, campaign: Campaign) -> list[UUID]:
    """Return the annotators whose id, name, answers to questions or parameters of a link are
    stored."""
    labelled = (
        select(Invitation.annotator_id)
        .join(Recruitment, Invitation.recruitment_id == Recruitment.id)
        .where(Recruitment.campaign_id == campaign.id, Invitation.label != "")
    )
    # Restored campaigns have annotators without an identity.
    query = (
        select(Annotator.id)
        .outerjoin(AnnotatorIdentity, AnnotatorIdentity.annotator_id == Annotator.id)
        .where(
            Annotator.campaign_id == campaign.id,
            or_(
                AnnotatorIdentity.external_id.is_not(None),
                Annotator.id.in_(labelled),
                Annotator.id.in_(
                    select(LinkParameters.annotator_id).where(
                        LinkParameters.campaign_id == campaign.id
                    )
                ),
                Annotator.id.in_(select(QuestionnaireReply.annotator_id)),
            ),
        )
    )
    return list(session.scalars(query))


def _named(session: Session, person: str | int, campaign: Campaign) -> list[UUID]:
    if isinstance(person, int):
        numbered = Annotator.campaign_id == campaign.id, Annotator.position == person
        known = set(_known(session, campaign))
        return [
            row for row in session.scalars(select(Annotator.id).where(*numbered)) if row in known
        ]
    query = select(AnnotatorIdentity.annotator_id).where(
        AnnotatorIdentity.campaign_id == campaign.id,
        AnnotatorIdentity.external_id == person,
    )
    return list(session.scalars(query))


def _unsettled(session: Session, people: list[UUID]) -> set[UUID]:
    """Return those to whom money is promised or due, or whose work is still being checked on the
    platform."""
    paying = select(Payment.annotator_id).where(
        Payment.annotator_id.in_(people), Payment.state.in_(UNSETTLED)
    )
    at_work = (
        select(Assignment.annotator_id)
        .join(Recruitment, Assignment.recruitment_id == Recruitment.id)
        .where(Assignment.annotator_id.in_(people), Recruitment.poll_at.is_not(None))
    )
    return {
        annotator_id
        for annotator_id in session.scalars(paying.union(at_work))
        if annotator_id is not None
    }


def _has_identity() -> ColumnElement[bool]:
    return exists().where(
        AnnotatorIdentity.campaign_id == Campaign.id, AnnotatorIdentity.external_id.is_not(None)
    )


def _has_parameters() -> ColumnElement[bool]:
    return exists().where(LinkParameters.campaign_id == Campaign.id)


def _has_label() -> ColumnElement[bool]:
    return (
        select(Invitation.id)
        .join(Recruitment, Invitation.recruitment_id == Recruitment.id)
        .where(Recruitment.campaign_id == Campaign.id, Invitation.label != "")
        .exists()
    )


def _has_reply() -> ColumnElement[bool]:
    return (
        select(QuestionnaireReply.annotator_id)
        .join(Annotator, QuestionnaireReply.annotator_id == Annotator.id)
        .where(Annotator.campaign_id == Campaign.id)
        .exists()
    )
