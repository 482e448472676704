"""Images and whole collections are deleted: positions stay dense, what depends on them is named,
and no object is left behind."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select

from app.accounts.models import Account, AuditEvent
from app.annotation.models import Answer
from app.campaigns.models import Campaign
from app.campaigns.service import add_known_list, create_campaign, finish_campaign
from app.collections.deletion import Selection, delete_images
from app.collections.garbage import keep_objects, remove_discarded, request_removal
from app.collections.models import Collection, Discard, Image
from app.collections.service import add_files, image_key
from app.core.database import transaction
from app.core.outbox import OutboxMessage
from app.core.storage import has_object, list_objects, put_object
from app.tables import metadata
from testbed.builders import a_campaign, a_collection, a_png
from tests.app.test_annotation import a_lease, a_session, submit
from tests.app.test_collections import upload
from tests.app.test_insight import a_campaign_with_model
from tests.support.images import hashes_of, is_dense, rows_of


def sweep() -> None:
    with transaction() as session:
        remove_discarded(session)


# --- deleting images -------------------------------------------------------------------------


def test_positions_close_up_and_objects_go_after_the_commit(
    client: TestClient, owner: Account
) -> None:
    collection = a_collection(owner, 6)
    gone = hashes_of(collection.id, 0, 3)
    key = image_key(collection.id, gone[0], "thumb")
    reply = client.post(f"/api/v1/collections/{collection.id}/images/delete", json={"sha256": gone})
    assert reply.json() == {"deleted": 2, "n_images": 4}
    assert [name for _, name in rows_of(collection.id)] == [
        f"image-{k:03d}.png" for k in (1, 2, 4, 5)
    ]
    assert is_dense(collection.id)
    assert has_object(key)
    sweep()
    assert not has_object(key)
    assert has_object(image_key(collection.id, hashes_of(collection.id, 0)[0], "large"))
    with transaction() as session:
        assert session.scalar(select(func.count()).select_from(Discard)) == 0
        events = session.scalars(select(AuditEvent.action)).all()
        assert events.count("collection.images_deleted") == 1


def test_an_image_that_came_back_keeps_its_objects(client: TestClient, owner: Account) -> None:
    collection = a_collection(owner, 3)
    [gone] = hashes_of(collection.id, 1)
    key = image_key(collection.id, gone, "thumb")
    path = f"/api/v1/collections/{collection.id}/images/delete"
    assert client.post(path, json={"sha256": [gone]}).status_code == 200
    with transaction() as uploading:
        # Objects are written; the row is not committed yet.
        keep_objects(uploading, collection.id)
        sweep()
        assert has_object(key)
    upload(client, str(collection.id), ("back.png", a_png(1)))
    sweep()
    assert has_object(key)
    assert rows_of(collection.id)[-1] == (2, "back.png")


def test_a_lost_message_leaves_no_objects_behind(
    client: TestClient, owner: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = a_collection(owner, 2)
    path = f"/api/v1/collections/{collection.id}/images/delete"
    client.post(path, json={"sha256": hashes_of(collection.id, 0)})
    with transaction() as session:
        session.query(OutboxMessage).delete()
        request_removal(session)
        assert session.query(OutboxMessage).count() == 0
    with transaction() as session:
        session.query(Discard).update({"created_at": func.now() - func.make_interval(0, 0, 1)})
        request_removal(session)
        request_removal(session)
        assert [message.task for message in session.query(OutboxMessage)] == [
            "likewise.remove_discarded"
        ]


def test_images_of_a_started_campaign_stay_and_the_campaign_is_named(
    client: TestClient, owner: Account
) -> None:
    collection = a_collection(owner, 10)
    a_campaign(owner, collection, name="First look")
    upload(client, str(collection.id), *((f"new-{k}.png", a_png(100 + k)) for k in range(4)))
    root = f"/api/v1/collections/{collection.id}/images"
    body = {"sha256": hashes_of(collection.id, 2, 10, 12)}
    use = client.post(f"{root}/dependents", json=body).json()
    assert (use["n_chosen"], use["n_in_use"]) == (3, 1)
    assert "1 of the 3 chosen images cannot be deleted" in use["sentence"]
    refused = client.post(f"{root}/delete", json=body)
    assert (refused.status_code, refused.json()["code"]) == (409, "images_in_use")
    assert "“First look”, running" in refused.json()["detail"]
    assert len(rows_of(collection.id)) == 14
    reply = client.post(f"{root}/delete", json={**body, "unused_only": True})
    assert reply.json()["deleted"] == 2
    assert is_dense(collection.id)
    assert [name for _, name in rows_of(collection.id)][10:] == ["new-1.png", "new-3.png"]


def test_a_draft_with_known_answers_keeps_the_images_they_name(
    client: TestClient, owner: Account
) -> None:
    from app.campaigns.plan import CampaignPlan

    collection = a_collection(owner, 8)
    names = "".join(f"1,image-{k:03d}.png,{k % 2}\n" for k in range(4))
    with transaction() as session:
        plan = CampaignPlan(
            name="Draft", collection_id=collection.id, grid_size=4, budget=4, rounds=1
        )
        draft = create_campaign(session, owner, plan)
        add_known_list(session, owner, draft.id, f"grid,filename,group\n{names}".encode())
    path = f"/api/v1/collections/{collection.id}/images/delete"
    assert client.post(path, json={"sha256": hashes_of(collection.id, 3)}).status_code == 409
    assert client.post(path, json={"sha256": hashes_of(collection.id, 4)}).status_code == 200


def test_all_of_a_search_are_deleted_unless_it_finds_others_by_then(
    client: TestClient, owner: Account
) -> None:
    collection = a_collection(owner, 9)
    path = f"/api/v1/collections/{collection.id}/images/delete"
    body = {"filter": {"attribute": ["colour:red"]}, "expected": 2}
    assert client.post(path, json=body).json()["code"] == "selection_changed"
    assert client.post(path, json={**body, "expected": 3}).json() == {"deleted": 3, "n_images": 6}
    assert is_dense(collection.id)
    refused: list[dict[str, Any]] = [
        {},
        {"filter": {}},
        {"sha256": ["a"], "filter": {}, "expected": 1},
    ]
    for bad in refused:
        assert client.post(path, json=bad).status_code == 422


def test_two_uploads_and_a_deletion_at_once_leave_dense_positions(owner: Account) -> None:
    collection = a_collection(owner, 20)
    gone = hashes_of(collection.id, *range(0, 20, 2))

    def adding(first: int) -> None:
        for k in range(first, first + 12, 3):
            with transaction() as session:
                files = [(f"new-{k + i}.png", a_png(1000 + k + i)) for i in range(3)]
                add_files(session, owner, session.get_one(Collection, collection.id), files)

    def deleting() -> None:
        for sha256 in gone:
            with transaction() as session:
                own = session.get_one(Collection, collection.id)
                assert delete_images(session, owner, own, Selection([sha256])) == 1
            sweep()

    # The two uploads share half of their images.
    at_once(lambda: adding(0), lambda: adding(6), deleting)
    assert is_dense(collection.id)
    rows = rows_of(collection.id)
    assert len(rows) == 10 + 18
    assert len({name for _, name in rows}) == 28
    with transaction() as session:
        query = select(Image.sha256).where(Image.collection_id == collection.id)
        for sha256 in session.scalars(query):
            assert has_object(image_key(collection.id, sha256, "thumb"))
    sweep()
    assert not any(has_object(image_key(collection.id, sha256, "thumb")) for sha256 in gone)


def at_once(*acts: Callable[[], None]) -> None:
    """Run them in threads; the first error is raised."""
    errors: list[BaseException] = []

    def guarded(act: Callable[[], None]) -> None:
        try:
            act()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


# --- deleting a collection -------------------------------------------------------------------


def test_a_collection_goes_with_all_that_depends_on_it(client: TestClient, owner: Account) -> None:
    kept = a_collection(owner, 6)
    other = a_campaign(owner, kept, grid_size=4)
    collection = a_collection(owner, 8)
    campaign = a_campaign(owner, collection, budget=2, name="Gone soon", grid_size=4)
    for key in ("annotator-000001", "annotator-000002"):
        who = a_session(client, campaign, key)
        assert submit(client, who, a_lease(client, who)).status_code == 200
    root = f"/api/v1/collections/{collection.id}"
    name = {"name": collection.name}

    refused = client.delete(root, params=name)
    assert (refused.status_code, refused.json()["code"]) == (409, "collection_in_use")
    with transaction() as session:
        if session.get_one(Campaign, campaign.id).state != "finished":
            finish_campaign(session, owner, campaign.id)
    assert "being trained" in client.get(f"{root}/dependents").json()["refusal"]
    with transaction() as session:
        session.execute(metadata.tables["job"].update().values(state="done"))

    dependents = client.get(f"{root}/dependents").json()
    assert dependents["refusal"] is None
    assert dependents["sentence"] == (
        "This also deletes 8 images and 1 campaign (“Gone soon”, finished) with 2 answers of "
        "2 annotators and 0 models. This cannot be undone."
    )
    assert client.delete(root, params={"name": "Something"}).json()["code"] == "name_differs"
    key = image_key(collection.id, hashes_of(collection.id, 0)[0], "large")
    assert client.delete(root, params=name).status_code == 204
    assert client.get(root).status_code == 404
    sweep()
    assert not has_object(key)
    with transaction() as session:
        assert [row.id for row in session.scalars(select(Campaign))] == [other.id]
        assert session.scalars(select(Answer)).all() == []
        assert session.scalar(select(func.count()).select_from(Image)) == 6
        [event] = session.scalars(
            select(AuditEvent).where(AuditEvent.action == "collection.deleted")
        )
        assert event.details["answers"] == 2
    assert has_object(image_key(kept.id, hashes_of(kept.id, 0)[0], "large"))


def test_no_picture_of_a_deleted_collection_stays(client: TestClient, owner: Account) -> None:
    campaign = a_campaign_with_model(owner)
    for part in ("layout", "sheets/0/0/0"):
        path = f"/api/v1/campaigns/{campaign.id}/models/1/map/{part}"
        assert client.get(path).status_code == 200
    put_object(f"models/{campaign.id}/1.npz", b"model")
    ids = {str(campaign.collection_id), str(campaign.id)}
    assert kinds_stored(ids) == {"images", "sheets", "maps", "models"}
    with transaction() as session:
        finish_campaign(session, owner, campaign.id)
        session.execute(metadata.tables["job"].update().values(state="done"))
    root = f"/api/v1/collections/{campaign.collection_id}"
    name = client.get(root).json()["name"]
    assert client.delete(root, params={"name": name}).status_code == 204
    sweep()
    assert kinds_stored(ids) == set()


def kinds_stored(ids: set[str]) -> set[str]:
    """First parts of the keys of all objects that belong to one of `ids`."""
    parts = [key.split("/") for key in list_objects("")]
    return {first for first, owner, *_ in parts if owner in ids}


def test_the_page_deletes_and_renames_too(client: TestClient, owner: Account) -> None:
    collection = a_collection(owner, 2)
    page = client.get(f"/collections/{collection.id}/delete")
    assert "This also deletes 2 images. This cannot be undone." in page.text
    renamed = client.patch(f"/api/v1/collections/{collection.id}", json={"name": " Better "})
    assert renamed.json()["name"] == "Better"
    assert (
        client.patch(f"/api/v1/collections/{collection.id}", json={"name": " "}).status_code == 422
    )
    form = {"name": "Better"}
    reply = client.post(f"/collections/{collection.id}/delete", data=form, follow_redirects=False)
    assert (reply.status_code, reply.headers["location"]) == (303, "/")
