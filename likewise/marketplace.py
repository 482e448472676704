"""Simulated workers of a marketplace, who find a task, work on the annotators' page and submit.

They behave as people do: some return the task, abandon it, press everything twice, do extra grids
for a bonus, or come back although they are not allowed to. Each records what it did and earned, so
that the ledger can be compared with the workers' own records.
"""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Literal

import httpx

from app.kinds import get_kind
from learning.simulation import Crowd
from likewise.markets import Market, Offer, Place
from likewise.simulation import AnnotatorClient, ServerRefused

AGAIN_SECONDS = 1.0
End = Literal["handed_in", "screened_out", "returned", "abandoned", "refused", "lost"]


@dataclass(frozen=True)
class WorkerBehaviour:
    """The share of workers with each behaviour.

    returns:   return the task, every second one in the middle of the work
    abandons:  abandon the task in the middle of the work
    twice:     send every answer, the submission and the form twice
    extras:    do all the extra grids that are offered after the assignment
    greedy:    look for a second task after the first
    careless:  ignore the feedback on practice grids
    unheard:   share of those who leave whose browser does not report it
    """

    returns: float = 0.0
    abandons: float = 0.0
    twice: float = 0.0
    extras: float = 0.0
    greedy: float = 0.0
    careless: float = 0.0
    unheard: float = 0.5


@dataclass(frozen=True)
class WorkerProfile:
    """What one worker will do. `leaves_after`: number of grids before it leaves, if it does."""

    leaves: Literal["", "returned", "abandoned"] = ""
    leaves_after: int = 0
    twice: bool = False
    extras: bool = False
    greedy: bool = False
    careless: bool = False
    unheard: bool = False


@dataclass
class WorkSession:
    """What a worker did in one place: `grids` in total, `extra` of them for `extra_cents` each.

    code: the server's error code if it refused the worker
    """

    place: Place
    end: End = "lost"
    grids: int = 0
    extra: int = 0
    extra_cents: int = 0
    code: str = ""

    @property
    def earned_cents(self) -> tuple[int, int]:
        """The reward and the bonus in cents."""
        if self.end != "handed_in":
            return 0, 0
        return self.place.reward_cents, self.extra * self.extra_cents


class WalkedAway(Exception):
    """Raised when this worker leaves as planned, which is not an error."""


@dataclass
class MarketPlay:
    """Lets workers use one server and one platform; `log` has all they did.

    http: client for the server; links: the recruitments whose tasks are accepted, all if empty;
    at_once: number of workers at the same time; looks: how often a worker looks for a task;
    patience: how often a worker tries again while another still has the place; both once a second
    """

    market: Market
    http: httpx.Client
    crowd: Crowd
    max_groups: int
    kind: str = "grid"
    behaviour: WorkerBehaviour = field(default_factory=WorkerBehaviour)
    links: frozenset[str] = frozenset()
    seed: int = 0
    at_once: int = 40
    looks: int = 5
    patience: int = 90
    pace: float = 0.0
    log: list[WorkSession] = field(default_factory=list)
    _started: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def play(self, workers: Sequence[str]) -> None:
        """Run each worker once, until it has submitted, left or found no task."""
        first, self._started = self._started, self._started + len(workers)
        profiles = profiles_of(len(workers), self.behaviour, Random(self.seed + first))
        with ThreadPoolExecutor(max_workers=self.at_once) as pool:
            numbers = range(first, first + len(workers))
            for finished in [
                pool.submit(self._play_worker, worker, number % self.crowd.n_annotators, profile)
                for worker, number, profile in zip(workers, numbers, profiles, strict=True)
            ]:
                # Reading the result raises the error of a worker here.
                finished.result()

    def _play_worker(self, worker: str, person: int, profile: WorkerProfile) -> None:
        place = self._find(worker)
        for _ in range(self.looks - 1):
            if place is None:
                time.sleep(AGAIN_SECONDS)
                place = self._find(worker)
        if place is None:
            return
        work_session = WorkSession(place)
        with self._lock:
            self.log.append(work_session)
        _Worker(self, person, profile, work_session).work()
        if profile.greedy and work_session.end == "handed_in":
            self._play_worker(worker, person, replace(profile, greedy=False))

    def _find(self, worker: str) -> Place | None:
        """A place in a random available task; each task is tried once."""
        chance = Random(f"{self.seed}-{worker}")
        tried: set[str] = set()
        while offers := [
            offer for offer in self.market.offers(worker) if offer.posting not in tried
        ]:
            offer = chance.choice(offers)
            tried.add(offer.posting)
            self._look(worker, offer)
            place = self.market.accept(worker, offer)
            if place is not None and self.links and place.link not in self.links:
                self.market.give_back(place)
            elif place is not None:
                return place
        return None

    def _look(self, worker: str, offer: Offer) -> None:
        address = self.market.preview(worker, offer)
        if address:
            _Patient(self.http).ask("GET", address).raise_for_status()


def profiles_of(n: int, behaviour: WorkerBehaviour, chance: Random) -> list[WorkerProfile]:
    """The behaviour of n workers, with shares as exact as n allows, in random order."""
    n_returns, n_abandons = round(n * behaviour.returns), round(n * behaviour.abandons)
    profiles = [WorkerProfile(leaves="returned", leaves_after=k % 2) for k in range(n_returns)]
    profiles += [WorkerProfile(leaves="abandoned", leaves_after=1) for _ in range(n_abandons)]
    profiles += [WorkerProfile(careless=True) for _ in range(round(n * behaviour.careless))]
    profiles += [WorkerProfile() for _ in range(n - len(profiles))]

    def some(share: float) -> set[int]:
        return set(chance.sample(range(n), round(n * share)))

    twice, extras = some(behaviour.twice), some(behaviour.extras)
    greedy, unheard = some(behaviour.greedy), some(behaviour.unheard)
    chance.shuffle(profiles)
    return [
        replace(
            profile, twice=k in twice, extras=k in extras, greedy=k in greedy, unheard=k in unheard
        )
        for k, profile in enumerate(profiles)
    ]


class _Patient(AnnotatorClient):
    """A client that waits while the server restarts."""

    tries = 90


class _Worker(_Patient):
    """One worker in one place."""

    def __init__(
        self, play: MarketPlay, person: int, profile: WorkerProfile, work_session: WorkSession
    ) -> None:
        super().__init__(play.http)
        self._play, self._person = play, person
        self._profile, self._work_session = profile, work_session
        self._place, self._market = work_session.place, play.market

    def work(self) -> None:
        try:
            opened = self._enter()
            if self.stage == "screened_out":
                self._work_session.end = "screened_out"
                return self._send(opened["screened_out"])
            self._grids()
            self._work_session.extra = max(0, self._work_session.grids - opened["target"])
            self._submit_work(opened["hand_in"])
            self._work_session.end = "handed_in"
        except WalkedAway:
            self._leave()
        except ServerRefused as refused:
            # A person who is refused by the page returns the task.
            self._work_session.end, self._work_session.code = "refused", refused.code
            self._market.give_back(self._place)

    def _enter(self) -> dict[str, Any]:
        self.ask("GET", self._place.address).raise_for_status()
        body = self._market.entry(self._place)
        for _ in range(self._play.patience):
            try:
                return self.begin(self._market.path, body)
            except ServerRefused as refused:
                if refused.code != "assignment_taken":
                    raise
            time.sleep(AGAIN_SECONDS)
        return self.begin(self._market.path, body)

    def _grids(self) -> None:
        work_session = self._work_session
        while True:
            if self._profile.leaves and work_session.grids >= self._profile.leaves_after:
                raise WalkedAway
            handout = self._call("POST", "/api/v1/annotate/leases")
            if handout["status"] == "done" and self._profile.extras and handout["more"]:
                work_session.extra_cents = handout["more"]["cents"]
                handout = self._more(handout)
            if handout["status"] == "leased":
                self._answer(handout["lease"])
            elif handout["status"] == "warning":
                self._prepare("warning")
            elif handout["status"] in ("done", "stopped"):
                return
            else:
                time.sleep(min(1.0, handout["retry_after_seconds"]))

    def _more(self, handout: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._call("POST", "/api/v1/annotate/more")
        except ServerRefused as refused:
            # Others took the remaining grids in the meantime, so this worker is still done.
            if refused.code != "no_more":
                raise
            return {**handout, "more": None}

    def _answer(self, lease: dict[str, Any]) -> None:
        play = self._play
        time.sleep(play.pace)
        images = [shown["image"] for shown in lease["images"]]
        kind = get_kind(play.kind)
        answer = kind.simulate(play.crowd, self._person, images, play.max_groups)
        groups = [int(group) for group in answer.groups]
        self._twice(lambda: self.submit(lease, images, groups, answer.descriptions))
        self._work_session.grids += 1
        self._call("POST", "/api/v1/annotate/presence", json={"left": False})

    def _submit_work(self, how: dict[str, Any]) -> None:
        self._twice(lambda: self._call("POST", "/api/v1/annotate/hand-in"))
        self._send(how)

    def _send(self, how: dict[str, Any]) -> None:
        while not self._market.submit(self._place, how):
            time.sleep(AGAIN_SECONDS)
        if self._profile.twice:
            # The platform refuses the second submission, which must have no effect.
            self._market.submit(self._place, how)

    def practise(self, images: list[int], truth: dict[int, int]) -> list[int]:
        groups = {} if self._profile.careless else truth
        return [groups.get(image, 0) for image in images]

    def _leave(self) -> None:
        assert self._profile.leaves
        self._work_session.end = self._profile.leaves
        if self._profile.leaves == "returned":
            self._market.give_back(self._place)
        if not self._profile.unheard:
            self._call("POST", "/api/v1/annotate/presence", json={"left": True})

    def _twice(self, what: Callable[[], object]) -> None:
        what()
        if self._profile.twice:
            what()
