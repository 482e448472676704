"""Assigning grids to annotators.

A lease is an answer row in state `leased` with a future `lease_expires_at`. The claim query itself
treats an expired lease as free, so nothing depends on a cleanup job having run.

The lock order is in app/annotation/held.py. A claim locks the assignment first, but then waits for
no other lock (grids are taken with SKIP LOCKED), so it cannot cause a deadlock.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal
from uuid import UUID

from sqlalchemy import bindparam, func, select
from sqlalchemy.orm import Session

from app.annotation.checks import has_checks, next_check
from app.annotation.free_grids import (
    has_unfilled,
    is_free_and_locked,
    lease_at_work,
    lease_free_grid,
)
from app.annotation.held import (
    held_by,
    live_leases,
    lock_assignment,
    locked_with_grid,
)
from app.annotation.models import Answer, Assignment, Remark
from app.annotation.sessions import (
    AnnotatorSession,
    awaits_warning,
    complete_unless_asked,
    grids_of,
    missing_before_grids,
    require_held,
    require_prepared,
)
from app.annotation.waiting import WAIT_SECONDS, turns
from app.campaigns.annotation_settings import AnnotationSettings
from app.campaigns.models import Campaign, Grid
from app.campaigns.rounds import awaits_grids, n_full_rounds, rounds_at_work
from app.core.database import locked
from app.core.errors import Conflict, InvalidInput
from app.core.events import campaign_changed
from app.core.settings import get_settings

PAUSED_SECONDS = 20
# How many free grids must remain for others before a grid is leased ahead.
SPARE_GRIDS = 4


class StaleDraft(Conflict):
    """A newer draft is already stored, from another tab or device."""

    code = "stale_draft"


@dataclass(frozen=True)
class Handout:
    """What an annotator who requests a grid gets. `lease` and `grid` are set only if `status` is
    leased."""

    status: Literal["leased", "wait", "done", "paused", "stopped", "warning", "questions"]
    lease: Answer | None = None
    grid: Grid | None = None
    retry_after_seconds: int | None = None


def lease_next_grid(session: Session, who: AnnotatorSession) -> Handout:
    """Return the annotator's current grid, the prefetched one or a new one, or why there is none.

    Raises NotPrepared.
    """
    require_prepared(session, who)
    # Two tabs of one annotator wait for each other here, so that they share one lease.
    lock_assignment(session, who)
    require_held(who.assignment)
    if who.assignment.state == "completed":
        return Handout("done" if who.annotator.stopped_at is None else "stopped")
    held = held_by(session, who)
    live = held.live
    # Work that was started is finished first, whatever has happened in the meantime.
    begun = live if live is not None and live.draft else _revived(session, who, held.begun)
    if begun is not None:
        return Handout("leased", begun, session.get_one(Grid, begun.grid_id))
    if who.gets_no_more or who.campaign.state == "finished":
        return _ended(session, who)
    if who.assignment.n_answered >= grids_of(who.assignment):
        return _ended(session, who)
    if awaits_warning(who):
        return Handout("warning")
    if who.campaign.state == "paused":
        return Handout("paused", retry_after_seconds=PAUSED_SECONDS)
    if live is not None:
        return Handout("leased", live, session.get_one(Grid, live.grid_id))
    if held.ahead is not None:
        return _handed_ahead(session, held.ahead)
    return _claim(session, who)


def lease_at_once(session: Session, who: AnnotatorSession, *, has_leases: bool) -> Handout | None:
    """Return the prefetched grid or a new one for somebody who has just submitted one, or None if
    more has to be looked at than their leases and the grids of the round at work:
    `lease_next_grid` then tells what comes next. `has_leases`: whether they have others, live or
    begun.

    The caller must hold the assignment's row lock. Campaigns with checks have none, so that what
    comes at once tells nothing about a grid.
    """
    assignment = who.assignment
    if who.campaign.state != "running" or who.gets_no_more:
        return None
    if assignment.state != "open" or assignment.n_answered >= grids_of(assignment):
        return None
    if has_checks(who.settings) or awaits_warning(who) or missing_before_grids(session, who):
        return None
    if has_leases:
        held = held_by(session, who)
        is_next = held.ahead is not None and held.live is None and held.begun is None
        handout = _handed_ahead(session, held.ahead) if held.ahead and is_next else None
        return handout if handout is not None and handout.status == "leased" else None
    taken = lease_at_work(session, who, lease_end(), ahead=False)
    return None if taken is None else Handout("leased", *taken)


def lease_ahead(session: Session, who: AnnotatorSession) -> Handout:
    """Lease the grid after the current one, so that the page can prefetch its images.

    This happens only while many grids are free: near the end of a round, nobody should wait for a
    grid that someone else has not started. The status is "wait" if there is none.
    """
    require_prepared(session, who)
    lock_assignment(session, who)
    held = held_by(session, who)
    if held.ahead is not None:
        return Handout("leased", held.ahead, session.get_one(Grid, held.ahead.grid_id))
    is_last = who.assignment.n_answered + 1 >= grids_of(who.assignment)
    is_working = who.campaign.state == "running" and not who.gets_no_more
    if is_last or not is_working or held.live is None:
        return Handout("wait", retry_after_seconds=WAIT_SECONDS)
    n_leased = count_live_leases(session, who.campaign)
    n_wanted = _n_wanted(session, who.campaign)
    if n_wanted - n_leased < n_leased + SPARE_GRIDS:
        return Handout("wait", retry_after_seconds=WAIT_SECONDS)
    return _claim(session, who, ahead=True)


def _n_wanted(session: Session, campaign: Campaign) -> int:
    """Return how many answers the grids that are assigned now still want."""
    if campaign.reopened_only:
        return campaign.n_reopened
    return sum(round_.n_wanted - round_.n_answers for round_ in rounds_at_work(session, campaign))


def _handed_ahead(session: Session, ahead: Answer) -> Handout:
    """Make the prefetched lease the current one."""
    query = select(Answer).where(Answer.id == ahead.id, Answer.state == "leased")
    query = query.with_for_update(skip_locked=True, key_share=True)
    lease = session.scalar(query.execution_options(populate_existing=True))
    if lease is None:
        # Another tab of this annotator is about to submit it, and then waits for the assignment.
        return Handout("wait", retry_after_seconds=WAIT_SECONDS)
    lease.ahead, lease.leased_at, lease.lease_expires_at = False, datetime.now(UTC), lease_end()
    return Handout("leased", lease, session.get_one(Grid, lease.grid_id))


def _revived(session: Session, who: AnnotatorSession, begun: Answer | None) -> Answer | None:
    """Return an expired lease that contains work, so that the annotator can continue it.

    The lease becomes live again if its grid still needs an answer. Otherwise the answer will be
    surplus, which is paid like any other.
    """
    if begun is None:
        return None
    if not who.fills_no_place and is_free_and_locked(session, who.campaign, begun.grid_id):
        begun.lease_expires_at = lease_end()
    return begun


def _claim(session: Session, who: AnnotatorSession, *, ahead: bool = False) -> Handout:
    if not has_checks(who.settings):
        # Nearly always, and then nothing else has to be read.
        taken = lease_at_work(session, who, lease_end(), ahead=ahead)
        if taken is not None:
            return Handout("leased", *taken)
    is_over = who.campaign.reopened_only and not who.campaign.n_reopened
    at_work = [] if is_over else rounds_at_work(session, who.campaign)
    check = next_check(session, who) if at_work else None
    if check is not None:
        return _claim_check(session, who, check, ahead)
    for round_ in at_work:
        taken = lease_free_grid(session, who, round_, lease_end(), ahead=ahead)
        if taken is not None:
            return Handout("leased", *taken)
    if ahead:
        return Handout("wait", retry_after_seconds=WAIT_SECONDS)
    if is_more_to_come(session, who):
        return Handout(
            "wait", retry_after_seconds=turns.seconds_until(who.campaign.id, who.assignment.id)
        )
    # There will never be another grid for this person, so their answers are the whole assignment.
    return _ended(session, who)


def _ended(session: Session, who: AnnotatorSession) -> Handout:
    """End the assignment of someone who gets no more grids, after the questions that come then."""
    if who.assignment.n_answered and not complete_unless_asked(session, who):
        who.assignment.grids_over_at = who.assignment.grids_over_at or datetime.now(UTC)
        return Handout("questions")
    return Handout("done" if who.annotator.stopped_at is None else "stopped")


_OF_GRID = select(Answer).where(
    Answer.grid_id == bindparam("grid_id"), Answer.annotator_id == bindparam("annotator_id")
)


def _claim_check(session: Session, who: AnnotatorSession, check: Grid, ahead: bool) -> Handout:
    """Lease a check, unless another tab of this annotator has locked their row of it, is about to
    submit it and then waits for the assignment. Checks of other annotators are assigned without a
    lock on the grid."""
    mine = {"grid_id": check.id, "annotator_id": who.annotator_id}
    own = session.scalar(_OF_GRID, mine)
    leased = _OF_GRID.where(Answer.state == "leased")
    locking = leased.with_for_update(skip_locked=True, key_share=True).execution_options(
        populate_existing=True
    )
    if own is not None and session.scalar(locking, mine) is None:
        return Handout("wait", retry_after_seconds=WAIT_SECONDS)
    return Handout("leased", _lease(session, who, check, own, ahead), check)


def is_more_to_come(session: Session, who: AnnotatorSession) -> bool:
    """Return whether there is, or may later be, a grid for this annotator: one that someone else
    may leave, or one of a later round."""
    campaign = who.campaign
    at_work = rounds_at_work(session, campaign)
    if not campaign.reopened_only:
        first_asked = [round_ for round_ in at_work if round_.state != "reopened"]
        if not first_asked and n_full_rounds(session, campaign) != campaign.rounds:
            return True
        last = first_asked[-1] if first_asked else None
        if last is not None and (last.number != campaign.rounds or awaits_grids(last)):
            return True
    return any(has_unfilled(session, who, round_.id) for round_ in at_work)


def _lease(
    session: Session, who: AnnotatorSession, grid: Grid, own: Answer | None, ahead: bool
) -> Answer:
    """Lease a grid. `own` is the annotator's row of it, if there is one."""
    expires = lease_end()
    if own is None:
        own = Answer(
            campaign_id=who.campaign.id,
            grid_id=grid.id,
            annotator_id=who.annotator_id,
            assignment_id=who.assignment.id,
            lease_expires_at=expires,
            ahead=ahead,
        )
        session.add(own)
    else:
        # This is the annotator's own expired lease, so the same row continues with its draft.
        own.lease_expires_at, own.assignment_id = expires, who.assignment.id
        own.leased_at, own.ahead = datetime.now(UTC), ahead
    session.flush()
    return own


def lease_end() -> datetime:
    return datetime.now(UTC) + timedelta(seconds=get_settings().lease_seconds)


def save_draft(
    session: Session, who: AnnotatorSession, lease_id: UUID, version: int, draft: dict[str, object]
) -> Answer:
    """Store the state of an unfinished grid and extend its lease.

    Raises StaleDraft, LeaseNotFound, Conflict (already submitted). A draft for an expired lease is
    stored as well, but the lease becomes live again only if the grid still needs an answer.
    """
    grid, lease = locked_with_grid(session, who, lease_id)
    if lease.state != "leased":
        raise Conflict("This grid is already finished.", code="already_submitted")
    if version <= lease.draft_version and draft != lease.draft:
        raise StaleDraft(
            f"A newer draft is already saved: number {lease.draft_version}, not {version}."
        )
    lease.draft, lease.draft_version = draft, max(version, lease.draft_version)
    is_live = lease.lease_expires_at > datetime.now(UTC)
    if who.fills_no_place or who.assignment.state == "returned":
        # Others have been given the grid.
        return lease
    if is_live or grid.role != "ask" or grid.n_answers + live_leases(session, grid) < grid.wanted:
        lease.lease_expires_at = lease_end()
    return lease


class NoMoreSkips(Conflict):
    """The annotator has skipped as many grids as the campaign allows."""

    code = "no_more_skips"


def return_lease(session: Session, who: AnnotatorSession, lease_id: UUID, why: str = "") -> None:
    """Return a grid, so that someone else gets it and this annotator never gets it again.

    Raises NoMoreSkips.
    """
    # The grid is locked first, so that a claim of the same person passes it over and does not wait
    # for this lease while this waits for the assignment.
    _, lease = locked_with_grid(session, who, lease_id)
    if lease.state != "leased":
        return
    # Another tab may be about to skip a grid as well.
    assignment = locked(session, Assignment, lease.assignment_id)
    if skips_left(session, who.settings, assignment) == 0:
        raise NoMoreSkips(
            f"In this task you can skip {who.settings.most_skips} sets at most. "
            "Please sort this one as well as you can."
        )
    lease.state = "returned"
    remark(session, who, "skipped", why, grid_id=lease.grid_id)


def skips_left(
    session: Session, settings: AnnotationSettings, assignment: Assignment
) -> int | None:
    """Return how many grids may still be skipped in an assignment, or None without a limit. Extra
    grids can always be left."""
    if not settings.most_skips or assignment.n_answered >= assignment.target:
        return None
    query = select(func.count()).where(
        Answer.assignment_id == assignment.id, Answer.state == "returned"
    )
    return max(0, settings.most_skips - (session.scalar(query) or 0))


def remark(
    session: Session,
    who: AnnotatorSession,
    kind: Literal["comment", "skipped", "broken_image"],
    text: str,
    *,
    grid_id: int | None = None,
    image: int | None = None,
) -> None:
    """Store a remark of an annotator for the requester. Empty comments are ignored.

    Raises InvalidInput for a broken image that is not in the grid.
    """
    if kind == "comment" and not text.strip():
        return
    if image is not None and (
        grid_id is None or image not in session.get_one(Grid, grid_id).images
    ):
        raise InvalidInput(f"Image {image} is not in this grid.", code="unknown_images")
    session.add(
        Remark(
            campaign_id=who.campaign.id,
            annotator_id=who.annotator_id,
            grid_id=grid_id,
            kind=kind,
            image=image,
            text=text.replace("\0", "").strip(),
        )
    )
    campaign_changed(session, who.campaign.id)


def count_live_leases(session: Session, campaign: Campaign) -> int:
    query = select(func.count()).where(
        Answer.campaign_id == campaign.id,
        Answer.state == "leased",
        Answer.lease_expires_at > func.now(),
    )
    return session.scalar(query) or 0


def assignment_progress(assignment: Assignment) -> tuple[int, int]:
    """Return how many grids are answered, and how many the annotator has taken on."""
    return assignment.n_answered, grids_of(assignment)
