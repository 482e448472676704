"""Simulated annotators: they answer by the same rules as people, and are marked as what they are.

Either `likewise simulate` runs them over the API of the annotators' page, or a worker does
(app/planning/crowd_play.py). Their address is signed by this server and given to `likewise
simulate` alone, so that nobody else can answer as one. They report no times, are owed nothing, and
count for no figure about people.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import NAMESPACE_URL, UUID, uuid5

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.annotation import sessions
from app.annotation.models import Assignment
from app.annotation.sessions import AnnotatorSession
from app.campaigns.models import Campaign
from app.core.security import sign, unsign

ADDRESS = "simulated-annotators"
CHANNEL = "simulated"


@dataclass(frozen=True)
class SimulatedWork:
    """How many simulated annotators a campaign has, and how many grids they finished, quality
    checks included."""

    annotators: int
    answers: int


def annotator_key(seed: int, person: int) -> str:
    """Return the key by which annotator `person` of the crowd with this seed is recognised."""
    return f"simulated-{seed}-{person:05d}"


def answer_key(lease_id: str | UUID) -> str:
    """Return the idempotency key of the answer to a lease. It belongs to the lease, so that a retry
    after a lost response stores nothing twice."""
    return str(uuid5(NAMESPACE_URL, str(lease_id)))


def simulated_address(campaign: Campaign) -> str:
    """Return what simulated annotators send instead of the last part of a link."""
    return sign(ADDRESS, str(campaign.id))


def campaign_of_address(session: Session, address: str) -> Campaign | None:
    """Return the campaign of an address of simulated annotators, or None if it is none."""
    known = unsign(ADDRESS, address)
    return session.get(Campaign, UUID(known)) if isinstance(known, str) else None


def enter(session: Session, campaign: Campaign, key: str) -> AnnotatorSession:
    """Open the session of a simulated annotator, who is recognised by `key`."""
    annotator = sessions.annotator_of(session, campaign, key, CHANNEL)
    assignment = sessions.current_assignment(session, annotator)
    if assignment is None:
        assignment = sessions.new_assignment(campaign, annotator, CHANNEL)
        session.add(assignment)
    assignment.seen_at = datetime.now(UTC)
    session.flush()
    return AnnotatorSession(campaign, annotator, assignment)


def simulated_annotators(session: Session, campaign: Campaign) -> set[UUID]:
    """Return the ids of a campaign's simulated annotators."""
    mine = Assignment.campaign_id == campaign.id, Assignment.channel == CHANNEL
    return set(session.scalars(select(Assignment.annotator_id).where(*mine).distinct()))


def simulated_work(session: Session, campaign: Campaign) -> SimulatedWork:
    people = func.count(Assignment.annotator_id.distinct())
    answers = func.coalesce(func.sum(Assignment.n_answered), 0)
    mine = Assignment.campaign_id == campaign.id, Assignment.channel == CHANNEL
    annotators, n_answers = session.execute(select(people, answers).where(*mine)).one()
    return SimulatedWork(annotators, n_answers)
