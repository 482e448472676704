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


def shown(one: Assignment) -> Document:
    """The API's representation of an assignment."""
    return {
        "AssignmentId": one.assignment_id,
        "WorkerId": one.worker_id,
        "HITId": one.hit.hit_id,
        "AssignmentStatus": one.state,
        "AutoApprovalTime": one.auto_approves,
        "AcceptTime": one.accepted,
        "SubmitTime": one.submitted,
        "ApprovalTime": one.approved,
        "RejectionTime": one.rejected,
        "Deadline": one.deadline,
        "Answer": one.answer,
        "RequesterFeedback": one.feedback,
    }


def _is_visible(state: State, one: Assignment) -> bool:
    return one.state in _DONE and one.visible is not None and one.visible <= state.clock.now()


@operation("ListAssignmentsForHIT")
def list_assignments(call: Call) -> Document:
    wanted = call.params.get("AssignmentStatuses") or _DONE
    found = sorted(
        (
            one
            for one in call.hit().assignments
            if _is_visible(call.state, one) and one.state in wanted
        ),
        key=_arrival,
    )
    return call.page("Assignments", found, _arrival, shown)


def _arrival(one: Assignment) -> str:
    """The sort key of lists. A late arrival never lands on a page that was already read."""
    at = one.visible or one.accepted
    return f"{at.timestamp():020.6f}{one.assignment_id}"


@operation("GetAssignment")
def get_assignment(call: Call) -> Document:
    one = call.assignment()
    if not _is_visible(call.state, one):
        raise wrong_state("Reviewable,Approved,Rejected", "InvalidAssignmentState")
    return {"Assignment": shown(one), "HIT": hit_shown(call.state, one.hit)}


@operation("ApproveAssignment")
def approve_assignment(call: Call) -> Document:
    one, state = call.assignment(), call.state
    override = call.params.get("OverrideRejection", False)
    call.longest(RequesterFeedback=1024)
    if one.state not in (("Submitted", "Rejected") if override else ("Submitted",)):
        raise wrong_state(
            "Submitted,Rejected" if override else "Submitted", "InvalidAssignmentState"
        )
    now = state.clock.now()
    if one.state == "Rejected":
        _check_reversible(call, one)
    market.approve(state, one, call.params.get("RequesterFeedback"), now)
    return {}


def _check_reversible(call: Call, one: Assignment) -> None:
    """Refuse to reverse a rejection after 30 days, without the HIT or without enough money."""
    now = call.state.clock.now()
    if one.hit.disposed or one.submitted is None or now - one.submitted > REVERSIBLE:
        raise Refused(
            "A rejected assignment can be approved within 30 days of its submission, while its "
            "HIT has not been deleted.",
            "InvalidAssignmentState",
        )
    money.require_funds(call.state, call.owner, money.cost_of_one(one.hit))


@operation("RejectAssignment")
def reject_assignment(call: Call) -> Document:
    one = call.assignment()
    call.not_blank("RequesterFeedback")
    call.longest(RequesterFeedback=1024)
    if one.state != "Submitted":
        raise wrong_state("Submitted", "InvalidAssignmentState")
    market.reject(call.state, one, call.params["RequesterFeedback"])
    return {}


@operation("SendBonus")
def send_bonus(call: Call) -> Document:
    """Pay a bonus. With a token, only the first call within a day pays."""
    params, state = call.params, call.state
    call.refuse_repeat()
    call.not_blank("Reason")
    one = call.assignment()
    if one.state not in _DONE or one.worker_id != params["WorkerId"]:
        # It must be this worker's assignment, as documented. The error's code is undocumented.
        raise Refused(
            f"Worker {params['WorkerId']} has not submitted assignment {one.assignment_id}.",
            "InvalidParameterValue",
        )
    amount = Decimal(params["BonusAmount"])
    if amount <= 0:
        raise Refused("BonusAmount must be more than 0.", "ParameterOutOfRange")
    money.require_funds(state, call.owner, amount + money.bonus_fee(amount))
    money.pay_bonus(state, one, amount, params.get("UniqueRequestToken"))
    bonus = Bonus(call.owner, one.worker_id, one, amount, params["Reason"], state.clock.now())
    state.bonuses.append(bonus)
    call.remember(one.assignment_id)
    return {}


@operation("ListBonusPayments")
def list_bonus_payments(call: Call) -> Document:
    """List bonuses of a HIT or assignment. One is required, unlike in the reference's example."""
    params = call.params
    if "HITId" not in params and "AssignmentId" not in params:
        raise Refused("Either HITId or AssignmentId must be given.", "InvalidParameterValue")
    hit = call.hit() if "HITId" in params else None
    one = call.assignment() if "AssignmentId" in params else None
    found = [
        bonus
        for bonus in call.state.bonuses
        if hit in (None, bonus.assignment.hit) and one in (None, bonus.assignment)
    ]
    numbered = list(enumerate(found))
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
