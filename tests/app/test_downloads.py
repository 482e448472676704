"""Whoever reads a download slowly holds no connection, and takes nothing from anybody else."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, QueuePool, text

from app.core import spool
from app.core.database import DOWNLOAD_CONNECTIONS, _downloads, get_engine, snapshot
from app.core.errors import NoRoom
from app.core.spool import AT_ONCE, Download, TooManyDownloads
from testbed.builders import a_campaign, an_account, sign_in

pytestmark = pytest.mark.usefixtures("environment")
LARGE = 64


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def many_rows() -> Iterator[bytes]:
    with snapshot() as session:
        for number in session.scalars(text("SELECT generate_series(1, 64)")):
            yield bytes([number]) * 2**16


def a_download(account_id: UUID, pieces: Callable[[], Iterator[bytes]] = many_rows) -> Download:
    return Download(account_id, pieces, "text/plain", {})


class Reader:
    """Takes a reply's pieces, one at a time, when it is told to."""

    def __init__(self, reply: Download) -> None:
        self.received = b""
        self.error: BaseException | None = None
        self.go = asyncio.Event()
        self.gone = asyncio.Event()
        self.reply = reply

    async def send(self, message: Any) -> None:
        self.received += message.get("body", b"")
        await self.go.wait()

    async def receive(self) -> Any:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def read(self) -> None:
        try:
            await self.reply({"type": "http", "asgi": {}}, self.receive, self.send)
        except BaseException as error:
            self.error = error


def checked_out(engine: Engine) -> int:
    assert isinstance(engine.pool, QueuePool)
    return engine.pool.checkedout()


def connections_used() -> int:
    return checked_out(_downloads())


def test_slow_readers_hold_no_connection_and_get_it_whole() -> None:
    async def read_slowly() -> list[Reader]:
        readers = [Reader(a_download(uuid4())) for _ in range(3 * DOWNLOAD_CONNECTIONS)]
        tasks = [asyncio.create_task(reader.read()) for reader in readers]
        end = time.monotonic() + 20
        while connections_used() or not all(reader.reply._spool._complete for reader in readers):
            assert time.monotonic() < end
            await asyncio.sleep(0.01)
        assert all(len(reader.received) <= 2**17 for reader in readers)
        for reader in readers:
            reader.go.set()
        await asyncio.gather(*tasks)
        return readers

    for reader in asyncio.run(read_slowly()):
        assert reader.error is None
        assert len(reader.received) == LARGE * 2**16
    until(lambda: not spool._of_account)
    assert checked_out(get_engine()) == 0


def test_an_account_reads_a_few_files_at_once_and_another_is_not_concerned() -> None:
    greedy, quiet = uuid4(), uuid4()
    held = [a_download(greedy) for _ in range(AT_ONCE)]
    with pytest.raises(TooManyDownloads, match=f"downloading {AT_ONCE} files"):
        a_download(greedy)
    other = a_download(quiet)
    held.pop()._spool.leave()
    until(lambda: spool._of_account[greedy] < AT_ONCE)
    held.append(a_download(greedy))
    for download in [*held, other]:
        download._spool.leave()
    until(lambda: not spool._of_account)


def test_who_goes_away_ends_the_making_and_leaves_nothing() -> None:
    ended = threading.Event()
    begun = threading.Event()

    def endless() -> Iterator[bytes]:
        try:
            while True:
                begun.set()
                yield b"x" * 1000
                time.sleep(0.001)
        finally:
            ended.set()

    async def go_away() -> Reader:
        reader = Reader(a_download(uuid4(), endless))
        reader.go.set()
        task = asyncio.create_task(reader.read())
        while not reader.received:
            await asyncio.sleep(0.01)
        reader.gone.set()
        await task
        return reader

    reader = asyncio.run(go_away())
    assert begun.is_set()
    assert ended.wait(20)
    until(lambda: reader.reply._spool._file.closed)
    until(lambda: not spool._of_account)


def test_a_reply_that_is_never_sent_counts_no_longer() -> None:
    account = uuid4()
    for _ in range(3 * AT_ONCE):
        a_download(account)
        until(lambda: spool._of_account.get(account, 0) <= 1)


def test_a_file_that_cannot_be_made_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> Any:
        raise OSError(28, "No space left on device")

    account = uuid4()
    with monkeypatch.context() as patch:
        patch.setattr("app.core.spool.tempfile.TemporaryFile", full)
        for _ in range(3 * AT_ONCE):
            with pytest.raises(OSError, match="No space"):
                a_download(account)
    assert not spool._of_account


def test_whoever_opens_and_leaves_has_no_threads_wait() -> None:
    account = uuid4()
    generated: list[int] = []

    def pieces() -> Iterator[bytes]:
        generated.append(1)
        yield b"x"

    for _ in range(DOWNLOAD_CONNECTIONS):
        spool._making.acquire()
    try:
        refused = 0
        for _ in range(3 * AT_ONCE):
            try:
                a_download(account, pieces)._spool.leave()
            except TooManyDownloads:
                refused += 1
        assert refused == 2 * AT_ONCE
    finally:
        for _ in range(DOWNLOAD_CONNECTIONS):
            spool._making.release()
    until(lambda: not spool._of_account)
    assert generated == []


def test_a_disk_that_is_nearly_full_begins_no_download(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "LEAST_ROOM", 2**62)
    with pytest.raises(NoRoom, match="too little for a download"):
        a_download(uuid4())


def test_a_disk_that_fills_ends_a_download(monkeypatch: pytest.MonkeyPatch) -> None:
    def filling() -> Iterator[bytes]:
        monkeypatch.setattr(spool, "LEAST_ROOM", 2**62)
        yield b"first"

    reply = a_download(uuid4(), filling)
    until(lambda: reply._spool._complete)
    assert isinstance(reply._spool._error, NoRoom)
    reply._spool.leave()


def test_what_breaks_off_is_not_taken_for_whole() -> None:
    def breaking() -> Iterator[bytes]:
        yield b"first"
        raise RuntimeError("the disk is full")

    async def read() -> Reader:
        reader = Reader(a_download(uuid4(), breaking))
        reader.go.set()
        await reader.read()
        return reader

    reader = asyncio.run(read())
    assert reader.received == b"first"
    assert isinstance(reader.error, RuntimeError)
    assert str(reader.error) == "the disk is full"


def test_the_api_says_when_an_account_downloads_too_much(client: TestClient) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    sign_in(client, owner)
    held = [a_download(owner.id) for _ in range(AT_ONCE)]
    path = f"/api/v1/campaigns/{campaign.id}/export/answers.csv"
    refused = client.get(path)
    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_downloads")
    for download in held:
        download._spool.leave()
    assert client.get(path).status_code == 200
