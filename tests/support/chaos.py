"""Every process of a system is killed once in each period, in a random order, and comes back."""

import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import psutil

from testbed.servers import Servers
from testbed.system import System
from tests.support.traffic import Call

# How an outage of these may be noticed by who asks the web server: the status of its reply (0:
# there was none), and how long once it is back. Of the others, nothing may be.
NOTICED = {"web": (0, 2.0), "postgresql": (503, 15.0)}
# A trainer is there while a model is trained, and awaited for so long.
TRAINER_SECONDS = 10.0


@dataclass(frozen=True)
class Outage:
    """Monotonic seconds. back: when whoever supervises it had it running again; n: processes that
    were there to be killed."""

    name: str
    killed: float
    back: float
    n: int = 1


@dataclass
class Chaos:
    """Kills by SIGKILL, PostgreSQL by `pg_ctl stop -m immediate`, which no client survives."""

    system: System
    servers: Servers
    period: float = 60.0
    seed: int = 0
    outages: list[Outage] = field(default_factory=list)

    def reign(self, periods: int) -> None:
        """Blocks until all of them are over, and everything is back."""
        chance, began = Random(self.seed), time.monotonic()
        for number in range(periods):
            names = [*self._victims()]
            chance.shuffle(names)
            moments = sorted(chance.uniform(0, self.period) for _ in names)
            for name, moment in zip(names, moments, strict=True):
                due = began + number * self.period + moment
                time.sleep(max(0.0, due - time.monotonic()))
                self._strike(name, away=chance.uniform(0, 3), forgetful=chance.random() < 0.5)
        time.sleep(max(0.0, began + periods * self.period - time.monotonic()))

    def _victims(self) -> dict[str, Callable[[], int]]:
        """How each is killed; how many processes that were."""
        return {
            "web": lambda: self._kill("web"),
            "worker": lambda: self._kill("worker"),
            "dispatcher": lambda: self._kill("dispatcher"),
            "trainer": self._kill_trainers,
            "valkey": self._kill_valkey,
            "postgresql": self._stop_postgresql,
        }

    def _strike(self, name: str, away: float, forgetful: bool) -> None:
        """`forgetful`: a Valkey that comes back has nothing left of what it held."""
        began = time.monotonic()
        n = self._victims()[name]()
        time.sleep(away)
        if name == "valkey":
            for file in self.system.valkey.folder.rglob("*.aof*") if forgetful else ():
                file.unlink()
            self.system.valkey.start()
        elif name == "postgresql":
            self.servers.postgres.ensure_running()
        elif name != "trainer":
            self.system.start(name)
        self.outages.append(Outage(name, began, time.monotonic(), n))

    def _kill(self, name: str) -> int:
        self.system.kill(name)
        return 1

    def _kill_valkey(self) -> int:
        self.system.kill_redis()
        return 1

    def _kill_trainers(self) -> int:
        """The next one that trains, if any does soon."""
        end = time.monotonic() + TRAINER_SECONDS
        while time.monotonic() < end:
            if (killed := sum(_killed(trainer) for trainer in self.system.trainers())) > 0:
                return killed
            time.sleep(0.1)
        return 0

    def _stop_postgresql(self) -> int:
        stop_at_once(self.servers)
        return 1

    @property
    def kills(self) -> dict[str, int]:
        kills: Counter[str] = Counter()
        for outage in self.outages:
            kills[outage.name] += outage.n
        return dict(kills)

    def excused(self, call: Call) -> bool:
        """Whether it failed as somebody's who asks while something they need is away."""
        return any(
            call.status == status
            and outage.killed <= call.at
            and call.at - call.seconds <= outage.back + seconds
            for outage in self.outages
            if outage.name in NOTICED
            for status, seconds in [NOTICED[outage.name]]
        )

    def excusing_seconds(self) -> float:
        """For how long failures of some kind are excused, overlaps counted once."""
        total = end = 0.0
        for outage in sorted(self.outages, key=lambda outage: outage.killed):
            if outage.name in NOTICED:
                back = outage.back + NOTICED[outage.name][1]
                total += max(0.0, back - max(end, outage.killed))
                end = max(end, back)
        return total

    def unexplained(self, calls: list[Call]) -> list[Call]:
        """Requests that failed although nothing they need was away, or long after it was back, or
        in another way than it explains."""
        return [call for call in calls if has_failed(call) and not self.excused(call)]

    def longest_trouble(self, calls: list[Call], name: str) -> float:
        """Seconds from the return of `name` to the last request that failed before anything else
        went away."""
        bad = [call.at for call in calls if has_failed(call)]
        ends = [outage.killed for outage in self.outages[1:]] + [float("inf")]
        return max(
            (
                at - outage.back
                for outage, end in zip(self.outages, ends, strict=True)
                for at in bad
                if outage.name == name and outage.back < at < end
            ),
            default=0.0,
        )


def has_failed(call: Call) -> bool:
    return call.status == 0 or call.status >= 500


def _killed(process: psutil.Process) -> bool:
    """False for one that has just ended by itself."""
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return False
    return True


def stop_at_once(servers: Servers) -> None:
    """`pg_ctl stop -m immediate`: nobody is told, nothing is tidied up."""
    assert servers.postgres._server is not None
    process = servers.postgres._server.get_postmaster_info().process
    assert process is not None
    process.send_signal(signal.SIGQUIT)
    process.wait(20)
