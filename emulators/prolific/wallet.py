"""Money: what is paid, what it costs besides, and the journal of every cent."""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from emulators.prolific.clock import Clock
from emulators.prolific.objects import Entry, Study, Submission, Workspace


@dataclass(frozen=True)
class Price:
    """Pence or cents: to participants, the fee on it, the VAT on the fee."""

    money: int
    fee: int
    vat: int

    @property
    def total(self) -> int:
        return self.money + self.fee + self.vat

    def __mul__(self, times: int) -> "Price":
        return Price(self.money * times, self.fee * times, self.vat * times)


def price(workspace: Workspace, money: int) -> Price:
    """What a payment costs. Prolific publishes the rates, not the rounding: half a cent up."""
    fee = _rounded(money * workspace.fee_rate)
    return Price(money, fee, _rounded(fee * workspace.vat_rate))


def _rounded(amount: Decimal) -> int:
    return int(Decimal(amount).quantize(Decimal(1), ROUND_HALF_UP))


class Wallet:
    """The journal, and what follows from it. Nothing else says what was paid."""

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
        """What lies in the wallet, with what is set aside for studies."""
        return sum(entry.amount for entry in self.journal if entry.workspace == workspace.id)

    def spent(self, study: Study, kinds: tuple[str, ...]) -> Price:
        """What was paid for a study, by kind of payment."""
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
