"""Whether the laws of a campaign hold while hundreds of clients answer it at once."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import select

from app.annotation.models import Answer
from app.campaigns.models import Campaign, Grid
from app.core.database import transaction
from bench.harness.tables import Row
from bench.load.measuring import figures, processes_of, processor_time
from bench.load.parts import N_IMAGES, SHOWN, Part
from bench.load.runs import a_system, crowd_command, link_of, n_trainings, play
from testbed.builders import a_campaign, a_collection, an_account, reloaded
from testbed.invariants import INVARIANTS, broken_invariants, nothing_is_running
from testbed.servers import Servers
from testbed.system import wait_until

PEOPLE, ROUNDS, WANTED, LEASE_SECONDS = 500, 5, 2, 20
# When the crowd ends in any case, and how long the last training may take.
MOST_SECONDS, SETTLED_SECONDS = 7_200.0, 1_800.0
# More than what always holds: at the end of a campaign, each finds rows only where it is broken.
AT_THE_END = {
    "a grid has exactly the answers that it wants": """
        SELECT id, n_answers, wanted FROM grid WHERE role = 'ask' AND n_answers <> wanted""",
    "nobody has a grid twice": """
        SELECT grid_id, annotator_id, count(*) FROM answer
        GROUP BY grid_id, annotator_id HAVING count(*) > 1""",
    "a campaign has its whole budget of answers, and no more": """
        SELECT id, budget, n_answers FROM campaign WHERE n_answers <> budget""",
    "a round is closed and has all its answers": """
        SELECT number, state, n_answers, n_wanted FROM round
        WHERE state <> 'closed' OR n_answers <> n_wanted""",
}
ACKNOWLEDGED = "what was acknowledged is stored once as it was sent, and nothing else is"
REPLIES = "every request gets the reply that it must"


def kept(servers: Servers, folder: Path, answers: int) -> Row:
    """What so many answers of a careless crowd broke, and how it went."""
    part = Part("", PEOPLE)
    with a_system(servers, folder, LIKEWISE_LEASE_SECONDS=str(LEASE_SECONDS)) as system:
        campaign = _campaign(answers)
        command = [*crowd_command(part, system, [link_of(campaign)]), "--seconds",
                   str(MOST_SECONDS), "--lease-seconds", str(LEASE_SECONDS)]  # fmt: skip
        with processor_time(processes_of(system, servers)) as used:
            result = play("bench.load.careless", command)
        wait_until("all trainings to end", nothing_is_running, SETTLED_SECONDS)
        broken = {**broken_invariants({**INVARIANTS, **AT_THE_END}), **broken_by(campaign, result)}
        ended = reloaded(campaign.id)
        return {
            **figures(result, used),
            "answers": len(result["acknowledged"]),
            "people": PEOPLE,
            "surplus": ended.n_surplus,
            "minutes": result["seconds"] / 60,
            "rounds": ROUNDS,
            "wanted": WANTED,
            "lease_seconds": LEASE_SECONDS,
            "trainings": n_trainings(),
            **{name: result["counts"].get(name, 0)
               for name in ("repeated", "tabs", "left", "late")},
            "n_laws": len(INVARIANTS) + len(AT_THE_END) + 2,
            "violations": broken,
        }  # fmt: skip


def _campaign(answers: int) -> Campaign:
    owner = an_account()
    return a_campaign(
        owner,
        a_collection(owner, n=N_IMAGES),
        kind="bins",
        strategy="crowdster",
        budget=answers - answers % (ROUNDS * WANTED),
        rounds=ROUNDS,
        answers_per_grid=WANTED,
        grid_size=SHOWN,
        grids_per_assignment=1_000,
        learn_every=max(1, answers // (2 * ROUNDS)),
    )


def broken_by(campaign: Campaign, result: Row) -> dict[str, list[str]]:
    """Laws that the crowd's own notes are needed for."""
    broken = {}
    if result["violations"]:
        broken[REPLIES] = result["violations"][:5]
    stored, acknowledged = _stored(campaign), _acknowledged(result)
    if len(acknowledged) != len(result["acknowledged"]):
        broken[ACKNOWLEDGED] = ["a lease was acknowledged under two keys"]
    if stored != acknowledged:
        leases = [lease for lease in {*stored, *acknowledged}
                  if stored.get(lease) != acknowledged.get(lease)]  # fmt: skip
        what = [f"{key}: {stored.get(key)} for {acknowledged.get(key)}" for key in leases[:5]]
        broken[ACKNOWLEDGED] = [*broken.get(ACKNOWLEDGED, []), *what]
    return broken


Finished = tuple[str, str, dict[int, int]]


def _acknowledged(result: Row) -> dict[str, Finished]:
    """By lease: status, key, and the group of each image."""
    return {
        lease: (status, key, dict(zip(images, groups, strict=True)))
        for lease, images, groups, status, key in result["acknowledged"]
    }


def _stored(campaign: Campaign) -> dict[str, Finished]:
    """The same, as the database has it."""
    query = (
        select(Answer.id, Answer.state, Answer.idempotency_key, Grid.images, Answer.groups)
        .join(Grid, Grid.id == Answer.grid_id)
        .where(Answer.campaign_id == campaign.id, Answer.submitted_at.is_not(None))
    )
    with transaction() as session:
        return {
            str(lease): (
                "stored" if state == "submitted" else state,
                key or "",
                dict(zip(images, groups or [], strict=True)),
            )
            for lease, state, key, images, groups in session.execute(query)
        }
