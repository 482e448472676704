"""Accepting finished groupings.

One transaction stores the answer, counts it, moves on to the next round if this one is full, and
decides whether a training is due. A finished answer is never lost: if its grid already had enough
answers, it is stored as surplus and counts for pay like any other.
"""

import hashlib
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from app.annotation.checks import compare
from app.annotation.counting import count
from app.annotation.held import Locked
from app.annotation.leases import Handout, lease_at_once
from app.annotation.models import Annotator, Answer
from app.annotation.quality import judge
from app.annotation.schemas import HandoutOut
from app.annotation.sessions import (
    AnnotatorSession,
    complete_assignment,
    complete_unless_asked,
    grids_of,
)
from app.annotation.storing import seconds_on_others, store
from app.campaigns.models import Campaign, Grid
from app.core.database import locked
from app.core.errors import Conflict, InvalidInput
from app.kinds import kind_of

logger = logging.getLogger(__name__)


class UnknownImages(InvalidInput):
    """The answer names other images than the grid has."""

    code = "unknown_images"


class BadGroups(InvalidInput):
    """The groups do not match the grid or the campaign."""

    code = "bad_groups"


class IdempotencyMismatch(InvalidInput):
    """The same Idempotency-Key was sent with a different body."""

    code = "idempotency_mismatch"


class AlreadySubmitted(Conflict):
    """Another request has already submitted the grid."""

    code = "already_submitted"


@dataclass(frozen=True)
class Submission:
    """A finished grouping: `groups[k]` is the group of `images[k]`, −1 for a leftover."""

    images: list[int]
    groups: list[int]
    descriptions: list[str]
    elapsed_ms: int | None
    trace: list[Any]
    device: dict[str, Any] | None = None
    unseen: list[int] = field(default_factory=list)

    def digest(self) -> str:
        """Return a hash of the content, which tells a retry from a different answer."""
        text = json.dumps(vars(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Submitted:
    """A stored answer. `seconds_on_others` is the time that the others of its assignment took.
    `next` is the next grid, if it was requested and could be leased at once."""

    answer: Answer
    who: AnnotatorSession
    seconds_on_others: float
    next: HandoutOut | None = None


def submit_answer(
    session: Session,
    held: Locked,
    submission: Submission,
    idempotency_key: str,
    *,
    show_next: Callable[[AnnotatorSession, Handout], HandoutOut] | None = None,
) -> Submitted:
    """Store a finished grouping for a lease once. The same request again returns the same result.
    With `show_next`, which makes the response for it, the next grid is leased in the same
    transaction if that takes no waiting.

    Raises UnknownImages, BadGroups, IdempotencyMismatch, AlreadySubmitted.
    """
    campaign, current, grid = held.campaign, held.round, held.grid
    answer, who = held.answer, held.who
    if answer.state in ("submitted", "surplus"):
        _check_repeat(answer, submission, idempotency_key)
        return Submitted(answer, who, seconds_on_others(session, answer))
    kind = kind_of(campaign)
    groups = aligned_groups(grid, submission, kind.n_groups(campaign.max_groups))
    unseen = sorted({*submission.unseen, *held.reported})
    pairs = zip(grid.images, groups, strict=True)
    problem = kind.problem_of([g for image, g in pairs if image not in unseen])
    if problem is not None:
        raise BadGroups(problem)
    stored = store(session, held, _values(groups, unseen, submission, idempotency_key))
    if current is None:
        campaign.n_annotators = max(campaign.n_annotators, who.annotator.position + 1)
        _check(session, campaign, grid, answer)
    _complete_if_last(session, who)
    following = None
    if show_next is not None:
        handout = lease_at_once(session, who, has_leases=stored.has_leases)
        following = None if handout is None else _shown(who, handout, show_next)
    if current is not None:
        # This comes last, because others wait for these rows until the transaction ends.
        count(session, campaign, current, answer, who.annotator.position)
    return Submitted(answer, who, stored.seconds_on_others, following)


def _shown(
    who: AnnotatorSession,
    handout: Handout,
    show_next: Callable[[AnnotatorSession, Handout], HandoutOut],
) -> HandoutOut | None:
    """Return the response for the next grid. If it cannot be made, the answer is stored all the
    same, and the request for the next grid gets the error."""
    try:
        return show_next(who, handout)
    except SQLAlchemyError:
        # The transaction has failed.
        raise
    except Exception:
        logger.exception("an answer could not bring the next grid")
        return None


def _complete_if_last(session: Session, who: AnnotatorSession) -> None:
    """Complete an assignment if the answer that was counted in it was the last."""
    assignment = who.assignment
    if assignment.state == "screened_out":
        # Answers in another tab screened the person out. This work is done, and counts for pay.
        assignment.state = "open"
        complete_assignment(session, assignment)
    # Answers that arrive late, after the assignment has ended, are recorded as well.
    elif assignment.state == "completed" or assignment.n_answered >= grids_of(assignment):
        complete_unless_asked(session, who)


def _check_repeat(answer: Answer, submission: Submission, idempotency_key: str) -> None:
    if answer.idempotency_key != idempotency_key:
        raise AlreadySubmitted("This grid was already submitted. Nothing was changed.")
    if answer.request_hash != submission.digest():
        raise IdempotencyMismatch(
            "This Idempotency-Key was already used for another answer. Use a new key."
        )


def aligned_groups(grid: Grid, submission: Submission, max_groups: int) -> list[int]:
    """Return the groups in the order of the grid's images. Raises UnknownImages or BadGroups."""
    if len(submission.images) != len(submission.groups):
        raise BadGroups(
            f"The answer has {len(submission.images)} images and {len(submission.groups)} groups. "
            "It needs one group for each image."
        )
    unknown = sorted(set(submission.images) - set(grid.images))
    if unknown or len(submission.images) != len(grid.images):
        extra = f" These are not in it: {unknown[:5]}." if unknown else ""
        raise UnknownImages(f"The answer must name each image of this grid exactly once.{extra}")
    if len(set(submission.images)) != len(grid.images):
        raise UnknownImages("The answer names an image twice.")
    bad = sorted({group for group in submission.groups if not -1 <= group < max_groups})
    if bad:
        raise BadGroups(
            f"Groups must be numbers from 0 to {max_groups - 1}, or −1 for a leftover, not "
            f"{bad[:5]}."
        )
    if len(submission.descriptions) > max_groups:
        raise BadGroups(f"An answer can have at most {max_groups} group descriptions.")
    if not set(submission.unseen) <= set(grid.images):
        raise UnknownImages("You can report only images of this grid as broken.")
    group_of = dict(zip(submission.images, submission.groups, strict=True))
    return [group_of[image] for image in grid.images]


def _values(
    groups: list[int], unseen: list[int], submission: Submission, idempotency_key: str
) -> dict[str, Any]:
    """What the answer's row gets, by column."""
    return {
        "groups": groups,
        "unseen": unseen,
        "descriptions": [text.replace("\0", "") for text in submission.descriptions],
        "elapsed_ms": submission.elapsed_ms,
        "trace": submission.trace,
        "device": submission.device,
        "submitted_at": datetime.now(UTC),
        "idempotency_key": idempotency_key,
        "request_hash": submission.digest(),
    }


def _check(session: Session, campaign: Campaign, grid: Grid, answer: Answer) -> None:
    """Score a gold grid or a repeat. It tells about the annotator and counts toward no round."""
    agreement = compare(session, campaign, grid, answer)
    if agreement is not None:
        answer.agreement, answer.chance = agreement.value, agreement.chance
    session.flush()
    annotator = locked(session, Annotator, answer.annotator_id)
    judge(session, campaign, annotator)
