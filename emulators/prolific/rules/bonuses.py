"""Bonuses are set up from CSV in major units and paid later, again with every repeated call."""

import re
from decimal import Decimal

from emulators.prolific.errors import bad
from emulators.prolific.models.submissions import MOST_BONUSES
from emulators.prolific.objects import Bulk, Study, Submission
from emulators.prolific.rules import money
from emulators.prolific.wallet import price
from emulators.prolific.world import World

AMOUNT = re.compile(r"^\d{1,6}(\.\d{1,2})?$")


def set_up(world: World, study: Study, csv: str) -> Bulk:
    """Set up bonuses from lines of `<participant or submission id>,<amount>`; 4.25 is £4.25."""
    lines = [line.strip() for line in csv.strip().splitlines()]
    if len(lines) > MOST_BONUSES:
        raise bad({"csv_bonuses": [f"One payment can have at most {MOST_BONUSES} lines."]})
    people = {s.participant.id: s for s in world.of_study[study.id]}
    people |= {s.id: s for s in world.of_study[study.id]}
    amounts: list[tuple[Submission, int]] = []
    unknown: list[str] = []
    for line in lines:
        id, _, amount = line.partition(",")
        if not AMOUNT.match(amount.strip()) or not Decimal(amount.strip()):
            raise bad({"csv_bonuses": [f"“{line}” is not an id, a comma and an amount."]})
        if id not in people:
            unknown.append(id)
            continue
        amounts.append((people[id], int(Decimal(amount.strip()) * 100)))
    if unknown:
        raise bad(
            {"csv_bonuses": [f"These people did not take part in the study: {', '.join(unknown)}."]}
        )
    if len({submission.id for submission, _ in amounts}) < len(amounts):
        raise bad({"csv_bonuses": ["A person appears twice."]})
    costs = [price(study.workspace, cents) for _, cents in amounts]
    bulk = Bulk(study, amounts, sum(cost.fee for cost in costs), sum(cost.vat for cost in costs))
    world.bulks[bulk.id] = bulk
    return bulk


def pay(world: World, bulk: Bulk) -> None:
    """Pay soon. This is not idempotent: every call pays everybody."""
    if money.available(world, bulk.study.workspace) < bulk.total:
        raise bad("Not enough funds to pay these bonuses.")

    def work() -> None:
        if money.available(world, bulk.study.workspace) < bulk.total:
            world.violate(
                "pay-bonus-payments", f"{bulk.id}: not enough money when the payment was due"
            )
            return
        bulk.paid += 1
        for submission, cents in bulk.lines:
            submission.bonuses.append(cents)
            world.wallet.pay(submission, "bonus", price(bulk.study.workspace, cents), bulk.id)

    world.later(world.options.bonus_seconds, work)
