"""Simulated annotators as HTTP clients: they do what the annotators' page does, and no more.

What they see of an image is its number; how they group is `learning.simulation`.
"""

import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx
import numpy as np
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.collections.models import Collection, Image
from app.collections.service import list_images
from app.core.errors import InvalidInput
from learning.simulation import AttributeCrowd, Crowd, FeatureCrowd

FEATURES = "features"


@dataclass(frozen=True)
class CrowdTraits:
    """What the annotators of a simulated crowd are like; see AttributeCrowd.from_table.

    Of a crowd that groups by features only the first three count.
    """

    annotators: int = 8
    noise: float = 0.1
    seed: int = 0
    preference: float = 0.8
    coarse: float = 0.0
    careless: float = 0.0
    salience: float = 0.0


MAX_TRIES = 8


def load_crowd(session: Session, campaign: Campaign, by: list[str], traits: CrowdTraits) -> Crowd:
    """The crowd that groups a campaign's images by attributes, or by features (k-means).

    Raises InvalidInput when an image lacks what is asked for.
    """
    collection = session.get_one(Collection, campaign.collection_id)
    images = list_images(session, collection, 0, campaign.n_images or None)
    known = sorted({name for image in images for name in image.attributes})
    if not by:
        raise InvalidInput(
            f"Say by what to group: --by with one or more of {', '.join([*known, FEATURES])}."
        )
    if by == [FEATURES]:
        return FeatureCrowd(
            _features(images), traits.annotators, traits.noise, random_state=traits.seed
        )
    for name in by:
        missing = [image.filename for image in images if name not in image.attributes]
        if missing:
            raise InvalidInput(
                f"{len(missing)} of {len(images)} images have no attribute {name!r} "
                f"({missing[0]} for one). Attributes: {', '.join(known) or 'none'}."
            )
    columns = {name: [str(image.attributes[name]) for image in images] for name in by}
    return AttributeCrowd.from_table(
        columns,
        traits.annotators,
        noise=traits.noise,
        preference=traits.preference,
        coarse=traits.coarse,
        careless=traits.careless,
        salience=traits.salience,
        random_state=traits.seed,
    )


def _features(images: list[Image]) -> np.ndarray[Any, np.dtype[np.float64]]:
    missing = [image.filename for image in images if not image.features]
    if missing:
        raise InvalidInput(
            f"{len(missing)} of {len(images)} images have no features ({missing[0]} for one)."
        )
    return np.array([image.features for image in images], dtype=np.float64)


@dataclass(frozen=True)
class Stored:
    """One answer as its annotator remembers it."""

    annotator: int
    grid: str
    lease: str
    status: str
    images: list[int]
    groups: list[int]


@dataclass(frozen=True)
class Handout:
    """What one request for the next grid got ("leased", "wait", "done"), when, and how fast."""

    status: str
    at: datetime
    seconds: float


@dataclass
class CrowdRun:
    """Plays a crowd against one campaign; `log` holds every answer the server acknowledged."""

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
        """All annotators at once, until the campaign has no work for any of them."""
        started = time.monotonic()
        people = range(self.crowd.n_annotators)
        with ThreadPoolExecutor(max_workers=self.crowd.n_annotators) as pool:
            # Results are read so that a failure of any annotator is raised here.
            for finished in [pool.submit(self._play_one, person) for person in people]:
                finished.result()
        self.seconds = time.monotonic() - started

    def _play_one(self, person: int) -> None:
        with httpx.Client(base_url=self.base_url, timeout=60) as http:
            key = f"simulated-{self.seed}-{person:05d}"
            annotator = SimulatedAnnotator(http, self.link, key, self.handouts)
            while not self._enough():
                lease = annotator.next_lease(self._enough)
                if lease is None:
                    return
                time.sleep(self.pace)
                images = [shown["image"] for shown in lease["images"]]
                answer = self.crowd.answer(
                    person, images, self.kind, self.max_groups if self.kind == "bins" else None
                )
                groups = [int(group) for group in answer.groups]
                status = annotator.submit(lease, images, groups, answer.descriptions)
                entry = Stored(person, lease["grid_id"], lease["id"], status, images, groups)
                with self._lock:
                    self.log.append(entry)

    def _enough(self) -> bool:
        return len(self.log) >= self.limit


class SimulatedAnnotator:
    """One annotator's conversation with the server."""

    def __init__(self, http: httpx.Client, link: str, key: str, handouts: list[Handout]) -> None:
        self.http, self.link, self.key, self.handouts = http, link, key, handouts
        self._open()

    def _open(self) -> dict[str, Any]:
        body = {"link": self.link, "annotator_key": self.key}
        opened = self._call("POST", "/api/annotate/sessions", json=body)
        self.http.headers["Authorization"] = f"Bearer {opened['token']}"
        self._prepare(opened["stage"])
        return opened

    def _prepare(self, stage: str) -> None:
        """Agree, read, and get through practice by failing it often enough."""
        while stage != "work":
            if stage == "practice":
                images = [
                    shown["image"]
                    for shown in self._call("GET", "/api/annotate/practice")["images"]
                ]
                body = {"images": images, "groups": [0] * len(images)}
                reply = self._call("POST", "/api/annotate/practice", json=body)["state"]
            else:
                reply = self._call("POST", "/api/annotate/steps", json={"step": stage})
            stage = reply["stage"]

    def next_lease(self, give_up: Any) -> dict[str, Any] | None:
        """The next lease, waiting for the next round if need be; None when all work is done."""
        while not give_up():
            began, started = datetime.now(UTC), time.perf_counter()
            handout = self._call("POST", "/api/annotate/leases")
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
                if self._open()["answered"] > 0:
                    # No new assignment was opened: the campaign has ended.
                    return None
                continue
            time.sleep(min(1.0, handout["retry_after_seconds"]))
        return None

    def submit(
        self, lease: dict[str, Any], images: list[int], groups: list[int], words: list[str]
    ) -> str:
        body = {"images": images, "groups": groups, "descriptions": words, "elapsed_ms": 1000}
        path = f"/api/annotate/leases/{lease['id']}/answer"
        # One key per lease, so that a retry after a lost reply stores nothing twice.
        headers = {"Idempotency-Key": str(uuid.uuid5(uuid.NAMESPACE_URL, lease["id"]))}
        return str(self._call("POST", path, json=body, headers=headers)["status"])

    def _call(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        """One request, retried while the server cannot be reached or is in trouble."""
        for attempt in range(MAX_TRIES):
            try:
                response = self.http.request(method, path, **options)
            except httpx.TransportError:
                if attempt == MAX_TRIES - 1:
                    raise
            else:
                if response.status_code < 500:
                    return self._checked(response)
                if attempt == MAX_TRIES - 1:
                    response.raise_for_status()
            time.sleep(min(0.2 * 2**attempt, 5.0))
        raise AssertionError("unreachable")

    @staticmethod
    def _checked(response: httpx.Response) -> dict[str, Any]:
        if response.is_error:
            detail = response.json().get("detail", response.text)
            raise InvalidInput(f"The server refused ({response.status_code}): {detail}")
        body: dict[str, Any] = response.json()
        return body
