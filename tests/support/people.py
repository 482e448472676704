"""Annotators of a running web server, one call at a time, with every reply as it came."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx

from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign
from likewise.simulation import SimulatedAnnotator

Given = TypeVar("Given")
Got = TypeVar("Got")


@dataclass(frozen=True)
class Person:
    """One annotator at work; nothing is tried again unless the test does."""

    http: httpx.Client
    token: str

    def post(self, path: str, body: object = None, **headers: str) -> httpx.Response:
        sent = {"Authorization": f"Bearer {self.token}", **headers}
        return self.http.post(f"/api/v1/annotate{path}", json=body, headers=sent)

    def claim(self) -> dict[str, Any]:
        """The reply to asking for the next grid."""
        handout: dict[str, Any] = self.post("/leases").raise_for_status().json()
        return handout

    def lease(self) -> dict[str, Any]:
        """The next grid; fails where there is none."""
        handout = self.claim()
        assert handout["status"] == "leased", handout
        lease: dict[str, Any] = handout["lease"]
        return lease

    def submit(self, lease: dict[str, Any], key: str = "", **changes: object) -> httpx.Response:
        """A grouping that can be told from others of the same grid by `groups`."""
        body = {**a_grouping(lease), **changes}
        headers = {"Idempotency-Key": key or f"answer-{lease['id']}"}
        return self.post(f"/leases/{lease['id']}/answer", body, **headers)


def a_grouping(lease: dict[str, Any]) -> dict[str, Any]:
    images = [shown["image"] for shown in lease["images"]]
    return {"images": images, "groups": [k % 2 for k in range(len(images))]}


def a_person(http: httpx.Client, campaign: Campaign, key: str) -> Person:
    """Somebody who has come by the campaign's link and is ready for the first grid."""
    link = annotator_link(campaign, "").removeprefix("/a/")
    return Person(http, SimulatedAnnotator(http, link, key, []).token)


def at_once(n: int, act: Callable[[Given], Got], given: Sequence[Given]) -> list[Got]:
    """`act` on each of what is given, by `n` threads that begin at the same moment."""
    begin = threading.Barrier(n)
    shares = [given[k::n] for k in range(n)]

    def work(share: Sequence[Given]) -> list[Got]:
        begin.wait()
        return [act(item) for item in share]

    with ThreadPoolExecutor(n) as pool:
        return [got for done in pool.map(work, shares) for got in done]
