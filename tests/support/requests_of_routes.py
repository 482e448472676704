"""Bodies and queries that routes take, so that what refuses a request is not its form."""

import uuid
from collections.abc import Mapping
from typing import Any


def body_of(path: str, ids: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a request to a route that sends data, for any method; none otherwise."""
    if path.endswith(("/files", "/known-answers")):
        name = "files" if path.endswith("/files") else "file"
        return {"files": {name: ("a.csv", b"a,b")}}
    if path.endswith("/image-places"):
        return {"files": {"files": ("a.png", b"a")}}
    if path.endswith("/feature-sets"):
        return {"files": {"file": ("a.csv", b"a,b")}, "data": {"name": "x"}}
    body = next((document for name, document in _bodies(ids).items() if path.endswith(name)), None)
    return {} if body is None else {"json": body}


def query_of(path: str) -> str:
    """What an address must end in."""
    needed = {
        "/neighbours": "?image=0",
        "/evidence": "?image=0&other=1",
        "/group-comparison": "?by=link&group=x",
        "/comparison": "?other_version=1",
        "/differences": "?answer=x",
        "/collections/{collection_id}": "?name=Collection",
    }
    return next((query for end, query in needed.items() if path.endswith(end)), "")


def _bodies(ids: Mapping[str, Any]) -> dict[str, Any]:
    planned = {
        "channel": "mturk",
        "channel_account_id": str(ids["channel_account_id"]),
        "places": 1,
    }
    bonus, request = {"amount_cents": 1, "reason": "x"}, str(uuid.uuid4())
    sha256 = {"sha256": [ids["sha256"]]}
    return {
        "/read-only-links": {"note": "x"},
        "/people/forget": {},
        "/simulated-crowd": {"by": ["colour"]},
        "focus": {"attribute": None},
        "asked-images": {"images": [0]},
        "annotation": {"thanks": "x"},
        "/clusterings": {"n_clusters": 3},
        "/clusterings/selection": {"images": [0]},
        "/attributes/merge": {"attributes": [0, 1]},
        "/merge": {"clusters": [0, 1]},
        "{clustering_id}": {"name": "x"},
        "shares": {"email": "ada@example.org", "access": "view"},
        "{campaign_id}": {"name": "x"},
        "/secret": {"secret": {}},
        "/recruitments": planned,
        "/recruiting/estimate": {"channel": "mturk", "places": 1},
        "{recruitment_id}": planned,
        "/more": {"places": 1},
        "/limit": {"spend_limit_cents": 1},
        "/selected/check": {"annotators": [0], "action": "approve"},
        "/selected/approve": {"annotators": [0], "most_cents": 0},
        "/selected/bonus": {**bonus, "annotators": [0], "most_cents": 1, "request": request},
        "/selected/message": {"annotators": [0], "text": "x", "request": request},
        "/approve": {},
        "/reject": {"reason": "x"},
        "/dismiss": {},
        "/bonus": bonus,
        "/compensate": bonus,
        "{decision}": {},
        "/estimate": {"channel": "mturk", "places": 1},
        "/links": {},
        "{link_id}": {},
        "/invitations": {"people": "Ada"},
        "/owed/paid": {"payment_ids": [str(ids.get("payment_id", uuid.uuid4()))]},
        "dry-runs": {},
        "{webhook_id}": {"enabled": False},
        "selection.csv": {"images": [0]},
        "/files/known": {"sha256": []},
        "/alignments": {"features": ["clip"]},
        "/places": {"vectors": [[0.0]]},
        "/feature-sets/compute": {"source": "appearance"},
        "{set_id}": {"name": "x"},
        "{index}/name": {"name": "x"},
        "/images/copy": {**sha256, "name": "x"},
        "/images/dependents": sha256,
        "/images/delete": sha256,
        "/collections/{collection_id}": {"name": "Mine"},
    }
