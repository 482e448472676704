"""Processor time of processes, and the figures of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import psutil
import psycopg
from psycopg import sql

from bench.harness.tables import Row
from testbed.servers import Servers
from testbed.system import System


def write_to_disk(servers: Servers) -> None:
    """As in production; test servers do not wait for the disk."""
    with psycopg.connect(servers.postgres.uri, autocommit=True) as connection:
        for name in ("fsync", "full_page_writes", "synchronous_commit"):
            connection.execute(sql.SQL("ALTER SYSTEM RESET {}").format(sql.Identifier(name)))
        connection.execute("SELECT pg_reload_conf()")


def postmaster(servers: Servers) -> int:
    return int((servers.postgres.folder / "postmaster.pid").read_text().split()[0])


def processes_of(system: System, servers: Servers) -> dict[str, int]:
    """What serves a system, by name."""
    assert system.valkey.process is not None
    return {
        **{name: process.pid for name, process in system.processes.items()},
        "valkey": system.valkey.process.pid,
        "postgresql": postmaster(servers),
    }


@contextmanager
def processor_time(processes: Mapping[str, int]) -> Iterator[dict[str, float]]:
    """Core seconds of each of the processes, with their children, during the block; those of
    `web-2` are counted as `web`."""
    before = {name: core_seconds(pid) for name, pid in processes.items()}
    used: dict[str, float] = {}
    yield used
    for name, pid in processes.items():
        kind = name.partition("-")[0]
        used[kind] = used.get(kind, 0.0) + core_seconds(pid) - before[name]


def core_seconds(pid: int) -> float:
    """Of a process and its children, also those that have ended."""
    process = psutil.Process(pid)
    own = process.cpu_times()
    total = own.children_user + own.children_system
    for each in (process, *process.children(recursive=True)):
        try:
            times = each.cpu_times()
        except psutil.NoSuchProcess:
            # It ended just now, and its parent counts it the next time.
            continue
        total += times.user + times.system
    return total


def figures(result: Row, used: dict[str, float]) -> Row:
    """Of a crowd's record, and the core seconds of those who served it."""
    calls, seconds = result["calls"], result["seconds"]
    n = sum(kind == "submit" and status < 400 for kind, _, _, status in calls)
    return {
        "answers": n,
        "answers_per_second": n / seconds,
        "waits": result["n_waits"],
        **{kind: percentiles([took for each, _, took, _ in calls if each == kind])
           for kind in ("claim", "images", "submit")},
        "ms_per_answer": {name: 1000 * core / n for name, core in used.items()},
        "ms_of_client_per_answer": 1000 * result["core_seconds"] / n,
    }  # fmt: skip


def percentiles(seconds: list[float]) -> dict[str, float]:
    """In milliseconds; none of no requests."""
    if not seconds:
        return {}
    ms = 1000 * np.quantile(seconds, [0.5, 0.95, 0.99])
    return {
        name: round(float(value), 1) for name, value in zip(("p50", "p95", "p99"), ms, strict=True)
    }
