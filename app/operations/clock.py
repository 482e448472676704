"""Shortens stored waiting times after the clock was set back.

A lease, claim or wait that ends later than one that begins now was stored under another clock. It
gets the end of one that begins now: an active holder renews it as usual, and what a lost process
held becomes free after the usual time. Nothing is given up or started at once, because a clock may
be set while work is in progress.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, case, func, literal, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.annotation.models import Answer, Assignment
from app.collections.models import CollectionImport
from app.core.clock import AHEAD
from app.core.settings import get_settings
from app.core.sweeps import ROWS_AT_ONCE
from app.core.work import Backoff
from app.features.models import FeatureSet
from app.jobs.models import Job
from app.recruitment import reconcile, work
from app.recruitment.models import ChannelCall, Payment, Recruitment
from app.webhooks import delivery
from app.webhooks.models import Delivery

logger = logging.getLogger(__name__)
AT_ONCE = timedelta(0)


@dataclass(frozen=True)
class Wait:
    """A column with times, its rows, and how far in the future they can be."""

    time: InstrumentedAttribute[Any]
    where: ColumnElement[bool]
    longest: ColumnElement[Any]


def shorten_waits(session: Session) -> int:
    """Shorten ends that the current clock cannot have set, and return how many."""
    return sum(_shorten(session, wait) for wait in _waits())


def _shorten(session: Session, wait: Wait) -> int:
    table: Any = wait.time.class_
    end = func.now() + wait.longest
    # The holder of a locked row is alive and sets its time itself.
    ids = session.scalars(
        select(table.id)
        .where(wait.where, wait.time > end + AHEAD)
        .limit(ROWS_AT_ONCE)
        .with_for_update(skip_locked=True, key_share=True)
    ).all()
    if ids:
        session.execute(
            update(table)
            .where(table.id.in_(ids))
            .values({wait.time.key: end})
            .execution_options(synchronize_session=False)
        )
        name = f"{table.__tablename__}.{wait.time.key}"
        logger.warning("the clock was set back: %d times of %s were in the future", len(ids), name)
    return len(ids)


def _waits() -> Iterable[Wait]:
    settings = get_settings()
    lease, job = _seconds(settings.lease_seconds), _seconds(settings.job_lease_seconds)
    yield Wait(Answer.lease_expires_at, Answer.state == "leased", lease)
    # Who is present, by the time they were last active.
    heard_of = Assignment.state != "returned"
    for heard in (Assignment.seen_at, Assignment.handed_in_at):
        yield Wait(heard, heard_of, literal(AT_ONCE))
    yield Wait(Job.lease_until, Job.state == "running", job)
    yield Wait(CollectionImport.lease_until, CollectionImport.state == "running", job)
    yield Wait(FeatureSet.lease_until, FeatureSet.state == "running", job)
    yield from _waits_of_platforms()
    longest = _after(Delivery.attempts, delivery.BACKOFF, delivery.CLAIM.total_seconds())
    yield Wait(Delivery.due_at, Delivery.state == "pending", longest)


def _waits_of_platforms() -> Iterable[Wait]:
    settings = get_settings()
    least = max(settings.claim_seconds, settings.look_seconds, work.LEAST_PUT_OFF)
    for table in (ChannelCall, Payment):
        longest = _after(table.attempts, work.BACKOFF, least)
        yield Wait(table.due_at, table.state.in_(work.UNFINISHED), longest)
    usual = max(settings.poll_seconds, settings.claim_seconds)
    after_failures = max(reconcile.LONGEST_WAIT, usual)
    seconds = case((Recruitment.poll_failures > 0, after_failures), else_=usual)
    yield Wait(Recruitment.poll_at, Recruitment.poll_at.is_not(None), _seconds(seconds))


def _after(tried: InstrumentedAttribute[int], backoff: Backoff, least: float) -> ColumnElement[Any]:
    """Return SQL for the longest wait after so many attempts, or for the claim while one is in
    progress."""
    longest = [max(wait * backoff.spread, least) for wait in backoff.waits]
    cases = [(tried <= number, seconds) for number, seconds in enumerate(longest, start=1)]
    return _seconds(case(*cases, else_=longest[-1]))


def _seconds(number: Any) -> ColumnElement[Any]:
    return func.make_interval(0, 0, 0, 0, 0, 0, number)
