"""What all of the API shares: pages, problems, the OpenAPI document, neighbours as a service."""

import hashlib
import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.collections import service as collections
from app.collections.models import Collection, Image
from app.core.database import transaction
from app.jobs.models import Job
from app.results.models import EmbeddedImage, Model
from testbed.builders import a_campaign, a_png, a_webhook, an_account, an_api_token
from tests.app.test_annotation import a_lease, a_session, submit

PROBLEM = "application/problem+json"


@pytest.fixture
def owner(client: TestClient) -> Account:
    """Calls come with this account's token."""
    account = an_account()
    client.headers["Authorization"] = f"Bearer {an_api_token(account)}"
    return account


def walk(client: TestClient, address: str, limit: int) -> Iterator[dict[str, Any]]:
    """The pages of a list, by the Link header."""
    separator = "&" if "?" in address else "?"
    following: str | None = f"{address}{separator}limit={limit}"
    while following is not None:
        reply = client.get(following)
        assert reply.status_code == 200, reply.text
        page = reply.json()
        yield page
        following = reply.links["next"]["url"] if page["next"] else None
        assert (page["next"] is None) == ("link" not in reply.headers)


def items(client: TestClient, address: str, limit: int = 2) -> list[dict[str, Any]]:
    pages = list(walk(client, address, limit))
    assert all(len(page["items"]) == limit for page in pages[:-1])
    return [item for page in pages for item in page["items"]]


# --- pages -----------------------------------------------------------------------------------


def test_every_list_comes_in_pages(client: TestClient, owner: Account) -> None:
    campaign = a_campaign(owner, budget=20)
    base = f"/api/v1/campaigns/{campaign.id}"
    grids = []
    for number in range(3):
        who = a_session(client, campaign, f"annotator-{number:06d}")
        lease = a_lease(client, who)
        assert submit(client, who, lease).status_code == 200
        grids.append([shown["image"] for shown in lease["images"]])
        body = {"kind": "comment", "text": str(number)}
        client.post("/api/v1/annotate/remarks", json=body, headers=who)
    for email in ("b@example.org", "a@example.org", "c@example.org"):
        an_account(email)
        client.put(f"{base}/shares", json={"email": email, "access": "view"})
    answers = items(client, f"{base}/answers")
    assert [sorted(answer["images"]) for answer in answers] == [sorted(images) for images in grids]
    newest = items(client, f"{base}/answers?order=newest")
    assert [answer["id"] for answer in newest] == [answer["id"] for answer in reversed(answers)]
    assert [answer["annotator"] for answer in items(client, f"{base}/answers?annotator=1")] == [1]
    assert len(items(client, f"{base}/answers?round=1&role=ask")) == 3
    assert items(client, f"{base}/answers?role=gold") == []
    assert [annotator["annotator"] for annotator in items(client, f"{base}/annotators")] == [
        0,
        1,
        2,
    ]
    assert [remark["text"] for remark in items(client, f"{base}/remarks")] == ["2", "1", "0"]
    shared = [share["email"][0] for share in items(client, f"{base}/shares")]
    assert shared == ["a", "b", "c"]
    images = items(client, f"/api/v1/collections/{campaign.collection_id}/images", 7)
    assert [image["position"] for image in images] == list(range(30))
    assert images[3]["sha256"] == hashlib.sha256(a_png(3)).hexdigest()


def test_a_list_that_grows_and_shrinks_repeats_and_hides_nothing(
    client: TestClient, owner: Account
) -> None:
    created = [a_named_collection(owner, f"{number}") for number in range(5)]
    pages = walk(client, "/api/v1/collections", 2)
    assert names(next(pages)) == ["4", "3"]
    a_named_collection(owner, "new")
    with transaction() as session:
        # The row that the cursor stands on, and one that was not shown yet.
        session.delete(session.get_one(Collection, created[3].id))
        session.delete(session.get_one(Collection, created[2].id))
    assert [names(page) for page in pages] == [["1", "0"]]
    assert len(items(client, "/api/v1/collections")) == 4


def a_named_collection(owner: Account, name: str) -> Collection:
    with transaction() as session:
        return collections.create_collection(session, owner, name)


def names(page: dict[str, Any]) -> list[str]:
    return [item["name"] for item in page["items"]]


def test_a_cursor_of_elsewhere_or_a_bad_limit_is_refused(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(owner)
    images = f"/api/v1/collections/{campaign.collection_id}/images"
    cursor = client.get(f"{images}?limit=1").json()["next"]
    assert client.get(f"{images}?after={cursor}").status_code == 200
    for address in (
        f"{images}?after=x",
        f"{images}?after={cursor}x",
        f"/api/v1/collections?after={cursor}",
        f"/api/v1/campaigns/{campaign.id}/annotators?after={cursor}",
    ):
        refused = client.get(address)
        assert (refused.status_code, refused.json()["code"]) == (422, "bad_cursor"), address
    for limit in ("0", "1001", "x"):
        refused = client.get(f"{images}?limit={limit}")
        assert refused.json()["errors"][0]["where"] == "query.limit"


# --- neighbours as a service -----------------------------------------------------------------


def a_published_model(campaign: Campaign, version: int, points: np.ndarray[Any, Any]) -> None:
    with transaction() as session:
        job = Job(campaign_id=campaign.id, kind="learn", state="done")
        session.add(job)
        session.flush()
        model = Model(
            campaign_id=campaign.id, job_id=job.id, version=version, round_number=1,
            strategy="cen", settings={}, metrics={}, n_answers=1, artifact_key="x",
        )  # fmt: skip
        session.add(model)
        session.flush()
        for position, point in enumerate(points):
            session.add(EmbeddedImage(model_id=model.id, position=position, vector=point, x=0, y=0))


def test_neighbours_are_found_by_position_hash_and_file_name(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(owner)
    base = f"/api/v1/campaigns/{campaign.id}/neighbours"
    assert client.get(f"{base}?image=7").status_code == 404
    rng = np.random.default_rng(0)
    older, newer = rng.normal(size=(2, 30, 4))
    a_published_model(campaign, 1, older)
    a_published_model(campaign, 2, newer)
    sha256 = hashlib.sha256(a_png(7)).hexdigest()
    for query in ("image=7", f"sha256={sha256.upper()}", "filename=image-007.png"):
        payload = client.get(f"{base}?{query}&k=5").json()
        distances = np.linalg.norm(newer - newer[7], axis=1)
        expected = np.argsort(distances)[1:6]
        assert (payload["image"], payload["version"]) == (7, 2)
        assert [near["image"] for near in payload["neighbours"]] == expected.tolist()
        np.testing.assert_allclose(
            [near["distance"] for near in payload["neighbours"]], distances[expected], rtol=1e-5
        )
    payload = client.get(f"{base}?image=7&k=1&version=1").json()
    assert (
        payload["neighbours"][0]["image"] == np.argsort(np.linalg.norm(older - older[7], axis=1))[1]
    )


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("", 422, "name_one_image"),
        ("image=1&filename=x", 422, "name_one_image"),
        ("image=30", 422, "unknown_image"),
        ("filename=nowhere.png", 404, "unknown_image"),
        ("filename=image-001.png", 422, "ambiguous_filename"),
        ("sha256=" + "0" * 64, 404, "unknown_image"),
        ("sha256=xyz", 422, "invalid_request"),
        ("image=1&version=9", 404, "not_found"),
        ("image=1&k=0", 422, "invalid_request"),
    ],
)
def test_what_names_no_image_is_told_so(
    client: TestClient, owner: Account, query: str, status: int, code: str
) -> None:
    campaign = a_campaign(owner)
    a_published_model(campaign, 1, np.zeros((30, 2)))
    with transaction() as session:
        session.execute(update(Image).where(Image.position == 2).values(filename="image-001.png"))
    refused = client.get(f"/api/v1/campaigns/{campaign.id}/neighbours?{query}")
    assert (refused.status_code, refused.json()["code"]) == (status, code)


# --- problems and the document ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/v1/nothing", 404, "not_found"),
        ("GET", "/api/v2/campaigns", 404, "not_found"),
        ("DELETE", "/api/v1/campaigns", 405, "method_not_allowed"),
        ("GET", "/api/v1/campaigns/x", 422, "invalid_request"),
        ("GET", f"/api/v1/campaigns/{uuid.UUID(int=0)}", 404, "not_found"),
    ],
)
@pytest.mark.usefixtures("owner")
def test_every_error_is_a_problem(
    client: TestClient, method: str, path: str, status: int, code: str
) -> None:
    reply = client.request(method, path, headers={"Accept": "text/html"})
    assert (reply.status_code, reply.json()["code"]) == (status, code)
    assert reply.headers["content-type"] == PROBLEM
    assert reply.headers["likewise-version"]
    assert reply.json()["status"] == status
    assert reply.json()["detail"]
    if status == 405:
        assert set(reply.headers["allow"].split(", ")) == {"GET", "POST"}


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        # A neighbour has the campaign's id in the place of this name, and takes others.
        ("/api/v1/campaigns/import", {"POST"}),
        (f"/api/v1/campaigns/{uuid.UUID(int=0)}", {"GET", "PATCH", "DELETE"}),
    ],
)
def test_an_address_tells_its_own_methods(client: TestClient, path: str, methods: set[str]) -> None:
    reply = client.options(path)
    assert reply.status_code == 405
    assert set(reply.headers["allow"].split(", ")) == methods


@pytest.mark.parametrize("enabled", [0, 1, "true", "no"])
def test_yes_and_no_are_true_and_false(client: TestClient, owner: Account, enabled: object) -> None:
    address = f"/api/v1/webhooks/{a_webhook(owner).id}"
    reply = client.patch(address, json={"enabled": enabled})
    assert reply.status_code == 422
    assert [error["where"] for error in reply.json()["errors"]] == ["body.enabled"]
    assert client.get(address).json()["enabled"] is True


@pytest.mark.usefixtures("owner")
def test_a_body_that_does_not_fit_names_its_fields(client: TestClient) -> None:
    reply = client.post("/api/v1/campaigns", json={"budget": "many"})
    assert reply.status_code == 422
    where = {error["where"] for error in reply.json()["errors"]}
    assert where == {"body.name", "body.collection_id", "body.budget"}
    broken = client.post(
        "/api/v1/campaigns", content=b"{", headers={"Content-Type": "application/json"}
    )
    assert (broken.status_code, broken.json()["code"]) == (422, "invalid_request")


def document(client: TestClient) -> dict[str, Any]:
    schema: dict[str, Any] = client.get("/api/v1/openapi.json").json()
    return schema


def operations(client: TestClient) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document(client)["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def test_the_document_is_complete(client: TestClient) -> None:
    ids = []
    for path, method, operation in operations(client):
        name = f"{method} {path}"
        assert path.startswith("/api/v1/"), name
        assert operation["tags"], name
        assert operation.get("description"), f"{name} has no docstring"
        ids.append(operation["operationId"])
        for code, reply in operation["responses"].items():
            if code.startswith("4"):
                assert list(reply["content"]) == [PROBLEM], name
        if not path.startswith("/api/v1/annotate/sessions"):
            assert operation["security"], name
            assert "401" in operation["responses"], name
    assert len(ids) == len(set(ids)), "operation ids are names of route functions, each once"
    shared = document(client)["components"]
    assert set(shared["securitySchemes"]) == {"token", "cookie", "annotator"}
    assert "HTTPValidationError" not in shared["schemas"]
    assert set(document(client)["webhooks"]) == {
        "round.finished", "campaign.finished", "job.failed", "ping",
    }  # fmt: skip


def test_every_post_of_requesters_takes_an_idempotency_key(client: TestClient) -> None:
    """Routers of the API are made with `api_router`."""
    for path, method, operation in operations(client):
        if method == "post" and not path.startswith("/api/v1/annotate"):
            taken = {parameter["name"].lower() for parameter in operation.get("parameters", [])}
            assert "idempotency-key" in taken, path


def test_every_list_of_the_document_is_a_page(client: TestClient) -> None:
    for path, method, operation in operations(client):
        reply = operation["responses"].get("200", {}).get("content", {})
        schema = reply.get("application/json", {}).get("schema", {})
        assert schema.get("type") != "array", f"{method} {path} answers a bare list"
