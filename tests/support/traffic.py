"""Annotators at the pace of people, over an HTTP connection that notes how each request went."""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from statistics import quantiles
from typing import Any

import httpx

from app.kinds import get_kind
from learning.simulation import Crowd
from likewise.simulation import SimulatedAnnotator, Stored

# A request is named by the first of these that its method and path match.
KINDS = {
    "claim": r"POST .*/annotate/leases",
    "submit": r"POST .*/annotate/leases/[^/]+/answer",
    "draft": r"PUT .*/annotate/leases/[^/]+/draft",
    "session": r"POST .*/annotate/sessions.*",
}


@dataclass(frozen=True)
class Call:
    """One request. at: seconds of the monotonic clock when it ended; status 0: no reply came, for
    the reason in `error`."""

    kind: str
    at: float
    seconds: float
    status: int
    error: str = ""


class Recorder(httpx.HTTPTransport):
    """The network, with a list of every request; calls: of those who note theirs together."""

    def __init__(self, calls: list[Call] | None = None) -> None:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        super().__init__(limits=limits)
        self.calls = [] if calls is None else calls

    def reach(self, request: httpx.Request) -> httpx.Response:
        return super().handle_request(request)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        began, status, problem = time.monotonic(), 0, ""
        try:
            response = self.reach(request)
            status = response.status_code
            return response
        except httpx.TransportError as error:
            problem = repr(error)
            raise
        finally:
            ended = time.monotonic()
            kind = kind_of(request.method, request.url.path)
            self.calls.append(Call(kind, ended, ended - began, status, problem))


class Several(Recorder):
    """The network with several web servers behind one address: as a proxy, but it never repeats a
    request. Who gets no reply asks the next server when they try again.

    at: the index of the server that is asked first
    """

    def __init__(self, servers: list[str], at: int, calls: list[Call] | None = None) -> None:
        super().__init__(calls)
        self.servers, self.at = [httpx.URL(server) for server in servers], at

    def reach(self, request: httpx.Request) -> httpx.Response:
        server = self.servers[self.at % len(self.servers)]
        request.url = request.url.copy_with(host=server.host, port=server.port)
        request.headers["Host"] = request.url.netloc.decode()
        try:
            return super().reach(request)
        except httpx.TransportError:
            self.at += 1
            raise


def kind_of(method: str, path: str) -> str:
    asked = f"{method} {path}"
    return next((kind for kind, like in KINDS.items() if re.fullmatch(like, asked)), "other")


def percentiles(calls: list[Call]) -> dict[str, float]:
    """Milliseconds at the 50th and 99th percentile, and at most, of what was answered."""
    seconds = [call.seconds for call in calls if call.status]
    if len(seconds) < 2:
        return {}
    cuts = quantiles(seconds, n=100, method="inclusive")
    figures = {"p50_ms": cuts[49], "p99_ms": cuts[98], "max_ms": max(seconds)}
    return {name: round(1000 * value, 1) for name, value in figures.items()}


@dataclass
class Traffic:
    """People who work on one campaign until `over` is set.

    think: seconds over a grid in the mean; drafts: how often each is saved on the way
    arrival: seconds over which people come
    in_peace: at the end, everybody takes the usual time for the grid at hand
    reloads: share of the grids at which the page is loaded anew before the answer
    servers: web servers of which each person uses one, and another when it does not reply
    log: what was acknowledged; sent: leases for which an answer was sent, acknowledged or not
    """

    base_url: str
    link: str
    kind: str
    max_groups: int
    crowd: Crowd
    think: float
    arrival: float
    in_peace: bool = False
    drafts: int = 2
    reloads: float = 0.05
    seed: int = 0
    servers: list[str] = field(default_factory=list)
    recorder: Recorder = field(default_factory=Recorder)
    over: threading.Event = field(default_factory=threading.Event)
    log: list[Stored] = field(default_factory=list)
    sent: set[str] = field(default_factory=set)
    failed: list[BaseException] = field(default_factory=list)

    @contextmanager
    def going(self) -> Iterator[None]:
        """All at work; at the end each finishes the grid at hand. Fails if anybody's work did."""
        people = [
            threading.Thread(target=self._work, args=(number,))
            for number in range(self.crowd.n_annotators)
        ]
        for annotator in people:
            annotator.start()
        try:
            yield
        finally:
            self.over.set()
            for annotator in people:
                annotator.join()
        assert self.failed == []

    def _work(self, number: int) -> None:
        """With connections of their own: a pool that threads share loses one now and then."""
        calls = self.recorder.calls
        recorder = Several(self.servers, number, calls) if self.servers else Recorder(calls)
        try:
            with httpx.Client(base_url=self.base_url, timeout=60, transport=recorder) as http:
                _Worker(self, http, number).work()
        except BaseException as error:
            self.failed.append(error)


class _Worker(SimulatedAnnotator):
    tries = 90
    # As the page, which asks again when it was told to.
    patience = 60.0

    def __init__(self, traffic: Traffic, http: httpx.Client, number: int) -> None:
        self._traffic, self._number = traffic, number
        self._chance = Random(f"{traffic.seed}-{number}")
        # People do not come at the same moment.
        traffic.over.wait(self._chance.uniform(0, traffic.arrival))
        super().__init__(http, traffic.link, f"traffic-{traffic.seed:03d}-{number:06d}", [])

    def work(self) -> None:
        over = self._traffic.over
        while not over.is_set():
            lease = self.next_lease(over.is_set)
            if lease is None:
                return
            self._group(lease)

    def _group(self, lease: dict[str, Any]) -> None:
        traffic = self._traffic
        images = [shown["image"] for shown in lease["images"]]
        kind = get_kind(traffic.kind)
        answer = kind.simulate(traffic.crowd, self._number, images, traffic.max_groups)
        groups = [int(group) for group in answer.groups]
        seconds = self._chance.expovariate(1 / traffic.think)
        for version in range(1, traffic.drafts + 1):
            if self._pause(seconds / (traffic.drafts + 1)):
                break
            self._save(lease["id"], version, groups)
        self._pause(seconds / (traffic.drafts + 1))
        if self._chance.random() < traffic.reloads:
            self._open()
        traffic.sent.add(lease["id"])
        status = self.submit(lease, images, groups, answer.descriptions)
        traffic.log.append(
            Stored(self._number, lease["grid_id"], lease["id"], status, images, groups)
        )

    def _pause(self, seconds: float) -> bool:
        """Whether it is cut short, as the end has come."""
        if self._traffic.in_peace:
            time.sleep(seconds)
            return False
        return self._traffic.over.wait(seconds)

    def _save(self, lease: str, version: int, groups: list[int]) -> None:
        """As the page does: a draft that could not be saved is saved with the next."""
        path = f"/api/v1/annotate/leases/{lease}/draft"
        headers = {"Authorization": f"Bearer {self.token}"}
        try:
            self.http.put(path, json={"version": version, "groups": groups}, headers=headers)
        except httpx.TransportError:
            return
