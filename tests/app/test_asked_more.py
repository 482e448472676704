"""More images to ask about in a running campaign: new ones, and suggested ones."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import numpy as np
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.accounts.models import Account, AuditEvent
from app.campaigns.models import Campaign
from app.collections.models import Collection
from app.collections.service import add_files, get_collection
from app.core.database import transaction
from app.core.storage import put_object
from app.results.models import Model
from app.results.vectors import read_vectors
from app.strategies.uncertainty import FILE as UNCERTAINTY
from app.strategies.uncertainty import Uncertainty
from likewise.client.campaigns import Campaign as ClientCampaign
from testbed.builders import (
    a_campaign,
    a_collection,
    a_png,
    reloaded,
    sign_in,
)
from tests.app.test_annotation import a_session
from tests.app.test_scdc_strategy import Direct
from tests.support.asked import (
    M,
    N,
    a_partial_campaign,
    act,
    answer_all,
    asked_of,
    choose,
    learn,
    progress,
    shown_in,
)


def add_images(owner: Account, collection_id: UUID, n: int) -> None:
    files = [(f"more-{index}.png", a_png(1_000 + index)) for index in range(n)]
    with transaction() as session:
        collection: Collection = get_collection(session, owner, collection_id)
        add_files(session, owner, collection, files)


def ask_about(client: TestClient, campaign: Campaign, images: list[int]) -> Any:
    address = f"/api/v1/campaigns/{campaign.id}/asked-images"
    return client.post(address, json={"images": images})


def test_new_images_take_part_but_are_not_asked_about(client: TestClient, owner: Account) -> None:
    campaign = a_partial_campaign(owner)
    choose()
    add_images(owner, campaign.collection_id, 5)
    act(owner, campaign, "admit")
    before = asked_of(campaign)
    now = progress(client, campaign)
    assert (now["asked_images"], now["images"], len(before)) == (M, N + 5, M)
    answer_all(client, a_session(client, campaign), 20)
    learn()
    assert shown_in(campaign) <= set(before)
    # The requester says so.
    reply = ask_about(client, campaign, [N, N + 1, N, before[0]])
    assert reply.json() == {"added": 2, "asked_images": M + 2, "images": N + 5}
    assert set(asked_of(campaign)) == {*before, N, N + 1}
    listed = client.get(f"/api/v1/campaigns/{campaign.id}/asked-images?limit=200").json()["items"]
    origins = {image["image"]: image["origin"] for image in listed}
    assert origins == {**dict.fromkeys(before, "chosen"), N: "added", N + 1: "added"}
    with transaction() as session:
        events = session.scalars(
            select(AuditEvent).where(AuditEvent.action == "campaign.images_asked")
        ).all()
        assert [event.details for event in events] == [{"images": 2}]


def test_added_images_are_shown_in_the_next_rounds(client: TestClient, owner: Account) -> None:
    campaign = a_partial_campaign(owner, rounds=3, budget=60, ready_share=0.0)
    choose()
    more = sorted(set(range(N)) - set(asked_of(campaign)))[:6]
    assert ask_about(client, campaign, more).json()["added"] == 6
    answer_all(client, a_session(client, campaign), 20)
    learn()
    assert set(more) <= shown_in(campaign) <= set(asked_of(campaign))


def test_images_to_add_are_checked(client: TestClient, owner: Account) -> None:
    whole = a_campaign(owner, a_collection(owner, N))
    reply = ask_about(client, whole, [1])
    assert (reply.status_code, reply.json()["code"]) == (409, "asks_about_all")
    campaign = a_partial_campaign(owner)
    reply = ask_about(client, campaign, [1])
    assert (reply.status_code, reply.json()["code"]) == (409, "choosing")
    choose()
    for wrong in ([N], [-1], [2**40]):
        reply = ask_about(client, campaign, wrong)
        assert (reply.status_code, reply.json()["code"]) == (422, "unknown_images"), wrong
    assert ask_about(client, campaign, []).status_code == 422
    act(owner, campaign, "finish")
    reply = ask_about(client, campaign, [1])
    assert (reply.status_code, reply.json()["code"]) == (409, "bad_state")


def test_the_same_images_added_at_once_count_once(client: TestClient, owner: Account) -> None:
    campaign = a_partial_campaign(owner)
    choose()
    others = sorted(set(range(N)) - set(asked_of(campaign)))
    parts = [others[:8], others[4:12], others[:8], others[8:16]]
    with ThreadPoolExecutor(len(parts)) as pool:
        replies = list(pool.map(lambda part: ask_about(client, campaign, part), parts))
    assert [reply.status_code for reply in replies] == [200] * 4
    assert sum(reply.json()["added"] for reply in replies) == 16
    assert len(asked_of(campaign)) == reloaded(campaign.id).ask_about == M + 16


def test_the_least_certain_of_the_others_are_suggested(client: TestClient, owner: Account) -> None:
    settings = {"features": "features", "effort": "quick", "max_clusters": 5, "n_latent": 2}
    campaign = a_partial_campaign(owner, strategy="scdc", settings=settings)
    address = f"/api/v1/campaigns/{campaign.id}/suggested-images"
    assert client.get(address).json() == {"version": None, "certainty_of": None, "images": []}
    choose()
    answer_all(client, a_session(client, campaign), 20)
    learn()
    reply = client.get(f"{address}?limit=10").json()
    assert (reply["version"], reply["certainty_of"]) == (1, "cluster")
    certainties = [image["certainty"] for image in reply["images"]]
    assert len(certainties) == 10
    assert certainties == sorted(certainties)
    images = [image["image"] for image in reply["images"]]
    assert not set(images) & set(asked_of(campaign))
    assert ask_about(client, campaign, images).json()["added"] == 10
    later = client.get(f"{address}?limit=200").json()["images"]
    assert len(later) == N - M - 10
    assert not {image["image"] for image in later} & set(images)


def test_models_that_state_no_certainty_suggest_nothing(client: TestClient, owner: Account) -> None:
    campaign = a_partial_campaign(owner)
    choose()
    answer_all(client, a_session(client, campaign), 20)
    learn()
    reply = client.get(f"/api/v1/campaigns/{campaign.id}/suggested-images").json()
    assert reply == {"version": 1, "certainty_of": None, "images": []}


def test_images_whose_positions_features_tell_least_are_suggested(
    client: TestClient, owner: Account
) -> None:
    campaign = a_partial_campaign(owner)
    choose()
    answer_all(client, a_session(client, campaign), 20)
    learn()
    asked = asked_of(campaign)
    with transaction() as session:
        model = session.scalars(select(Model)).one()
        others = np.setdiff1d(np.arange(N), asked)
        # Less certain from one image to the next.
        deviation = np.zeros((N, len(read_vectors(session, model)[0])), np.float32)
        deviation[others] = np.linspace(0.1, 2, len(others))[:, None]
        placed = Uncertainty(deviation, np.isin(np.arange(N), others))
        put_object(f"{model.artifact_key}/{UNCERTAINTY}", placed.to_bytes())
    reply = client.get(f"/api/v1/campaigns/{campaign.id}/suggested-images?limit=5").json()
    assert reply["certainty_of"] == "position"
    assert [image["image"] for image in reply["images"]] == others[:-6:-1].tolist()
    certainties = [image["certainty"] for image in reply["images"]]
    assert 0 < certainties[0] < certainties[-1] < 1


def test_the_client_asks_about_suggested_images(client: TestClient, owner: Account) -> None:
    settings = {"features": "features", "effort": "quick", "max_clusters": 5, "n_latent": 2}
    campaign = a_partial_campaign(owner, strategy="scdc", settings=settings)
    choose()
    answer_all(client, a_session(client, campaign), 20)
    learn()
    sign_in(client, owner)
    fields = client.get(f"/api/v1/campaigns/{campaign.id}").json()
    from_client = ClientCampaign(Direct(client), fields)
    images = from_client.suggested_images(5)
    assert len(images) == 5
    assert from_client.ask_about(image.image for image in images) == 5
    assert from_client.ask_about([images[0].image]) == 0
