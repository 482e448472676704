"""Every process of a system is killed once in each period, in a random order, and comes back."""

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import psutil

from tests.support.servers import Servers
from tests.support.system import System
from tests.support.traffic import Call

# How long an outage of these may be noticed by who asks the web server, once it is back; of the
# others, nothing may be.
NOTICED_SECONDS = {"web": 2.0, "postgresql": 15.0}


@dataclass(frozen=True)
class Outage:
    """Monotonic seconds. back: when whoever supervises it had it running again."""

    name: str
    killed: float
    back: float


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

    def _victims(self) -> dict[str, Callable[[], None]]:
        return {
            "web": lambda: self.system.kill("web"),
            "worker": lambda: self.system.kill("worker"),
            "dispatcher": lambda: self.system.kill("dispatcher"),
            "trainer": self._kill_trainers,
            "valkey": self.system.kill_redis,
            "postgresql": self._stop_postgresql,
        }

    def _strike(self, name: str, away: float, forgetful: bool) -> None:
        """`forgetful`: a Valkey that comes back has nothing left of what it held."""
        killed = time.monotonic()
        self._victims()[name]()
        time.sleep(away)
        if name == "valkey":
            for file in self.system.valkey.folder.rglob("*.aof*") if forgetful else ():
                file.unlink()
            self.system.valkey.start()
        elif name == "postgresql":
            self.servers.postgres.ensure_running()
        elif name != "trainer":
            self.system.start(name)
        self.outages.append(Outage(name, killed, time.monotonic()))

    def _kill_trainers(self) -> None:
        """Whatever trains at this moment, if anything does."""
        for one in self.system.trainers():
            try:
                one.kill()
            except psutil.NoSuchProcess:
                continue

    def _stop_postgresql(self) -> None:
        stop_at_once(self.servers)

    def unexplained(self, calls: list[Call]) -> list[Call]:
        """Requests that failed although nothing they need was away, or long after it was back."""
        windows = [
            (one.killed, one.back + NOTICED_SECONDS[one.name])
            for one in self.outages
            if one.name in NOTICED_SECONDS
        ]
        return [
            call
            for call in calls
            if (call.status == 0 or call.status >= 500)
            and not any(
                begin <= call.at and call.at - call.seconds <= end for begin, end in windows
            )
        ]

    def longest_trouble(self, calls: list[Call], name: str) -> float:
        """Seconds from the return of `name` to the last request that failed before anything else
        went away."""
        bad = [one.at for one in calls if one.status == 0 or one.status >= 500]
        ends = [one.killed for one in self.outages[1:]] + [float("inf")]
        return max(
            (
                at - one.back
                for one, end in zip(self.outages, ends, strict=True)
                for at in bad
                if one.name == name and one.back < at < end
            ),
            default=0.0,
        )


def stop_at_once(servers: Servers) -> None:
    """`pg_ctl stop -m immediate`: nobody is told, nothing is tidied up."""
    assert servers.postgres._server is not None
    process = servers.postgres._server.get_postmaster_info().process
    assert process is not None
    process.send_signal(signal.SIGQUIT)
    process.wait(20)
