"""Clients for the emulators' worker sites, which simulated workers use."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

import httpx


@dataclass(frozen=True)
class Offer:
    """A task in the list of tasks."""

    posting: str
    reward_cents: int


@dataclass(frozen=True)
class Place:
    """A place that a worker has taken. `address`: the annotators' page with the platform's ids."""

    worker: str
    posting: str
    assignment: str
    address: str
    reward_cents: int

    @property
    def link(self) -> str:
        """The part of the address that identifies the recruitment."""
        return urlsplit(self.address).path.rpartition("/")[2]

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters that the platform added to the address."""
        return {name: values[0] for name, values in parse_qs(urlsplit(self.address).query).items()}


class Market(Protocol):
    """One platform. A POST to `path` with the body from `entry` opens a worker's session."""

    path: str

    def offers(self, worker: str) -> list[Offer]:
        """The tasks that this worker can take now."""
        ...

    def preview(self, worker: str, offer: Offer) -> str:
        """The address of the task's preview; "" if there is none or the task is gone."""
        ...

    def accept(self, worker: str, offer: Offer) -> Place | None:
        """Take a place; None if another worker was faster."""
        ...

    def entry(self, place: Place) -> dict[str, str]: ...

    def give_back(self, place: Place) -> None: ...

    def submit(self, place: Place, how: Mapping[str, Any]) -> bool:
        """Submit once, as the server says in `how`; False means try again."""
        ...


class MTurkMarket:
    path = "/api/v1/annotate/sessions/mturk"

    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    def offers(self, worker: str) -> list[Offer]:
        hits = self._http.get("/market/hits", params={"worker": worker}).raise_for_status().json()
        return [Offer(hit["hit_id"], int(Decimal(hit["reward"]) * 100)) for hit in hits]

    def accept(self, worker: str, offer: Offer) -> Place | None:
        body = {"worker_id": worker}
        reply = self._http.post(f"/market/hits/{offer.posting}/accept", json=body)
        if reply.status_code in (403, 409, 410):
            return None
        held = reply.raise_for_status().json()
        return Place(
            worker, offer.posting, held["assignment_id"], held["frame_url"], offer.reward_cents
        )

    def preview(self, worker: str, offer: Offer) -> str:
        params = {"worker": worker}
        reply = self._http.get(f"/market/hits/{offer.posting}/preview", params=params)
        return str(reply.json()["frame_url"]) if reply.is_success else ""

    def entry(self, place: Place) -> dict[str, str]:
        parameters = place.parameters
        return {
            "link": place.link,
            "assignment_id": parameters["assignmentId"],
            "hit_id": parameters["hitId"],
            "worker_id": parameters["workerId"],
            "turk_submit_to": parameters["turkSubmitTo"],
        }

    def give_back(self, place: Place) -> None:
        body = {"worker_id": place.worker}
        path = f"/market/assignments/{place.assignment}/return"
        self._http.post(path, json=body).raise_for_status()

    def submit(self, place: Place, how: Mapping[str, Any]) -> bool:
        """MTurk knows its worker by a cookie; the emulator gets the worker's id instead."""
        form = {**how["fields"], "workerId": place.worker}
        return self._http.post(how["address"], data=form).is_success


class ProlificMarket:
    path = "/api/v1/annotate/sessions/prolific"

    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    def offers(self, worker: str) -> list[Offer]:
        params = {"participant": worker}
        studies = self._http.get("/market/studies", params=params).raise_for_status().json()
        return [Offer(study["id"], int(study["reward"])) for study in studies]

    def accept(self, worker: str, offer: Offer) -> Place | None:
        body = {"participant": worker}
        reply = self._http.post(f"/market/studies/{offer.posting}/take-part", json=body)
        if reply.is_client_error:
            return None
        held = reply.raise_for_status().json()
        return Place(worker, offer.posting, held["submission_id"], held["url"], offer.reward_cents)

    def preview(self, worker: str, offer: Offer) -> str:
        # Prolific has no preview of a study.
        return ""

    def entry(self, place: Place) -> dict[str, str]:
        parameters = place.parameters
        return {
            "link": place.link,
            "participant": parameters["PROLIFIC_PID"],
            "study": parameters["STUDY_ID"],
            "session": parameters["SESSION_ID"],
            "token": parameters.get("prolific_token", ""),
        }

    def give_back(self, place: Place) -> None:
        self._http.post(f"/market/submissions/{place.assignment}/return").raise_for_status()

    def submit(self, place: Place, how: Mapping[str, Any]) -> bool:
        [code] = parse_qs(urlsplit(how["address"]).query)["cc"]
        path = f"/market/submissions/{place.assignment}/complete"
        return self._http.post(path, json={"code": code}).is_success
