"""The money that is reserved for studies, and the money that is left."""

from emulators.prolific.errors import bad
from emulators.prolific.objects import Study, Submission, Workspace
from emulators.prolific.wallet import Price, price
from emulators.prolific.world import World

PAID = ("APPROVED", "PARTIALLY APPROVED")
GOING_ON = ("RESERVED", "ACTIVE")
UNPAID = (*GOING_ON, "AWAITING REVIEW")
# "submissions started excluding timed out and returned". Rejected submissions also free their
# place, and those screened out "generate additional capacity".
TAKING_A_PLACE = (*UNPAID, *PAID)


def counted(world: World, study: Study, statuses: tuple[str, ...]) -> int:
    return sum(submission.status in statuses for submission in world.of_study[study.id])


def places_taken(world: World, study: Study) -> int:
    return counted(world, study, TAKING_A_PLACE)


def unit(study: Study) -> Price:
    return price(study.workspace, study.settings.reward)


def slot(study: Study) -> Price:
    code = study.screen_out
    return price(study.workspace, (code.screen_out_reward or 0) if code else 0)


def slots(study: Study) -> int:
    code = study.screen_out
    return code.screen_out.slots if code and code.screen_out else 0


def reserved(world: World, study: Study) -> int:
    """The money reserved for a study: its open places while it is live, then what it still owes."""
    unpaid = counted(world, study, UNPAID)
    if study.live:
        left = study.settings.total_available_places - counted(world, study, PAID)
        used = counted(world, study, ("SCREENED OUT",))
        return (
            max(left, unpaid) * unit(study).total + max(0, slots(study) - used) * slot(study).total
        )
    return unpaid * unit(study).total


def full_cost(study: Study) -> int:
    """The cost of a study if every place and every slot is paid."""
    places = study.settings.total_available_places
    return unit(study).total * places + slot(study).total * slots(study)


def available(world: World, workspace: Workspace) -> int:
    held = sum(
        reserved(world, study) for study in world.studies.values() if study.workspace is workspace
    )
    return world.wallet.total(workspace) - held


def check_funds(world: World, workspace: Workspace) -> None:
    """Refuse a change that reserves more money than there is; call it after the change."""
    missing = -available(world, workspace)
    if missing > 0:
        raise bad(f"Not enough funds: the workspace's balance lacks {missing}.")


def pay_reward(world: World, submission: Submission) -> None:
    world.wallet.pay(submission, "reward", unit(submission.study))


def pay_part(world: World, submission: Submission, percentage: float) -> None:
    cents = round(submission.study.settings.reward * percentage / 100)
    world.wallet.pay(submission, "partial", price(submission.study.workspace, cents))


def breakdown(workspace: Workspace, amount: int) -> dict[str, int]:
    """Split a balance into rewards, fees on them and VAT on the fees, as it would be spent."""
    share = 1 + workspace.fee_rate * (1 + workspace.vat_rate)
    rewards = int(amount / share)
    fees = int(rewards * workspace.fee_rate)
    return (
        {"rewards": rewards, "fees": fees, "vat": amount - rewards - fees}
        if (workspace.vat_rate)
        else {"rewards": rewards, "fees": amount - rewards, "vat": 0}
    )
