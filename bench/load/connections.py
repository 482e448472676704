"""HTTP over bare connections, in few processor cycles, and a record of how each request went."""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import orjson


@dataclass
class Record:
    """calls: kind, second of the run in which it began, how many seconds it took, and status."""

    calls: list[tuple[str, float, float, int]] = field(default_factory=list)
    n_waits: int = 0
    began: float = field(default_factory=time.monotonic)

    def begin(self) -> None:
        """What came before was preparation."""
        self.calls.clear()
        self.n_waits, self.began = 0, time.monotonic()

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.began

    def print(self, **more: object) -> None:
        """As JSON, with the processor time that this process has used."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        figures = {
            "calls": self.calls,
            "n_waits": self.n_waits,
            "seconds": self.elapsed,
            "core_seconds": used.ru_utime + used.ru_stime,
            **more,
        }
        json.dump(figures, sys.stdout)


class Connection:
    """One connection that stays open as long as the server lets it; is_kept: whether it does that
    at all (uWSGI ends each connection, and does not say so)."""

    def __init__(self, address: str, record: Record, *, is_kept: bool = True) -> None:
        self._address, self._record, self._is_kept = address, record, is_kept
        self._host, _, self._port = address.partition(":")
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def call(
        self, kind: str, method: str, path: str, body: object = None, headers: str = ""
    ) -> tuple[int, bytes]:
        """Status and content; headers: with their ends of line."""
        data = b"" if body is None else orjson.dumps(body)
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {self._address}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n{headers}\r\n"
        )
        began = time.monotonic()
        if self._streams is None or self._streams[0].at_eof():
            # A server ends connections that were not used for minutes.
            self._streams = await asyncio.open_connection(self._host, int(self._port))
        reader, writer = self._streams
        writer.write(head.encode() + data)
        status, content, stays_open = await _response(reader)
        if not (stays_open and self._is_kept):
            writer.close()
            self._streams = None
        record = self._record
        record.calls.append((kind, began - record.began, time.monotonic() - began, status))
        return status, content

    async def json(
        self, kind: str, method: str, path: str, body: object = None, headers: str = ""
    ) -> Any:
        """What the server answers; raises RuntimeError if it refuses."""
        status, content = await self.call(kind, method, path, body, headers)
        if status >= 400:
            raise RuntimeError(f"{method} {path}: {status} {content[:300]!r}")
        return orjson.loads(content) if content else None


async def _response(reader: asyncio.StreamReader) -> tuple[int, bytes, bool]:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    status, stays_open = int(head[9:12]), b"\nconnection: close" not in head
    at = head.find(b"\ncontent-length:")
    if at >= 0:
        size = int(head[at + 16 : head.index(b"\r\n", at)])
        return status, await reader.readexactly(size) if size else b"", stays_open
    if status == 204 or stays_open:
        return status, b"", stays_open
    return status, await reader.read(), False
