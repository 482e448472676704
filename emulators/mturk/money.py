"""Fees, holds and balances.

A balance is never stored, so it always matches the assignments: it is the deposit minus what was
spent and what open HITs can still cost.
"""

from datetime import datetime
from decimal import ROUND_DOWN, Decimal
from typing import Literal

from emulators.mturk.errors import Refused
from emulators.mturk.records import Assignment, Hit, JournalEntry
from emulators.mturk.state import State

FEE = Decimal("0.20")
# The additional fee on rewards of HITs with ten or more assignments; bonuses do not have it.
FEE_MANY = Decimal("0.20")
MANY = 10
# "The minimum fee is $0.01 per assignment or bonus payment" (MTurk's pricing page).
LEAST_FEE = Decimal("0.01")
CENT = Decimal("0.01")


def reward_fee(reward: Decimal, max_assignments: int) -> Decimal:
    """MTurk's exact fee on one reward. A HIT without a reward costs nothing."""
    share = FEE + FEE_MANY if max_assignments >= MANY else FEE
    return max(reward * share, LEAST_FEE) if reward else Decimal(0)


def bonus_fee(amount: Decimal) -> Decimal:
    return max(amount * FEE, LEAST_FEE)


def place_cost(hit: Hit) -> Decimal:
    reward = hit.hit_type.reward
    return reward + reward_fee(reward, hit.max_assignments)


def held(state: State, owner: str) -> Decimal:
    """The money that a requester's HITs can still cost, for every place that can still be paid."""
    own = (hit for hit in state.hits.values() if hit.owner == owner and not hit.disposed)
    return sum((place_cost(hit) * _payable_places(state, hit) for hit in own), Decimal(0))


def _payable_places(state: State, hit: Hit) -> int:
    states = [assignment.state for assignment in hit.assignments]
    if hit.expires <= state.clock.now():
        return states.count("Accepted") + states.count("Submitted")
    return hit.max_assignments - states.count("Approved") - states.count("Rejected")


def available(state: State, owner: str) -> Decimal:
    spent = sum((entry.amount for entry in state.journal if entry.requester == owner), Decimal(0))
    return state.requesters[owner].deposit - spent - held(state, owner)


def require_funds(state: State, owner: str, amount: Decimal) -> None:
    if available(state, owner) < amount:
        raise Refused(
            "This Requester has insufficient funds in their account to complete this transaction.",
            "InsufficientFunds",
        )


def as_amount(amount: Decimal) -> str:
    """An amount in the API's format with two decimals, rounded down."""
    return str(max(amount, Decimal(0)).quantize(CENT, rounding=ROUND_DOWN))


def pay_reward(state: State, assignment: Assignment, at: datetime) -> None:
    hit = assignment.hit
    reward = hit.hit_type.reward
    _enter(state, assignment, "reward", reward, at)
    _enter(state, assignment, "fee", reward_fee(reward, hit.max_assignments), at)


def pay_bonus(state: State, assignment: Assignment, amount: Decimal, token: str | None) -> None:
    now = state.clock.now()
    _enter(state, assignment, "bonus", amount, now, token)
    _enter(state, assignment, "bonus_fee", bonus_fee(amount), now, token)


def _enter(
    state: State,
    assignment: Assignment,
    kind: Literal["reward", "fee", "bonus", "bonus_fee"],
    amount: Decimal,
    at: datetime,
    token: str | None = None,
) -> None:
    hit = assignment.hit
    state.journal.append(
        JournalEntry(
            at=at,
            requester=hit.owner,
            kind=kind,
            amount=amount,
            worker_id=assignment.worker_id,
            hit_id=hit.hit_id,
            assignment_id=assignment.assignment_id,
            token=token,
        )
    )
