"""Measurements in processes of their own: several at once, or one for its time and memory."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any, TypeVar

import psutil
import torch

from bench.harness.tables import Row

Value = TypeVar("Value")
Call = tuple[Callable[..., Value], tuple[Any, ...]]


def in_processes(calls: Sequence[Call[Value]], processes: int) -> Iterator[tuple[str, Value]]:
    """The results of the calls as they end, each with the progress (`3/20`), on one thread each;
    with one process, in this one and in order."""
    for number, value in enumerate(_results(calls, processes), start=1):
        yield f"{number}/{len(calls)}", value


def _results(calls: Sequence[Call[Value]], processes: int) -> Iterator[Value]:
    if processes == 1:
        torch.set_num_threads(1)
        for call, arguments in calls:
            yield call(*arguments)
        return
    with ProcessPoolExecutor(processes, None, torch.set_num_threads, (1,)) as pool:
        running = [pool.submit(call, *arguments) for call, arguments in calls]
        for finished in as_completed(running):
            yield finished.result()


def measured_rows(part: str, calls: Sequence[Call[list[Row]]], processes: int) -> list[Row]:
    """The rows of all calls of a part."""
    rows = []
    for progress, some in in_processes(calls, processes):
        print(f"{part}: {progress} done", flush=True)
        rows += some
    return rows


def measured_alone(module: str, *arguments: object) -> Row:
    """The row that `python -m module` prints: a cold start and memory of its own."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    row: Row = json.loads(done.stdout)
    print(f"{module.rpartition('.')[2]}: {row}", flush=True)
    return row


def peak_gib() -> float:
    """The largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


@contextmanager
def peak_memory(process: psutil.Process) -> Iterator[list[int]]:
    """Largest resident memory of a process during the block, in bytes, sampled 20 times per
    second."""
    peak, ended = [0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.05):
            try:
                peak[0] = max(peak[0], process.memory_info().rss)
            except psutil.NoSuchProcess:
                return

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        ended.set()
        watcher.join()
