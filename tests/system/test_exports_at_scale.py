"""Exports through a real web server: as much memory for many answers as for few, and a stream that
breaks is seen to have broken."""

from contextlib import closing

import httpx
import psutil
import psycopg
import pytest
from sqlalchemy import text

from app.accounts.models import Account
from app.accounts.service import create_sign_in_link
from app.core.database import transaction
from testbed.builders import a_campaign, an_account
from testbed.many import add_answers
from testbed.system import System, wait_until

FEW, MANY = 2_000, 20_000
FILES = ("answers.csv", "answers.jsonl", "answers.parquet", "pairs.csv", "triplets.csv",
         "traces.jsonl", "quality.csv", "archive.zip")  # fmt: skip
# For ten times the answers: what is made anew all the time comes to rest in the memory allocator.
# As rows in Python, 20,000 answers would take 100 MB.
MOST_GROWTH = 32 * 2**20
# A whole row group, which the fewer answers do not fill.
MOST_GROWTH_OF_PARQUET = 48 * 2**20


def signed_in(system: System, account: Account) -> httpx.Client:
    with transaction() as session:
        link = create_sign_in_link(session, account, "")
    client = httpx.Client(
        base_url=system.base_url, timeout=120, headers={"Accept-Encoding": "identity"}
    )
    assert client.post(link).status_code == 303
    return client


def peak_during(system: System, client: httpx.Client, address: str) -> tuple[int, int]:
    """Largest resident memory of the web server while a file is read, and the file's size."""
    process = psutil.Process(system.processes["web"].pid)
    peak = size = 0
    with client.stream("GET", address) as reply:
        assert reply.status_code == 200
        for piece in reply.iter_raw(2**20):
            size += len(piece)
            peak = max(peak, process.memory_info().rss)
    return peak, size


def test_ten_times_the_answers_take_no_more_memory(web: System) -> None:
    owner = an_account()
    few, many = (add_answers(a_campaign(owner, grid_size=24), n) for n in (FEW, MANY))
    with closing(signed_in(web, owner)) as client:
        for file in FILES:
            path = "/api/v1/campaigns/{}/export/" + file
            # The first time loads libraries.
            peak_during(web, client, path.format(few))
            before, small = peak_during(web, client, path.format(few))
            after, large = peak_during(web, client, path.format(many))
            assert large > 4 * small or file == "quality.csv", file
            most = MOST_GROWTH_OF_PARQUET if file.endswith("parquet") else MOST_GROWTH
            assert after - before < most, (file, before // 2**20, after // 2**20)


def test_a_stream_that_breaks_is_not_taken_for_whole(web: System) -> None:
    owner = an_account()
    campaign = add_answers(a_campaign(owner, grid_size=24), 20_000)
    with closing(signed_in(web, owner)) as client:
        for file in ("answers.csv", "pairs.csv", "traces.jsonl", "archive.zip"):
            address = f"/api/v1/campaigns/{campaign}/export/{file}"
            with client.stream("GET", address) as reply:
                assert reply.status_code == 200
                pieces = reply.iter_raw(2**16)
                next(pieces)
                end_connections(web.environment["DATABASE_URL"])
                with pytest.raises(httpx.RemoteProtocolError, match="incomplete"):
                    sum(map(len, pieces))
            # The server itself goes on.
            assert client.get(f"/api/v1/campaigns/{campaign}").status_code == 200


def test_a_reader_who_goes_away_leaves_no_transaction_open(web: System) -> None:
    owner = an_account()
    campaign = add_answers(a_campaign(owner, grid_size=24), 20_000)
    with closing(signed_in(web, owner)) as client:
        for file in ("answers.csv", "answers.parquet", "archive.zip"):
            with client.stream("GET", f"/api/v1/campaigns/{campaign}/export/{file}") as reply:
                next(reply.iter_raw(2**16))
            wait_until(f"the end of {file}", lambda: open_transactions() == 0, 20)


def open_transactions() -> int:
    with transaction() as session:
        query = text(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() AND state <> 'idle'"
        )
        return int(session.scalar(query) or 0)


def end_connections(url: str) -> None:
    """Of everybody else to the test's database, in the middle of what they do."""
    address = url.replace("postgresql+psycopg://", "postgresql://")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
