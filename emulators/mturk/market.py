"""The lifecycle of HITs and assignments, which also depends on time: use it within `settled`."""

import heapq
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from emulators.mturk import money, notices
from emulators.mturk.answers import answers_xml
from emulators.mturk.eligibility import unmet
from emulators.mturk.records import Assignment, Hit, Worker
from emulators.mturk.state import State

DISPOSED_AFTER = timedelta(days=120)
_HELD = ("Accepted", "Submitted", "Approved", "Rejected")
_RESERVED = ("assignmentId", "hitId", "workerId", "turkSubmitTo")


class NotPossible(Exception):
    """A worker's request is not possible; a page shows the sentence."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.message, self.status = message, status


def count(hit: Hit, *states: str) -> int:
    return sum(assignment.state in states for assignment in hit.assignments)


def places_left(hit: Hit) -> int:
    return hit.max_assignments - count(hit, *_HELD)


def status(state: State, hit: Hit) -> str:
    if hit.disposed:
        return "Disposed"
    over = hit.expires <= state.clock.now()
    if (over or places_left(hit) == 0) and count(hit, "Accepted") == 0:
        return "Reviewing" if hit.reviewing else "Reviewable"
    return "Unassignable" if over or places_left(hit) == 0 else "Assignable"


@contextmanager
def settled(state: State) -> Iterator[None]:
    """Nobody else uses the state during the block, and all that was due has been done."""
    with state.lock:
        settle(state)
        yield


def settle(state: State) -> None:
    """Do all that has become due, in order of time."""
    now = state.clock.now()
    while state.agenda and state.agenda[0][0] <= now:
        due, _, what, identifier = heapq.heappop(state.agenda)
        if what == "expiry":
            _expire(state, state.hits[identifier], due)
        elif what == "disposal":
            _dispose_old(state.hits[identifier], due)
        else:
            assignment = state.assignments.get(identifier)
            if (
                assignment
                and what == "deadline"
                and assignment.state == "Accepted"
                and assignment.deadline <= due
            ):
                _leave(state, assignment, "Abandoned", due)
            elif (
                assignment
                and what == "approval"
                and assignment.state == "Submitted"
                and assignment.auto_approves == due
            ):
                approve(state, assignment, None, due)


def _expire(state: State, hit: Hit, due: datetime) -> None:
    if hit.expires <= due and not hit.expiry_notified and not hit.disposed:
        hit.expiry_notified = True
        notices.tell(state, "HITExpired", hit, at=due)
        look_whether_reviewable(state, hit, due)


def _dispose_old(hit: Hit, due: datetime) -> None:
    since = hit.reviewable_since
    if since is not None and since + DISPOSED_AFTER <= due:
        hit.disposed = True


def look_whether_reviewable(state: State, hit: Hit, at: datetime) -> None:
    """Send a notice when a HIT becomes reviewable, which can happen again after an extension."""
    if status(state, hit) in ("Reviewable", "Reviewing"):
        if hit.reviewable_since is None:
            hit.reviewable_since = at
            state.plan(at + DISPOSED_AFTER, "disposal", hit.hit_id)
            notices.tell(state, "HITReviewable", hit, at=at)
    else:
        hit.reviewable_since, hit.reviewing = None, False


def set_expiry(state: State, hit: Hit, expires: datetime) -> None:
    hit.expires = expires
    hit.expiry_notified = False
    state.plan(max(expires, state.clock.now()), "expiry", hit.hit_id)
    settle(state)
    look_whether_reviewable(state, hit, state.clock.now())


def open_to(state: State, worker: Worker) -> list[Hit]:
    """The HITs in a worker's list, newest first."""
    return [
        hit
        for hit in reversed(state.hits.values())
        if status(state, hit) == "Assignable"
        and worker.worker_id not in state.requesters[hit.owner].blocks
        and not _holds(hit, worker)
        and not unmet(state, worker, hit, "discover")
    ]


def _holds(hit: Hit, worker: Worker) -> bool:
    return any(
        assignment.worker_id == worker.worker_id and assignment.state in _HELD
        for assignment in hit.assignments
    )


def check_may(state: State, worker: Worker, hit: Hit, action: str) -> None:
    """Raises NotPossible unless a worker can `preview` or `accept` a HIT now."""
    if status(state, hit) != "Assignable":
        raise NotPossible("There are no more of these HITs available.", 410)
    if worker.worker_id in state.requesters[hit.owner].blocks:
        raise NotPossible("This requester does not accept your work.", 403)
    lacking = unmet(state, worker, hit, action)
    if lacking:
        raise NotPossible(f"You do not meet the requirements of this HIT: {lacking}.", 403)


def accept(state: State, worker: Worker, hit: Hit) -> Assignment:
    if _holds(hit, worker):
        raise NotPossible("You have already accepted this HIT.", 409)
    check_may(state, worker, hit, "accept")
    now = state.clock.now()
    identifier = hit.free_ids.pop(0) if hit.free_ids else state.new_id()
    assignment = Assignment(identifier, hit, worker.worker_id, now, now + hit.hit_type.duration)
    hit.assignments.append(assignment)
    state.assignments[identifier] = assignment
    state.plan(assignment.deadline, "deadline", identifier)
    notices.tell(state, "AssignmentAccepted", hit, assignment)
    return assignment


def give_back(state: State, assignment: Assignment) -> None:
    if assignment.state != "Accepted":
        raise NotPossible(f"This assignment is {assignment.state.lower()}.", 409)
    _leave(state, assignment, "Returned", state.clock.now())


def _leave(state: State, assignment: Assignment, how: str, at: datetime) -> None:
    """Free the place and its assignment id, which the next worker gets."""
    assignment.state = "Returned" if how == "Returned" else "Abandoned"
    assignment.hit.free_ids.append(assignment.assignment_id)
    notices.tell(state, f"Assignment{how}", assignment.hit, assignment, at)
    look_whether_reviewable(state, assignment.hit, at)


def submit(state: State, assignment: Assignment, form: list[tuple[str, str]]) -> None:
    fields = [(name, value) for name, value in form if name not in _RESERVED]
    if not fields:
        raise NotPossible("A submission needs at least one field besides assignmentId.", 400)
    if assignment.state != "Accepted":
        raise NotPossible(f"This assignment is {assignment.state.lower()}, not accepted.", 409)
    now = state.clock.now()
    assignment.state, assignment.submitted, assignment.answer = (
        "Submitted",
        now,
        answers_xml(fields),
    )
    assignment.visible = now + timedelta(seconds=state.faults.lateness())
    assignment.auto_approves = now + assignment.hit.hit_type.auto_approval
    state.plan(assignment.auto_approves, "approval", assignment.assignment_id)
    notices.tell(state, "AssignmentSubmitted", assignment.hit, assignment)
    look_whether_reviewable(state, assignment.hit, now)


def approve(state: State, assignment: Assignment, feedback: str | None, at: datetime) -> None:
    assignment.state, assignment.approved, assignment.feedback = (
        "Approved",
        at,
        feedback or assignment.feedback,
    )
    worker = state.workers[assignment.worker_id]
    worker.number_approved += 1
    money.pay_reward(state, assignment, at)
    notices.tell(state, "AssignmentApproved", assignment.hit, assignment, at)


def reject(state: State, assignment: Assignment, feedback: str) -> None:
    assignment.state, assignment.rejected, assignment.feedback = (
        "Rejected",
        state.clock.now(),
        feedback,
    )
    notices.tell(state, "AssignmentRejected", assignment.hit, assignment)
