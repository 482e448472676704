"""Money in the emulator of Prolific: rewards, bonuses, fees, and what the account can pay."""

from decimal import Decimal
from typing import cast

import pytest

from emulators.prolific.options import AccountOptions
from tests.emulators.researcher import LONG, Body, Desk, a_desk, code, error


def test_from_draft_to_bonus_every_cent_is_in_the_journal(desk: Desk) -> None:
    study = desk.study(publish=False)
    assert desk.balance() == (1_000_000, 1_000_000)
    desk.publish(study)
    assert desk.balance() == (1_000_000, 1_000_000 - 3 * 133)
    submission = desk.finished(study)
    assert desk.decide(submission, "APPROVE")["status"] == "APPROVED"
    bulk = desk.set_up_bonus(study, f"{desk.person()},4.25\n")
    assert bulk["amount"] == 425
    assert bulk["fees"] == 142
    assert bulk["total_amount"] == 567
    assert desk.bonuses(submission) == []
    desk.pay(bulk["id"])
    assert desk.bonuses(submission) == [425]
    assert desk.journal("reward") == {"money": 100, "fee": 33}
    assert desk.journal("bonus") == {"money": 425, "fee": 142}
    assert desk.balance() == (1_000_000 - 133 - 567, 1_000_000 - 3 * 133 - 567)
    cost = desk.get(f"studies/{study}/cost/")
    assert cast(Body, cast(Body, cost["bonuses"])["fees"])["amount"] == 142


def test_vat_and_the_corporate_fee() -> None:
    account = AccountOptions(fee_rate=Decimal("0.428"), vat_rate=Decimal("0.2"), currency="USD")
    with a_desk(accounts=(account,)) as desk:
        question = {"reward": 150, "total_available_places": 10}
        assert desk.post("study-cost-calculator/", question)["total_cost"] == 10 * (150 + 64 + 13)


def test_paying_bonuses_again_pays_again(desk: Desk) -> None:
    study = desk.study()
    submission = desk.finished(study)
    bulk = desk.set_up_bonus(study, f"{submission},0.01")["id"]
    desk.pay(bulk)
    desk.pay(bulk)
    assert desk.bonuses(submission) == [1, 1]


@pytest.mark.parametrize("amount", ["4.255", "-1", "0", "1e3", "£1", "", "NaN"])
def test_a_bonus_is_a_decimal_of_the_major_unit(desk: Desk, amount: str) -> None:
    study = desk.study()
    submission = desk.finished(study)
    reply = desk.set_up_bonus(study, f"{submission},{amount}", 400)
    assert "csv_bonuses" in cast(Body, error(reply)["detail"])


def test_only_who_took_part_gets_a_bonus(desk: Desk) -> None:
    study = desk.study()
    desk.finished(study)
    reply = desk.set_up_bonus(study, f"{desk.person(0)},1\n{desk.person(1)},1", 400)
    assert desk.person(1) in str(error(reply)["detail"])
    assert desk.person(0) not in str(error(reply)["detail"])


def test_money_is_set_aside_and_what_is_not_there_is_refused() -> None:
    with a_desk(accounts=(AccountOptions(balance=500),)) as desk:
        study = desk.study(publish=False)
        expensive = desk.study(publish=False, total_available_places=4)
        assert "funds" in str(error(desk.publish(expensive, status=400))["detail"])
        desk.publish(study)
        assert desk.balance() == (500, 101)
        more = {"total_available_places": 4}
        assert "funds" in str(error(desk.call("PATCH", f"studies/{study}/", 400, json=more)))
        assert desk.get(f"studies/{study}/")["total_available_places"] == 3
        desk.publish(study, "STOP")
        assert desk.balance() == (500, 500)
        bulk_of = desk.study(total_available_places=1)
        bulk = desk.set_up_bonus(bulk_of, f"{desk.finished(bulk_of)},3")["id"]
        desk.post(f"bulk-bonus-payments/{bulk}/pay/", None, 400)


def test_a_rejection_is_taken_back_only_if_it_can_be_paid() -> None:
    with a_desk(accounts=(AccountOptions(balance=133),)) as desk:
        study = desk.study(total_available_places=1)
        rejected = desk.finished(study)
        desk.decide(rejected, "REJECT", rejection_category="OTHER", message=LONG)
        desk.take_part(study, 1)  # the place was given back, and the money is set aside for it
        desk.decide(rejected, "UNREJECT", 400)
        desk.post(f"/emulator/workspaces/{desk.workspace}/deposit", {"amount": 133})
        desk.decide(rejected, "UNREJECT")
        desk.decide(rejected, "APPROVE")


def test_screening_out_pays_its_own_price_until_the_slots_are_used(desk: Desk) -> None:
    out = {"action": "FIXED_SCREEN_OUT_PAYMENT", "fixed_screen_out_reward": 20, "slots": 2}
    codes = [code("DONE", "MANUALLY_REVIEW"), code("OUT", out)]
    study = desk.study(completion_codes=codes, total_available_places=1)
    assert desk.balance()[1] == 1_000_000 - 133 - 2 * 27
    for number in range(2):
        assert desk.come_back(desk.take_part(study, number), "OUT") == "SCREENED OUT"
    assert desk.journal("screen-out") == {"money": 40, "fee": 14}
    assert desk.study_status(study) == "PAUSED"
    fewer = {"completion_codes": [code("OUT", {**out, "slots": 1})]}
    desk.call("PATCH", f"studies/{study}/", 400, json=fewer)
    more = {"completion_codes": [code("OUT", {"action": out["action"], "slots": 3})]}
    desk.call("PATCH", f"studies/{study}/", json=more)
    desk.publish(study, "START")
    desk.decide(desk.finished(study, 2), "APPROVE")


def test_a_part_of_the_reward(desk: Desk) -> None:
    codes = [code("DONE", "MANUALLY_REVIEW"), code("PART", "DYNAMIC_PAYMENT", actor="researcher")]
    submission = desk.finished(desk.study(completion_codes=codes))
    desk.decide(submission, "COMPLETE", 400, completion_code="PART")
    share = {"percentage_of_reward": 40}
    reply = desk.decide(submission, "COMPLETE", completion_code="PART", completion_code_data=share)
    assert reply["status"] == "PARTIALLY APPROVED"
    assert desk.journal("partial") == {"money": 40, "fee": 13}
