"""When a virtual machine's processors were given to others, as Linux tells it (`steal`)."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

STAT = Path("/proc/stat")
# Of the processors' time.
MUCH = 0.05
# What has piled up meanwhile is worked off.
AFTER_SECONDS = 5.0
LOOK_SECONDS = 1.0


@dataclass
class Stolen:
    """spells: (begin, end) by the monotonic clock of each look in which much was stolen."""

    spells: list[tuple[float, float]] = field(default_factory=list)
    looks: int = 0

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Look every second until the end."""
        over = threading.Event()
        watching = threading.Thread(target=self._watch, args=(over,), daemon=True)
        watching.start()
        try:
            yield
        finally:
            over.set()
            watching.join()

    def share_of_time(self) -> float:
        return len(self.spells) / self.looks if self.looks else 0.0

    def touches(self, begin: float, end: float) -> bool:
        """Whether it was so between, or shortly before."""
        return any(begin < last + AFTER_SECONDS and end > first for first, last in self.spells)

    def _watch(self, over: threading.Event) -> None:
        before, began = processor_times(), time.monotonic()
        while not over.wait(LOOK_SECONDS):
            now, moment = processor_times(), time.monotonic()
            self.looks += 1
            if stolen_share(before, now) > MUCH:
                self.spells.append((began, moment))
            before, began = now, moment


def processor_times(stat: Path = STAT) -> tuple[int, int]:
    """(stolen, whole) time of all processors since the start, in ticks; zeros but on Linux."""
    if not stat.exists():
        return 0, 0
    # user, nice, system, idle, iowait, irq, softirq, steal; guests are in user already.
    ticks = [int(count) for count in stat.read_text().splitlines()[0].split()[1:9]]
    return ticks[7], sum(ticks)


def stolen_share(before: tuple[int, int], now: tuple[int, int]) -> float:
    whole = now[1] - before[1]
    return (now[0] - before[0]) / whole if whole else 0.0
