"""Payments, their fees and VAT, and a journal of them all."""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from emulators.kit.clock import Clock
from emulators.prolific.objects import Entry, Study, Submission, Workspace


@dataclass(frozen=True)
class Price:
    """Amounts in pence or cents: to participants, the fee on it, and the VAT on the fee."""

    money: int
    fee: int
    vat: int

    @property
    def total(self) -> int:
        return self.money + self.fee + self.vat

    def __mul__(self, times: int) -> "Price":
        return Price(self.money * times, self.fee * times, self.vat * times)


def price(workspace: Workspace, money: int) -> Price:
    """The cost of a payment. Prolific publishes the rates but no rounding; half a cent goes up."""
    fee = _rounded(money * workspace.fee_rate)
    return Price(money, fee, _rounded(fee * workspace.vat_rate))


def _rounded(amount: Decimal) -> int:
    return int(Decimal(amount).quantize(Decimal(1), ROUND_HALF_UP))


class Wallet:
    """The journal, which is the only record of payments, and the sums that follow from it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.journal: list[Entry] = []

    def deposit(self, workspace: Workspace, amount: int) -> None:
        self.journal.append(Entry(self._clock.now(), workspace.id, "deposit", "money", amount))

    def pay(self, submission: Submission, kind: str, cost: Price, bulk: str | None = None) -> None:
        study, now = submission.study, self._clock.now()
        parts = (("money", cost.money), ("fee", cost.fee), ("vat", cost.vat))
        for part, amount in parts:
            if amount:
                self.journal.append(
                    Entry(
                        now, study.workspace.id, kind, part, -amount,
                        study.id, submission.id, submission.participant.id, bulk,
                    )
                )  # fmt: skip

    def total(self, workspace: Workspace) -> int:
        """The money in the wallet, including what is reserved for studies."""
        return sum(entry.amount for entry in self.journal if entry.workspace == workspace.id)

    def spent(self, study: Study, kinds: tuple[str, ...]) -> Price:
        """The money paid for a study in payments of these kinds."""
        sums = {"money": 0, "fee": 0, "vat": 0}
        for entry in self.journal:
            if entry.study == study.id and entry.kind in kinds:
                sums[entry.part] -= entry.amount
        return Price(sums["money"], sums["fee"], sums["vat"])

    def earned(self, participant: str) -> int:
        return -sum(
            entry.amount
            for entry in self.journal
            if entry.participant == participant and entry.part == "money"
        )
