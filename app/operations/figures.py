"""Figures for Prometheus: of this process, and of the database by queries that stay cheap."""

import logging
from datetime import datetime
from decimal import Decimal

from sqlalchemy import ColumnElement, func, select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import InstrumentedAttribute, Session
from sqlalchemy.pool import QueuePool

from app.annotation.models import Answer
from app.campaigns.models import Campaign
from app.core.database import POOL_SIZE, REQUEST_CONNECTIONS, get_engine, transaction
from app.core.outbox import OutboxMessage
from app.core.prometheus import Family
from app.core.requests import durations
from app.jobs.models import Job
from app.operations.models import CspViolation
from app.recruitment.models import Payment

logger = logging.getLogger(__name__)


def read_figures() -> list[Family]:
    """What `/metrics` shows. Without the database, the figures of the process alone."""
    up = Family("likewise_database_up", "gauge", "1 when the database answered.")
    try:
        with transaction() as session:
            session.execute(text("SET LOCAL statement_timeout = '5s'"))
            found = [*_answers(session), _outbox(session), *_jobs(session), *_payments(session)]
            found.append(_violations(session))
        up.add(1)
    except SQLAlchemyError as error:
        logger.warning("no figures from the database: %s", error)
        found = []
        up.add(0)
    return [durations.family(), *_pool(), up, *found]


def _pool() -> list[Family]:
    limit = Family("likewise_database_connections_limit", "gauge", "Beyond it requests wait.")
    limit.add(POOL_SIZE + REQUEST_CONNECTIONS)
    family = Family("likewise_database_connections", "gauge", "Of this process's pool.")
    pool = get_engine().pool
    assert isinstance(pool, QueuePool)
    family.add(pool.checkedout(), state="used")
    family.add(pool.checkedin(), state="idle")
    return [family, limit]


def _answers(session: Session) -> list[Family]:
    leases = Family("likewise_leases", "gauge", "Grids that are held at the moment.")
    live = (Answer.state == "leased", Answer.lease_expires_at > func.now())
    leases.add(session.scalar(select(func.count()).where(*live)) or 0)
    answers = Family("likewise_answers", "gauge", "Answers that are stored, of rounds.")
    # What campaigns count themselves: nobody waits for a count of all answers.
    counted = select(
        func.sum(Campaign.n_answers), func.sum(Campaign.n_surplus), func.sum(Campaign.n_imported)
    )
    submitted, surplus, imported = session.execute(counted).one()
    answers.add(float(submitted or 0), state="submitted")
    answers.add(float(surplus or 0), state="surplus")
    answers.add(float(imported or 0), state="imported")
    return [leases, answers]


def _age(begun: InstrumentedAttribute[datetime]) -> ColumnElement[Decimal]:
    """Seconds since the oldest; 0 where there is none."""
    return func.coalesce(func.extract("epoch", func.now() - func.min(begun)), 0)


def _outbox(session: Session) -> Family:
    family = Family("likewise_outbox_oldest_seconds", "gauge", "Age of the oldest message waiting.")
    waiting = OutboxMessage.dispatched_at.is_(None)
    age = session.scalar(select(_age(OutboxMessage.created_at)).where(waiting))
    family.add(float(age or 0))
    return family


def _jobs(session: Session) -> list[Family]:
    states = Family("likewise_jobs", "gauge", "Jobs by kind and state.")
    ages = Family("likewise_job_oldest_seconds", "gauge", "Age of the oldest that is not done.")
    took = Family("likewise_job_seconds", "summary", "How long jobs took that are done.")
    seconds = func.extract("epoch", Job.finished_at - Job.started_at)
    query = select(
        Job.kind,
        Job.state,
        func.count(),
        _age(Job.created_at),
        func.sum(seconds),
    )
    for kind, state, n, age, total in session.execute(query.group_by(Job.kind, Job.state)):
        states.add(n, kind=kind, state=state)
        if state in ("queued", "running"):
            ages.add(float(age), kind=kind, state=state)
        if state == "done":
            took.add(float(total or 0), "_sum", kind=kind)
            took.add(n, "_count", kind=kind)
    return [states, ages, took]


def _payments(session: Session) -> list[Family]:
    number = Family("likewise_payments", "gauge", "Payments by state.")
    cents = Family("likewise_payments_cents", "gauge", "Hundredths, without fees.")
    query = select(Payment.state, Payment.currency, func.count(), func.sum(Payment.amount_cents))
    for state, currency, n, total in session.execute(
        query.group_by(Payment.state, Payment.currency)
    ):
        number.add(n, state=state, currency=currency)
        cents.add(float(total), state=state, currency=currency)
    return [number, cents]


def _violations(session: Session) -> Family:
    name, about = "likewise_csp_violations", "What browsers told to have blocked, in 90 days."
    family = Family(name, "gauge", about)
    query = select(CspViolation.directive, func.sum(CspViolation.n))
    for directive, n in session.execute(query.group_by(CspViolation.directive)):
        family.add(float(n), directive=directive)
    return family
