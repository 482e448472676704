"""Assignments: lists, reviews and bonuses."""

from datetime import timedelta
from decimal import Decimal

from emulators.mturk import market, money
from emulators.mturk.errors import Refused, wrong_state
from emulators.mturk.operations.call import Call, operation
from emulators.mturk.operations.hits import shown as hit_shown
from emulators.mturk.records import Assignment, Bonus
from emulators.mturk.shapes import Document
from emulators.mturk.state import State

REVERSIBLE = timedelta(days=30)
_DONE = ("Submitted", "Approved", "Rejected")


def shown(assignment: Assignment) -> Document:
    """The API's representation of an assignment."""
    return {
        "AssignmentId": assignment.assignment_id,
        "WorkerId": assignment.worker_id,
        "HITId": assignment.hit.hit_id,
        "AssignmentStatus": assignment.state,
        "AutoApprovalTime": assignment.auto_approves,
        "AcceptTime": assignment.accepted,
        "SubmitTime": assignment.submitted,
        "ApprovalTime": assignment.approved,
        "RejectionTime": assignment.rejected,
        "Deadline": assignment.deadline,
        "Answer": assignment.answer,
        "RequesterFeedback": assignment.feedback,
    }


def _is_visible(state: State, assignment: Assignment) -> bool:
    return (
        assignment.state in _DONE
        and assignment.visible is not None
        and assignment.visible <= state.clock.now()
    )


@operation("ListAssignmentsForHIT")
def list_assignments(call: Call) -> Document:
    wanted = call.params.get("AssignmentStatuses") or _DONE
    assignments = sorted(
        (
            assignment
            for assignment in call.hit().assignments
            if _is_visible(call.state, assignment) and assignment.state in wanted
        ),
        key=_arrival,
    )
    return call.page("Assignments", assignments, _arrival, shown)


def _arrival(assignment: Assignment) -> str:
    """The sort key of lists. A late arrival never lands on a page that was already read."""
    at = assignment.visible or assignment.accepted
    return f"{at.timestamp():020.6f}{assignment.assignment_id}"


@operation("GetAssignment")
def get_assignment(call: Call) -> Document:
    assignment = call.assignment()
    if not _is_visible(call.state, assignment):
        raise wrong_state("Reviewable,Approved,Rejected", "InvalidAssignmentState")
    return {"Assignment": shown(assignment), "HIT": hit_shown(call.state, assignment.hit)}


@operation("ApproveAssignment")
def approve_assignment(call: Call) -> Document:
    assignment, state = call.assignment(), call.state
    override = call.params.get("OverrideRejection", False)
    call.longest(RequesterFeedback=1024)
    if assignment.state not in (("Submitted", "Rejected") if override else ("Submitted",)):
        raise wrong_state(
            "Submitted,Rejected" if override else "Submitted", "InvalidAssignmentState"
        )
    now = state.clock.now()
    if assignment.state == "Rejected":
        _check_reversible(call, assignment)
    market.approve(state, assignment, call.params.get("RequesterFeedback"), now)
    return {}


def _check_reversible(call: Call, assignment: Assignment) -> None:
    """Refuse to reverse a rejection after 30 days, without the HIT or without enough money."""
    now = call.state.clock.now()
    if (
        assignment.hit.disposed
        or assignment.submitted is None
        or now - assignment.submitted > REVERSIBLE
    ):
        raise Refused(
            "A rejected assignment can be approved within 30 days of its submission, while its "
            "HIT has not been deleted.",
            "InvalidAssignmentState",
        )
    money.require_funds(call.state, call.owner, money.place_cost(assignment.hit))


@operation("RejectAssignment")
def reject_assignment(call: Call) -> Document:
    assignment = call.assignment()
    call.not_blank("RequesterFeedback")
    call.longest(RequesterFeedback=1024)
    if assignment.state != "Submitted":
        raise wrong_state("Submitted", "InvalidAssignmentState")
    market.reject(call.state, assignment, call.params["RequesterFeedback"])
    return {}


@operation("SendBonus")
def send_bonus(call: Call) -> Document:
    """Pay a bonus. With a token, only the first call within a day pays."""
    params, state = call.params, call.state
    call.refuse_repeat()
    call.not_blank("Reason")
    assignment = call.assignment()
    if assignment.state not in _DONE or assignment.worker_id != params["WorkerId"]:
        # It must be this worker's assignment, as documented. The error's code is undocumented.
        raise Refused(
            f"Worker {params['WorkerId']} has not submitted assignment {assignment.assignment_id}.",
            "InvalidParameterValue",
        )
    amount = Decimal(params["BonusAmount"])
    if amount <= 0:
        raise Refused("BonusAmount must be more than 0.", "ParameterOutOfRange")
    money.require_funds(state, call.owner, amount + money.bonus_fee(amount))
    money.pay_bonus(state, assignment, amount, params.get("UniqueRequestToken"))
    bonus = Bonus(
        call.owner, assignment.worker_id, assignment, amount, params["Reason"], state.clock.now()
    )
    state.bonuses.append(bonus)
    call.remember(assignment.assignment_id)
    return {}


@operation("ListBonusPayments")
def list_bonus_payments(call: Call) -> Document:
    """List bonuses of a HIT or assignment. One is required, unlike in the reference's example."""
    params = call.params
    if "HITId" not in params and "AssignmentId" not in params:
        raise Refused("Either HITId or AssignmentId must be given.", "InvalidParameterValue")
    hit = call.hit() if "HITId" in params else None
    assignment = call.assignment() if "AssignmentId" in params else None
    bonuses = [
        bonus
        for bonus in call.state.bonuses
        if hit in (None, bonus.assignment.hit) and assignment in (None, bonus.assignment)
    ]
    numbered = list(enumerate(bonuses))
    return call.page("BonusPayments", numbered, lambda pair: f"{pair[0]:012}", _bonus_shown)


def _bonus_shown(numbered: tuple[int, Bonus]) -> Document:
    bonus = numbered[1]
    return {
        "WorkerId": bonus.worker_id,
        "BonusAmount": money.as_amount(bonus.amount),
        "AssignmentId": bonus.assignment.assignment_id,
        "Reason": bonus.reason,
        "GrantTime": bonus.granted,
    }
