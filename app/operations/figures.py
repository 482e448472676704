"""Metrics for Prometheus: of this process, and of the database by queries that stay cheap."""

import logging
import os
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal

from prometheus_client import CollectorRegistry, disable_created_metrics, generate_latest
from prometheus_client.core import GaugeMetricFamily, SummaryMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from sqlalchemy import ColumnElement, func, select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import InstrumentedAttribute, Session
from sqlalchemy.pool import QueuePool

from app.annotation.models import Answer
from app.campaigns.models import Campaign
from app.core.database import POOL_SIZE, REQUEST_CONNECTIONS, get_engine, transaction
from app.core.outbox import OutboxMessage
from app.core.requests import COUNTS, FIGURES
from app.jobs.models import Job
from app.jobs.queues import FILES, queue_of_training
from app.jobs.service import LEARN
from app.operations.models import CspViolation
from app.recruitment.models import Payment

logger = logging.getLogger(__name__)
# The start time of each series would add as many lines again, and nothing here needs it.
disable_created_metrics()  # type: ignore[no-untyped-call]  # untyped there


def read_figures() -> bytes:
    """Return the content of `/metrics` in Prometheus's text format. Without the database it has
    only the metrics of the process."""
    registry = CollectorRegistry()
    registry.register(_Current())
    return generate_latest(_requests()) + generate_latest(registry)


def _requests() -> CollectorRegistry:
    """Return what the processes of this web server have counted, also those that have ended."""
    if COUNTS not in os.environ:
        return FIGURES
    together = CollectorRegistry()
    MultiProcessCollector(together)  # type: ignore[no-untyped-call]
    return together


class _Current(Collector):
    """Collects the metrics that are counted on request."""

    def collect(self) -> Iterator[Metric]:
        yield from _pool()
        up = GaugeMetricFamily("likewise_database_up", "1 if the database responded, 0 otherwise.")
        try:
            with transaction() as session:
                session.execute(text("SET LOCAL statement_timeout = '5s'"))
                metrics = [
                    *_answers(session),
                    _outbox(session),
                    *_jobs(session),
                    *_payments(session),
                ]
                metrics.append(_violations(session))
            up.add_metric((), 1)
        except SQLAlchemyError as error:
            logger.warning("no metrics from the database: %s", error)
            metrics = []
            up.add_metric((), 0)
        yield from [up, *metrics]


def _pool() -> list[Metric]:
    most = POOL_SIZE + REQUEST_CONNECTIONS
    limit = GaugeMetricFamily(
        "likewise_database_connections_limit",
        "Maximum number of connections; further requests wait.",
        value=most,
    )
    name, about = "likewise_database_connections", "Connections in the pool of this process."
    connections = GaugeMetricFamily(name, about, labels=("state",))
    pool = get_engine().pool
    assert isinstance(pool, QueuePool)
    connections.add_metric(("used",), pool.checkedout())
    connections.add_metric(("idle",), pool.checkedin())
    return [connections, limit]


def _answers(session: Session) -> list[Metric]:
    live = (Answer.state == "leased", Answer.lease_expires_at > func.now())
    held = session.scalar(select(func.count()).where(*live)) or 0
    leases = GaugeMetricFamily(
        "likewise_leases", "Grids that are currently leased to annotators.", value=held
    )
    name, about = "likewise_answers", "Stored answers to grids of rounds."
    answers = GaugeMetricFamily(name, about, labels=("state",))
    # This adds up the campaigns' own counters, so that nobody waits for a count of all answers.
    counted = select(
        func.sum(Campaign.n_answers), func.sum(Campaign.n_surplus), func.sum(Campaign.n_imported)
    )
    counts = session.execute(counted).one()
    for state, n in zip(("submitted", "surplus", "imported"), counts, strict=True):
        answers.add_metric((state,), float(n or 0))
    return [leases, answers]


def _age(begun: InstrumentedAttribute[datetime]) -> ColumnElement[Decimal]:
    """Return SQL for the seconds since the oldest; 0 if there is none."""
    return func.coalesce(func.extract("epoch", func.now() - func.min(begun)), 0)


def _outbox(session: Session) -> Metric:
    waiting = OutboxMessage.dispatched_at.is_(None)
    age = session.scalar(select(_age(OutboxMessage.created_at)).where(waiting))
    about = "Age of the oldest waiting message, including those that wait for their account's turn."
    return GaugeMetricFamily("likewise_outbox_oldest_seconds", about, value=float(age or 0))


def _jobs(session: Session) -> list[Metric]:
    by_state = ("kind", "state")
    states = GaugeMetricFamily("likewise_jobs", "Jobs by kind and state.", labels=by_state)
    about = "Age of the oldest unfinished job."
    ages = GaugeMetricFamily("likewise_job_oldest_seconds", about, labels=(*by_state, "queue"))
    about = "Duration of finished jobs."
    took = SummaryMetricFamily("likewise_job_seconds", about, labels=("kind",))
    seconds = func.extract("epoch", Job.finished_at - Job.started_at)
    query = select(Job.kind, Job.state, func.count(), func.sum(seconds))
    for kind, state, n, total in session.execute(query.group_by(Job.kind, Job.state)):
        states.add_metric((kind, state), n)
        if state == "done":
            took.add_metric((kind,), count_value=n, sum_value=float(total or 0))
    for labels, age in _oldest_jobs(session).items():
        ages.add_metric(labels, age)
    return [states, ages, took]


def _oldest_jobs(session: Session) -> dict[tuple[str, str, str], float]:
    """Return the age of the oldest unfinished job by kind, state and the queue of its worker."""
    query = (
        select(Job.kind, Job.state, Campaign.strategy, _age(Job.created_at))
        .join(Campaign, Campaign.id == Job.campaign_id)
        .where(Job.state.in_(("queued", "running")))
        .group_by(Job.kind, Job.state, Campaign.strategy)
    )
    ages: dict[tuple[str, str, str], float] = {}
    for kind, state, strategy, age in session.execute(query):
        labels = (kind, state, queue_of_training(strategy) if kind == LEARN else FILES)
        ages[labels] = max(float(age), ages.get(labels, 0.0))
    return ages


def _payments(session: Session) -> list[Metric]:
    labels = ("state", "currency")
    number = GaugeMetricFamily("likewise_payments", "Payments by state.", labels=labels)
    cents = GaugeMetricFamily(
        "likewise_payments_cents", "Amount of payments in cents, without fees.", labels=labels
    )
    query = select(Payment.state, Payment.currency, func.count(), func.sum(Payment.amount_cents))
    for state, currency, n, total in session.execute(
        query.group_by(Payment.state, Payment.currency)
    ):
        number.add_metric((state, currency), n)
        cents.add_metric((state, currency), float(total))
    return [number, cents]


def _violations(session: Session) -> Metric:
    name, about = (
        "likewise_csp_violations",
        "Violations of the content security policy reported by browsers in 90 days.",
    )
    family = GaugeMetricFamily(name, about, labels=("directive",))
    query = select(CspViolation.directive, func.sum(CspViolation.n))
    for directive, n in session.execute(query.group_by(CspViolation.directive)):
        family.add_metric((directive,), float(n))
    return family
