"""Chooses the messages that the dispatcher sends to Celery: each account has only a few pieces of
work there at once.

Celery's queues are first come, first served. An account with five hundred campaigns would put five
hundred trainings ahead of everyone else's, so they wait in the outbox instead.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import CTE, Select, case, func, literal, select, union_all
from sqlalchemy.orm import Session, aliased

from app.alignments.models import Alignment
from app.alignments.service import ALIGN_TASK
from app.campaigns.models import Campaign
from app.collections.imports import IMPORT_TASK
from app.collections.models import Collection, CollectionImport
from app.core.outbox import OutboxMessage
from app.core.settings import get_settings
from app.features.models import FeatureSet
from app.features.sets import FEATURES_TASK
from app.jobs.models import Job
from app.jobs.service import (
    CHOOSE,
    CHOOSE_TASK,
    DRY_RUN,
    DRY_RUN_TASK,
    LEARN_TASK,
    SIMULATE,
    SIMULATE_TASK,
    SPLIT_HALF,
    SPLIT_HALF_TASK,
)

# Per account; `likewise up` has two workers for these.
DRY_RUNS_AT_ONCE = IMPORTS_AT_ONCE = FEATURE_SETS_AT_ONCE = 1
ALIGNMENTS_AT_ONCE = CHOICES_AT_ONCE = CROWDS_AT_ONCE = SPLIT_HALVES_AT_ONCE = 1
ACTIVE = ("queued", "running")
NOBODY = UUID(int=0)


def next_messages(session: Session, limit: int) -> Sequence[OutboxMessage]:
    """Return up to `limit` waiting messages whose turn it is, locked, oldest first.

    A message without a job (a removal, or a deleted row) never waits for its turn. Neither does a
    second message of a job that was already sent to Celery, because that job has its place.
    """
    work = _active_work()
    waiting = OutboxMessage.dispatched_at.is_(None)
    sent = aliased(OutboxMessage)
    is_sent = select(sent.id).where(sent.job_id == work.c.id, sent.dispatched_at.is_not(None))
    # Messages are numbered within the same account and task.
    number = func.row_number().over(
        partition_by=(work.c.account_id, work.c.task), order_by=OutboxMessage.id
    )
    turns = (
        select(OutboxMessage.id, work.c.account_id, work.c.task, number.label("number"))
        .join(work, work.c.id == OutboxMessage.job_id)
        .where(waiting, ~is_sent.exists())
        .subquery()
    )
    handed = _handed_over(work)
    too_many = (
        select(turns.c.id)
        .outerjoin(
            handed,
            (handed.c.account_id == turns.c.account_id) & (handed.c.task == turns.c.task),
        )
        .where(turns.c.number + func.coalesce(handed.c.n, 0) > _at_once(turns.c.task))
    )
    return session.scalars(
        select(OutboxMessage)
        .where(waiting, OutboxMessage.id.not_in(too_many))
        .order_by(OutboxMessage.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    ).all()


def _active_work() -> CTE:
    """Select the work that has not ended: id, state, account_id, task."""
    task = case(
        (Job.kind == DRY_RUN, DRY_RUN_TASK),
        (Job.kind == CHOOSE, CHOOSE_TASK),
        (Job.kind == SIMULATE, SIMULATE_TASK),
        (Job.kind == SPLIT_HALF, SPLIT_HALF_TASK),
        else_=LEARN_TASK,
    )
    # One comparison of halves at a time in all, so that no account's other work waits for those of
    # the others.
    whose = case((Job.kind == SPLIT_HALF, literal(NOBODY)), else_=Campaign.owner_id)
    jobs = (
        select(Job.id, Job.state, whose.label("account_id"), task.label("task"))
        .join(Campaign, Campaign.id == Job.campaign_id)
        .where(Job.state.in_(ACTIVE))
    )
    imports = (
        select(
            CollectionImport.id,
            CollectionImport.state,
            Collection.owner_id.label("account_id"),
            literal(IMPORT_TASK).label("task"),
        )
        .join(Collection, Collection.id == CollectionImport.collection_id)
        .where(CollectionImport.state.in_(ACTIVE))
    )
    feature_sets = (
        select(
            FeatureSet.id,
            FeatureSet.state,
            Collection.owner_id.label("account_id"),
            literal(FEATURES_TASK).label("task"),
        )
        .join(Collection, Collection.id == FeatureSet.collection_id)
        .where(FeatureSet.state.in_(ACTIVE))
    )
    alignments = (
        select(
            Alignment.id,
            Alignment.state,
            Campaign.owner_id.label("account_id"),
            literal(ALIGN_TASK).label("task"),
        )
        .join(Campaign, Campaign.id == Alignment.campaign_id)
        .where(Alignment.state.in_(ACTIVE))
    )
    return union_all(jobs, imports, feature_sets, alignments).cte("work")


def _handed_over(work: CTE) -> Any:
    """Count each account's work that workers have, by task: running, or sent to Celery."""
    is_sent = select(OutboxMessage.id).where(
        OutboxMessage.job_id == work.c.id, OutboxMessage.dispatched_at.is_not(None)
    )
    query: Select[Any] = (
        select(work.c.account_id, work.c.task, func.count().label("n"))
        .where((work.c.state == "running") | is_sent.exists())
        .group_by(work.c.account_id, work.c.task)
    )
    return query.subquery()


def _at_once(task: Any) -> Any:
    return case(
        (task == LEARN_TASK, get_settings().trainings_per_account),
        (task == DRY_RUN_TASK, DRY_RUNS_AT_ONCE),
        (task == FEATURES_TASK, FEATURE_SETS_AT_ONCE),
        (task == ALIGN_TASK, ALIGNMENTS_AT_ONCE),
        (task == CHOOSE_TASK, CHOICES_AT_ONCE),
        (task == SIMULATE_TASK, CROWDS_AT_ONCE),
        (task == SPLIT_HALF_TASK, SPLIT_HALVES_AT_ONCE),
        else_=IMPORTS_AT_ONCE,
    )
