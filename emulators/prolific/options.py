"""The options of an emulator."""

from dataclasses import dataclass, field
from decimal import Decimal

ACADEMIC_FEE = Decimal(
    "0.333"
)  # of rewards and bonuses; for companies 0.428 (prolific.com/pricing)
CORPORATE_FEE = Decimal("0.428")


@dataclass(frozen=True)
class AccountOptions:
    """A researcher with one workspace and its balance in pence or cents."""

    token: str = "prolific-emulator-token"
    email: str = "researcher@example.org"
    balance: int = 1_000_000
    currency: str = "GBP"
    fee_rate: Decimal = ACADEMIC_FEE
    vat_rate: Decimal = Decimal(0)  # of the fee


@dataclass(frozen=True)
class Options:
    accounts: tuple[AccountOptions, ...] = (AccountOptions(),)
    participants: int = 20
    seed: int = 0
    # Submissions stay ACTIVE this long after the participant came back. Until then, an approval is
    # refused, as on Prolific.
    submitted_seconds: float = 0.3
    bonus_seconds: float = 1.0  # bonuses are paid "in the following minutes"
    reserved_minutes: float = 10
    review_days: float = 21
    # The minimum pay per hour in pence or cents, by currency.
    least_hourly: dict[str, int] = field(default_factory=lambda: {"GBP": 600, "USD": 800})
    # Features that Prolific enables only for some workspaces.
    features: frozenset[str] = frozenset({"secure-url", "screen-out", "dynamic", "test-study"})
    # Prolific requires a public https address for webhooks; this permits others.
    local_targets: bool = True
    fault_seconds: float = 30.0
