"""Simulated annotators as HTTP clients, which only make requests that the annotators' page makes.

They know an image by its number only; `learning.simulation` decides how they group.
"""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx

from app.annotation.simulated import annotator_key, answer_key
from app.core.errors import InvalidInput
from app.kinds import get_kind
from learning.simulation import Crowd

MAX_TRIES = 8


class ServerRefused(InvalidInput):
    """The server refused a request; `code` is the server's error code."""


@dataclass(frozen=True)
class Stored:
    """One answer as its annotator recorded it."""

    annotator: int
    grid: str
    lease: str
    status: str
    images: list[int]
    groups: list[int]


@dataclass(frozen=True)
class Handout:
    """What a request for a next grid got ("leased", "wait", "done"), when, and how long it took."""

    status: str
    at: datetime
    seconds: float


@dataclass
class CrowdRun:
    """Lets a crowd answer one campaign; `log` has every answer that the server acknowledged."""

    base_url: str
    link: str
    kind: str
    max_groups: int
    crowd: Crowd
    seed: int
    pace: float = 0.0
    limit: int = 10**9
    log: list[Stored] = field(default_factory=list)
    handouts: list[Handout] = field(default_factory=list)
    seconds: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def play(self) -> None:
        """Run all annotators at once, until the campaign has no work for any of them."""
        started = time.monotonic()
        people = range(self.crowd.n_annotators)
        with ThreadPoolExecutor(max_workers=self.crowd.n_annotators) as pool:
            # Reading the results raises the error of an annotator here.
            for finished in [pool.submit(self._play_annotator, person) for person in people]:
                finished.result()
        self.seconds = time.monotonic() - started

    def _play_annotator(self, person: int) -> None:
        with httpx.Client(base_url=self.base_url, timeout=60) as http:
            key = annotator_key(self.seed, person)
            annotator = SimulatedAnnotator(http, self.link, key, self.handouts)
            while not self._enough():
                lease = annotator.next_lease(self._enough)
                if lease is None:
                    return
                time.sleep(self.pace)
                images = [shown["image"] for shown in lease["images"]]
                answer = get_kind(self.kind).simulate(self.crowd, person, images, self.max_groups)
                groups = [int(group) for group in answer.groups]
                status = annotator.submit(lease, images, groups, answer.descriptions)
                entry = Stored(person, lease["grid_id"], lease["id"], status, images, groups)
                with self._lock:
                    self.log.append(entry)

    def _enough(self) -> bool:
        return len(self.log) >= self.limit


class AnnotatorClient:
    """One annotator's requests to the server, from any channel."""

    tries = MAX_TRIES

    def __init__(self, http: httpx.Client) -> None:
        self.http, self.token, self.stage = http, "", ""

    def begin(self, path: str, body: dict[str, str]) -> dict[str, Any]:
        """Open a session and do all steps before the first grid."""
        opened = self._call("POST", path, json=body)
        self.token = opened["token"]
        self._prepare(opened["stage"])
        return opened

    def _prepare(self, stage: str) -> None:
        """Consent, read and practise, until the annotator can work or is screened out."""
        truth: dict[int, int] = {}
        while stage not in ("work", "screened_out"):
            if stage == "practice":
                shown = self._call("GET", "/api/v1/annotate/practice")
                images = [item["image"] for item in shown["images"]]
                groups = self.practise(images, truth)
                attempt = {"number": shown["number"], "tries": shown["tries"]}
                body = {"images": images, "groups": groups, **attempt}
                tried = self._call("POST", "/api/v1/annotate/practice", json=body)
                truth.update(zip(images, tried["truth"], strict=True))
                reply = tried["state"]
            else:
                reply = self._call("POST", "/api/v1/annotate/steps", json={"step": stage})
            stage = reply["stage"]
        self.stage = stage

    def practise(self, images: list[int], truth: dict[int, int]) -> list[int]:
        """The groups to submit for a practice grid.

        truth: groups that the feedback on earlier tries gave. After enough failures, practice ends.
        """
        return [0] * len(images)

    def submit(
        self, lease: dict[str, Any], images: list[int], groups: list[int], words: list[str]
    ) -> str:
        # Without a time: that of a simulated annotator would say how long people take.
        body = {"images": images, "groups": groups, "descriptions": words}
        path = f"/api/v1/annotate/leases/{lease['id']}/answer"
        headers = {"Idempotency-Key": answer_key(lease["id"])}
        return str(self._call("POST", path, json=body, headers=headers)["status"])

    def _call(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        """Make a request as `ask` does and return its JSON; raises ServerRefused."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        options["headers"] = headers | options.get("headers", {})
        response = self.ask(method, path, **options)
        if response.is_error:
            problem = response.json()
            raise ServerRefused(
                f"The server refused ({response.status_code}): {problem.get('detail', problem)}",
                code=problem.get("code"),
            )
        body: dict[str, Any] = response.json() if response.content else {}
        return body

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Make a request, and retry while the server cannot be reached or fails."""
        for attempt in range(self.tries):
            try:
                response = self.http.request(method, path, **options)
            except httpx.TransportError:
                if attempt == self.tries - 1:
                    raise
            else:
                if response.status_code < 500:
                    return response
                if attempt == self.tries - 1:
                    response.raise_for_status()
            time.sleep(min(0.2 * 2**attempt, 5.0))
        raise AssertionError("unreachable")


class SimulatedAnnotator(AnnotatorClient):
    """An annotator who uses a campaign's link and does as many assignments as there are.

    patience: maximum number of seconds before a waiting annotator asks again
    """

    patience = 1.0

    def __init__(self, http: httpx.Client, link: str, key: str, handouts: list[Handout]) -> None:
        super().__init__(http)
        self.link, self.key, self.handouts = link, key, handouts
        self.has_ended = False
        self._open()

    def _open(self) -> int:
        """Open the session and return the number of answers of its assignment."""
        body = {"link": self.link, "annotator_key": self.key}
        try:
            return int(self.begin("/api/v1/annotate/sessions", body)["answered"])
        except ServerRefused as refused:
            if refused.code != "study_over":
                raise
            # The campaign ended before this annotator began.
            self.has_ended = True
            return 0

    def next_lease(self, give_up: Any) -> dict[str, Any] | None:
        """The next lease, waiting for the next round if necessary; None if no work is left."""
        while not self.has_ended and not give_up():
            began, started = datetime.now(UTC), time.perf_counter()
            handout = self._call("POST", "/api/v1/annotate/leases")
            self.handouts.append(Handout(handout["status"], began, time.perf_counter() - started))
            if handout["status"] == "leased":
                lease: dict[str, Any] = handout["lease"]
                return lease
            if handout["status"] == "stopped":
                return None
            if handout["status"] == "warning":
                self._prepare("warning")
                continue
            if handout["status"] == "done":
                if handout["answered"] == 0:
                    return None
                if self._open() > 0:
                    # The server opened no new assignment, so the campaign has ended.
                    return None
                continue
            time.sleep(min(self.patience, handout["retry_after_seconds"]))
        return None
