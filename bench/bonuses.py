"""Checks that each of a thousand bonuses is paid once although two in five calls fail.

It uses the ledger in a separate PostgreSQL, the MTurk emulator over HTTP in the same process, and
threads as in the dispatcher's recruiter. It ends with an error if a bonus is missing, paid twice,
or paid to somebody else. Writes `docs/benchmarks/bonuses.md`.
"""

import argparse
import os
import time
from collections import Counter
from decimal import Decimal

from app.core.database import get_engine
from bench.harness.paths import publish
from bench.harness.servers import own_servers, use_new_database
from emulators.mturk.faults import Faults
from emulators.mturk.server import Emulator, running
from testbed import bonuses
from testbed.builders import a_campaign, an_account

EACH = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=250)
    people = parser.parse_args().people
    with own_servers() as (servers, folder), running(balance="1000000") as turk:
        use_new_database(
            servers,
            folder / "data",
            LIKEWISE_MTURK_ENDPOINT=turk.endpoint_url,
            LIKEWISE_MTURK_WORKER_SITE=turk.endpoint_url,
        )
        text = measured(turk, people)
        get_engine().dispose()
    publish("bonuses.md", text)


def measured(turk: Emulator, people: int) -> str:
    owner = an_account()
    campaign = a_campaign(owner, budget=40, grids_per_assignment=2, reward_cents=100)
    payments = bonuses.owe_bonuses(bonuses.paid_work(turk, owner, campaign, people), EACH)
    turk.state.faults, before = Faults(bonuses.FAULTS), len(turk.state.calls)
    began = time.perf_counter()
    bonuses.pay_all()
    seconds = time.perf_counter() - began
    paid = Counter((where, cents) for where, cents, _ in bonuses.paid_bonuses(turk))
    assert paid == Counter(payments.keys()), "a bonus is missing, or was paid twice"
    there, here = bonuses.total(turk, "bonus"), bonuses.ledger_cents(campaign.id)
    assert there * 100 == Decimal(here), f"{there} there, {here} cents in the ledger"
    calls = list(turk.state.calls)[before:]
    outcomes = Counter(call["outcome"] for call in calls)
    struck = sum(outcomes[rule.kind] for rule in bonuses.FAULTS.calls)
    after = outcomes["error_after"] + outcomes["timeout_after"]
    return f"""# A thousand bonuses on a marketplace that fails

Measured by `python -m bench.bonuses` with {os.cpu_count()} processors, emulator and database on the
same machine, {bonuses.THREADS} threads. A time-out of the emulator lasts {
        bonuses.FAULTS.hold_seconds:g} s here, and second attempts wait for nothing.

| | |
|---|---|
| bonuses owed, for {people} people | {len(payments)} |
| calls of the platform's API | {len(calls)} |
| of these failed | {struck} ({struck / len(calls):.0%}), {after} after their effect |
| bonuses paid more than once, or not at all | 0 |
| paid there, and by the ledger | {there} and {here / 100:.2f} dollars |
| seconds | {seconds:.1f} |
"""


if __name__ == "__main__":
    main()
