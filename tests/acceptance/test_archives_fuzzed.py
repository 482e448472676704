"""Archives changed by chance: refused with a reason, or restored whole and readable."""

import logging
import os
import random
import time
from collections import Counter
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, literal, select, text, union_all

from app.accounts.models import Account
from app.archive.tables import ARCHIVED
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign
from app.core.database import locked, transaction
from app.core.outbox import OutboxMessage
from app.core.storage import delete_below, list_objects
from app.jobs.models import Job
from app.jobs.service import request_job
from app.tables import metadata
from testbed.builders import an_account, sign_in
from tests.support.acceptance_results import keep
from tests.support.archived_campaigns import (
    a_clustered_campaign,
    campaigns_of_every_kind,
    unfinished_campaigns,
)
from tests.support.archives import Members, archive_of, bring, unpacked
from tests.support.mutated_archives import a_mutated_archive
from tests.support.read_campaign import addresses_of
from tests.support.scale import FULL

SEED = int(os.environ.get("LIKEWISE_ARCHIVES_SEED", "0"))
# Each part has a server and archives of its own, so that the whole can run over several sittings.
PARTS, N_ARCHIVES = (10, 1_000) if FULL else (1, 100)
# Between two looks at the sweeps; what was restored is taken away then.
BATCH = 25
# Of each restored campaign, of the hundred addresses that it has.
N_READ = 8
SECONDS = 10.0
Counts = dict[str, int]


class Fuzzed:
    """An account that brings archives by chance to a server on which others work."""

    def __init__(self, client: TestClient, seed: int) -> None:
        self.client, self.seed = client, seed
        owner = an_account("quiet@example.org")
        # The others take longer to be learned than a hundred archives to be brought.
        played = (
            campaigns_of_every_kind(client, owner)
            if FULL
            else {"crowdster": a_clustered_campaign(client, owner)}
        )
        played |= unfinished_campaigns(client, owner)
        self.originals: dict[str, Members] = {
            kind: unpacked(archive_of(client, campaign)) for kind, campaign in played.items()
        }
        self.quiet = played["going on"]
        self.importer: Account = an_account("greedy@example.org")
        sign_in(client, self.importer)
        self.outcomes: Counter[str] = Counter()
        self.restored: list[Campaign] = []
        self.sweep()

    def bring(self, number: int) -> str:
        """One archive; returns what was done to it."""
        rng = random.Random(f"{self.seed} {number}")
        kind = rng.choice(sorted(self.originals))
        what, archive = a_mutated_archive(rng, self.originals[kind])
        what = f"{number} {kind}: {what}"
        before, objects = rows_of_all(), objects_of_all()
        begun = time.monotonic()
        reply = bring(self.client, archive)
        assert time.monotonic() - begun < SECONDS, what
        if reply.status_code == 201:
            self._is_whole(what, UUID(reply.json()["id"]), before, archive)
            self._is_readable(what, rng, UUID(reply.json()["id"]))
            self.outcomes["restored"] += 1
        else:
            self._says_why(what, reply)
            assert (rows_of_all(), objects_of_all()) == (before, objects), what
            self.outcomes["refused"] += 1
        return what

    def _says_why(self, what: str, reply: Any) -> None:
        assert reply.status_code == 422, (what, reply.status_code, reply.text[:500])
        problem = reply.json()
        assert len(problem["detail"]) > 20, (what, problem)

    def _is_whole(self, what: str, campaign_id: UUID, before: Counts, archive: bytes) -> None:
        archived = unpacked_rows(archive)
        after = rows_of_all()
        more = {table.name: after[table.name] - before[table.name] for table in ARCHIVED}
        # A training that waited is asked for again.
        assert more.pop("job") - archived.pop("job", 0) in (0, 1), what
        assert more == {name: archived.get(name, 0) for name in more}, what
        with transaction() as session:
            self.restored.append(session.get_one(Campaign, campaign_id))

    def _is_readable(self, what: str, rng: random.Random, campaign_id: UUID) -> None:
        with transaction() as session:
            addresses = addresses_of(session, campaign_id)
        if rng.random() < 0.3:
            self._goes_on(what, campaign_id)
        for address in rng.sample(addresses, min(N_READ, len(addresses))):
            reply = self.client.get(address)
            assert reply.status_code < 500, (what, address, reply.text[:500])

    def _goes_on(self, what: str, campaign_id: UUID) -> None:
        """Somebody looks for a grid of it."""
        for action in ("start", "resume"):
            path = f"/api/v1/campaigns/{campaign_id}/actions/{action}"
            assert self.client.post(path).status_code < 500, (what, path)
        with transaction() as session:
            link = annotator_link(session.get_one(Campaign, campaign_id), "")
        body = {"link": link.removeprefix("/a/"), "annotator_key": "annotator-000099"}
        opened = self.client.post("/api/v1/annotate/sessions", json=body)
        assert opened.status_code < 500, (what, opened.text)
        if opened.is_success:
            who = {"Authorization": f"Bearer {opened.json()['token']}"}
            leased = self.client.post("/api/v1/annotate/leases", headers=who)
            assert leased.status_code < 500, (what, leased.text)

    def sweep(self) -> None:
        """Beside all that was restored, somebody's training is handed on; then that is gone."""
        # Reads settings when it is imported.
        from workers.dispatcher import SWEEPS, relay_messages, run_sweeps

        with transaction() as session:
            locked(session, Campaign, self.quiet.id)
            job_id = request_job(session, self.quiet.id, watermark=1).id
        for sweeps in SWEEPS.values():
            run_sweeps(sweeps)
        while relay_messages():
            continue
        with transaction() as session:
            handed_on = select(OutboxMessage).where(OutboxMessage.job_id == job_id)
            sent = session.scalars(handed_on).one()
            assert sent.dispatched_at is not None
            assert sent.refused is None
            assert session.get_one(Job, job_id).state == "queued"
            for statement in REMOVED:
                session.execute(text(statement), {"owner": self.importer.id, "job": job_id})
        for campaign in self.restored:
            delete_below(f"images/{campaign.collection_id}")
            delete_below(f"models/{campaign.id}")
        self.restored.clear()


REMOVED = (
    "DELETE FROM outbox",
    "DELETE FROM job WHERE id = :job",
    "DELETE FROM campaign WHERE owner_id = :owner",
    "DELETE FROM collection WHERE owner_id = :owner",
    "DELETE FROM audit_event WHERE account_id = :owner",
)


def rows_of_all() -> Counts:
    with transaction() as session:
        counted = [select(literal(table.name), func.count()).select_from(table)
                   for table in metadata.tables.values()]  # fmt: skip
        return {name: n for name, n in session.execute(union_all(*counted))}


def objects_of_all() -> list[str]:
    return [*list_objects("images"), *list_objects("models")]


def unpacked_rows(archive: bytes) -> Counts:
    """How many lines each table of an archive has."""
    return {
        name.removeprefix("tables/").removesuffix(".jsonl"): data.count(b"\n")
        for name, data in unpacked(archive).items()
        if name.startswith("tables/")
    }


@pytest.mark.parametrize("part", range(PARTS))
def test_archives_changed_by_chance_are_refused_with_a_reason_or_restored_whole(
    client: TestClient, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    # Its annotators look for a grid and are gone; nothing has to wait for them.
    monkeypatch.setattr("app.core.pace.AT_WORK_SECONDS", 0.0)
    fuzzed = Fuzzed(client, SEED + part)
    before, begun = (rows_of_all(), objects_of_all()), time.monotonic()
    with caplog.at_level(logging.ERROR):
        for number in range(N_ARCHIVES):
            fuzzed.bring(number)
            if number % BATCH == BATCH - 1:
                fuzzed.sweep()
                assert (rows_of_all(), objects_of_all()) == before
                assert caplog.records == []
    keep(f"archives_{part}", {
        "seed": SEED + part, "archives": N_ARCHIVES, "refused": fuzzed.outcomes["refused"],
        "restored": fuzzed.outcomes["restored"], "seconds": round(time.monotonic() - begun),
    })  # fmt: skip
    assert fuzzed.outcomes["refused"] > N_ARCHIVES / 4
    assert fuzzed.outcomes["restored"] > N_ARCHIVES / 10
