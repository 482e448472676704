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
    return sum(one.state in states for one in hit.assignments)


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
            one = state.assignments.get(identifier)
            if one and what == "deadline" and one.state == "Accepted" and one.deadline <= due:
                _leave(state, one, "Abandoned", due)
            elif (
                one and what == "approval" and one.state == "Submitted" and one.auto_approves == due
            ):
                approve(state, one, None, due)


def _expire(state: State, hit: Hit, due: datetime) -> None:
    if hit.expires <= due and not hit.told_expired and not hit.disposed:
        hit.told_expired = True
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
    hit.told_expired = False
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
    return any(one.worker_id == worker.worker_id and one.state in _HELD for one in hit.assignments)


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
    one = Assignment(identifier, hit, worker.worker_id, now, now + hit.hit_type.duration)
    hit.assignments.append(one)
    state.assignments[identifier] = one
    state.plan(one.deadline, "deadline", identifier)
    notices.tell(state, "AssignmentAccepted", hit, one)
    return one


def give_back(state: State, one: Assignment) -> None:
    if one.state != "Accepted":
        raise NotPossible(f"This assignment is {one.state.lower()}.", 409)
    _leave(state, one, "Returned", state.clock.now())


def _leave(state: State, one: Assignment, how: str, at: datetime) -> None:
    """Free the place and its assignment id, which the next worker gets."""
    one.state = "Returned" if how == "Returned" else "Abandoned"
    one.hit.free_ids.append(one.assignment_id)
    notices.tell(state, f"Assignment{how}", one.hit, one, at)
    look_whether_reviewable(state, one.hit, at)


def submit(state: State, one: Assignment, form: list[tuple[str, str]]) -> None:
    fields = [(name, value) for name, value in form if name not in _RESERVED]
    if not fields:
        raise NotPossible("A submission needs at least one field besides assignmentId.", 400)
    if one.state != "Accepted":
        raise NotPossible(f"This assignment is {one.state.lower()}, not accepted.", 409)
    now = state.clock.now()
    one.state, one.submitted, one.answer = "Submitted", now, answers_xml(fields)
    one.visible = now + timedelta(seconds=state.faults.lateness())
    one.auto_approves = now + one.hit.hit_type.auto_approval
    state.plan(one.auto_approves, "approval", one.assignment_id)
    notices.tell(state, "AssignmentSubmitted", one.hit, one)
    look_whether_reviewable(state, one.hit, now)


def approve(state: State, one: Assignment, feedback: str | None, at: datetime) -> None:
    one.state, one.approved, one.feedback = "Approved", at, feedback or one.feedback
    worker = state.workers[one.worker_id]
    worker.number_approved += 1
    money.pay_reward(state, one, at)
    notices.tell(state, "AssignmentApproved", one.hit, one, at)


def reject(state: State, one: Assignment, feedback: str) -> None:
    one.state, one.rejected, one.feedback = "Rejected", state.clock.now(), feedback
    notices.tell(state, "AssignmentRejected", one.hit, one)
