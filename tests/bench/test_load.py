"""Benchmarks under load: rows that stand for earlier work, the laws, and the report."""

import asyncio
import uuid

import pytest
from sqlalchemy import select, update

from app.annotation.models import Answer
from app.campaigns.models import Campaign
from app.core.database import transaction
from bench.harness.paths import BENCHMARKS
from bench.harness.store import RowFile
from bench.harness.tables import Row
from bench.load.__main__ import expanded
from bench.load.connections import Connection, Record
from bench.load.filling import fill
from bench.load.laws import ACKNOWLEDGED, REPLIES, broken_by
from bench.load.parts import CAMPAIGNS, PARTS
from bench.load.report import report
from testbed.builders import a_campaign, reloaded
from testbed.invariants import broken_invariants


def a_filled_campaign(environment: dict[str, str], answers: int) -> Campaign:
    campaign = a_campaign(kind="bins", strategy="crowdster", budget=40, rounds=2)
    fill(environment["DATABASE_URL"], campaign.id, answers)
    return reloaded(campaign.id)


def test_filled_rows_are_as_work_leaves_them(environment: dict[str, str]) -> None:
    filled = a_filled_campaign(environment, 500)
    assert broken_invariants() == {}
    assert (filled.n_answers, filled.n_annotators, filled.budget) == (500, 10, 540)
    assert filled.rounds == 3


def test_numbers_that_leave_a_round_open_are_refused(environment: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="10750 answers"):
        a_filled_campaign(environment, 10_750)


def what_a_crowd_notes(campaign: Campaign) -> Row:
    """A record in which all stored answers were acknowledged."""
    with transaction() as session:
        rows = session.scalars(
            select(Answer).where(Answer.campaign_id == campaign.id, Answer.groups.is_not(None))
        )
        notes = [
            [str(answer.id), [event["image"] for event in answer.trace], answer.groups, "stored",
             answer.idempotency_key]
            for answer in rows
        ]  # fmt: skip
    return {"acknowledged": notes, "violations": []}


def test_answers_that_are_stored_as_acknowledged_break_no_law(environment: dict[str, str]) -> None:
    campaign = a_filled_campaign(environment, 500)
    assert broken_by(campaign, what_a_crowd_notes(campaign)) == {}


def test_lost_changed_and_unknown_answers_break_a_law(environment: dict[str, str]) -> None:
    campaign = a_filled_campaign(environment, 500)
    notes = what_a_crowd_notes(campaign)
    first, second, third = (uuid.UUID(note[0]) for note in notes["acknowledged"][:3])
    del notes["acknowledged"][0]
    with transaction() as session:
        changed = update(Answer).where(Answer.id == second).values(idempotency_key="another")
        session.execute(changed)
        session.delete(session.get_one(Answer, third))
    broken = broken_by(campaign, {**notes, "violations": ["a reply"]})
    assert broken[REPLIES] == ["a reply"]
    assert {what.partition(":")[0] for what in broken[ACKNOWLEDGED]} == {
        str(first),
        str(second),
        str(third),
    }


def test_names_of_groups_stand_for_their_parts() -> None:
    assert expanded(["size", "ten", "report"])[-len(CAMPAIGNS) - 1 :] == [*CAMPAIGNS, "ten"]
    assert expanded(["size", "answers-1000"]) == expanded(["size"])


def test_the_report_is_byte_equal_to_the_published_one() -> None:
    rows = RowFile(BENCHMARKS / "load.json", ("code", "part")).rows()
    assert report(rows) == (BENCHMARKS / "load.md").read_text()


def a_row(part: str) -> Row:
    waits = {"p50": 1.0, "p95": 2.0, "p99": 3.0}
    cost = {"web": 5.0, "postgresql": 2.0}
    return {"code": "today", "part": part, "answers_per_second": 100.0, "waits": 0, "claim": waits,
            "images": {}, "submit": waits, "ms_per_answer": cost, "trainings": 0}  # fmt: skip


def test_every_part_is_in_the_report() -> None:
    text = report([a_row(part) for part in PARTS])
    assert text.count("| today | 100 |") == len(PARTS)
    assert "7.0 | 5.0 | 2.0" in text


def test_label_studio_is_a_goal_once_both_were_measured() -> None:
    own, theirs = (
        a_row("comparison"),
        {**a_row("comparison"), "code": "Label Studio 1", "set_up": "uWSGI"},
    )
    assert "more than 100 | 100 | **no**" in report([own, theirs])
    assert "more than" not in report([own])


def test_a_connection_that_the_server_ended_is_opened_again() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        await writer.drain()
        writer.close()

    async def ask() -> Record:
        record = Record()
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            connection = Connection(f"127.0.0.1:{port}", record)
            for _ in range(3):
                assert await connection.json("claim", "GET", "/") == {}
                # Until the end of the connection has come.
                await asyncio.sleep(0.05)
        return record

    assert [(kind, status) for kind, _, _, status in asyncio.run(ask()).calls] == [
        ("claim", 200)
    ] * 3
