"""What was paid on a marketplace, by the emulator's journal and by our own ledger."""

from collections import Counter

from app.campaigns.models import Campaign
from emulators.mturk.server import Emulator
from testbed.recruits import payments


def paid_there(turk: Emulator) -> list[tuple[str, str]]:
    """Kind, and the assignment of a reward or the token of a bonus, in the emulator's books."""
    return [
        (entry.kind, entry.assignment_id if entry.kind == "reward" else entry.token or "")
        for entry in turk.state.journal
        if entry.kind in ("reward", "bonus")
    ]


def paid_here(campaign: Campaign) -> list[tuple[str, str]]:
    paid = [payment for payment in payments(campaign) if payment.state == "paid"]
    return [
        (payment.kind, payment.id.hex if payment.kind == "bonus" else payment.external_id or "")
        for payment in paid
    ]


def bonuses(turk: Emulator) -> dict[str, int]:
    """Cents by assignment, in the emulator's books."""
    cents: Counter[str] = Counter()
    for entry in turk.state.journal:
        if entry.kind == "bonus":
            cents[entry.assignment_id] += int(entry.amount * 100)
    return cents
