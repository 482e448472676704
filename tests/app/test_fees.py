"""What is reckoned with for platforms' fees is never less than what they take."""

from decimal import Decimal

import pytest

from app.recruitment.costs import bonus_fee, reward_fee
from emulators.mturk import money
from emulators.prolific.objects import Researcher, Workspace
from emulators.prolific.options import ACADEMIC_FEE, CORPORATE_FEE
from emulators.prolific.wallet import price

AMOUNTS = range(1, 3000)


@pytest.mark.parametrize("fee", [ACADEMIC_FEE, CORPORATE_FEE])
@pytest.mark.parametrize("vat", [Decimal(0), Decimal("0.2")])
def test_prolific_takes_no_more_whoever_has_the_account(fee: Decimal, vat: Decimal) -> None:
    workspace = Workspace(Researcher("r@example.org", "token"), "Ours", "GBP", fee, vat)
    for cents in AMOUNTS:
        taken = price(workspace, cents).total
        assert taken <= cents + reward_fee("prolific", cents, 10)
        assert taken <= cents + bonus_fee("prolific", cents)


@pytest.mark.parametrize("places", [1, 9, 10, 100])
def test_mturk_takes_no_more_of_rewards_and_bonuses(places: int) -> None:
    for cents in AMOUNTS:
        amount = Decimal(cents) / 100
        assert money.reward_fee(amount, places) * 100 <= reward_fee("mturk", cents, places)
        assert money.bonus_fee(amount) * 100 <= bonus_fee("mturk", cents)
