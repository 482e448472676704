"""Names that requesters give to learned attributes."""

import csv
import io
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from numpy.typing import NDArray

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.campaigns.sharing import share_campaign
from app.core.database import transaction
from app.jobs.models import Job
from app.jobs.service import request_job
from app.results.attribute_names import MOST_NAME
from app.results.publish import TrainedModel, publish_model
from testbed.builders import a_campaign, an_account, reloaded, sign_in
from tests.app.test_insight import INSIGHT, a_campaign_with_model, a_model

RNG = np.random.default_rng(3)


def path_of(campaign: Campaign, version: int = 1) -> str:
    return f"/api/v1/campaigns/{campaign.id}/models/{version}"


def give_name(client: TestClient, campaign: Campaign, index: int, name: str) -> Any:
    return client.put(f"{path_of(campaign)}/attributes/{index}/name", json={"name": name})


def names_of(client: TestClient, campaign: Campaign, version: int = 1) -> dict[int, str]:
    attributes = client.get(f"{path_of(campaign, version)}/insight").json()["attributes"]
    return {attribute["index"]: attribute["name"] for attribute in attributes}


def publish(campaign: Campaign, vectors: NDArray[np.float64]) -> None:
    """Publish a model like a training does."""
    with transaction() as session:
        job_id = request_job(session, campaign.id, 0).id
    with transaction() as session:
        job = session.get_one(Job, job_id)
        job.state = "running"
        session.flush()
        trained = TrainedModel(
            embedding=vectors,
            map_positions=np.zeros((len(vectors), 2)),
            metrics={},
            artifact_key="-",
            round_number=1,
            n_full=0,
            batches=[],
            n_answers=0,
            insight=INSIGHT,
        )
        publish_model(session, campaign.id, job.id, job.epoch, trained)


def test_a_name_is_shown_wherever_the_attribute_is(client: TestClient, owner: Account) -> None:
    campaign = a_campaign_with_model(owner)
    assert names_of(client, campaign) == {0: "", 2: ""}
    assert give_name(client, campaign, 2, " =eyes  closed ").status_code == 204
    assert names_of(client, campaign) == {0: "", 2: "=eyes closed"}
    listed = client.get(f"{path_of(campaign)}/map/attributes").json()["items"]
    compared = client.get(f"{path_of(campaign)}/known-columns").json()["attributes"]
    assert [each["name"] for each in listed] == ["", "=eyes closed"]
    assert [each["name"] for each in compared] == ["", "=eyes closed", ""]
    text = client.get(f"/api/v1/campaigns/{campaign.id}/export/attributes.csv").text
    rows = csv.DictReader(io.StringIO(text))
    assert [row["name"] for row in rows] == ["", "'=eyes closed"]
    assert give_name(client, campaign, 2, " ").status_code == 204
    assert names_of(client, campaign) == {0: "", 2: ""}


@pytest.mark.parametrize(("index", "name", "status"), [(1, "eyes", 404), (0, "n" * 101, 422)])
def test_a_wrong_name_or_number_is_refused(
    client: TestClient, owner: Account, index: int, name: str, status: int
) -> None:
    campaign = a_campaign_with_model(owner)
    assert give_name(client, campaign, index, name).status_code == status
    assert names_of(client, campaign) == {0: "", 2: ""}
    assert MOST_NAME == 100


def test_only_editors_give_names(client: TestClient, owner: Account) -> None:
    campaign = a_campaign_with_model(owner)
    other = an_account("grace@example.org")
    sign_in(client, other)
    assert give_name(client, campaign, 0, "eyes").status_code == 404
    with transaction() as session:
        share_campaign(session, owner, reloaded(campaign.id), other.email, "view")
    assert give_name(client, campaign, 0, "eyes").status_code == 403
    with transaction() as session:
        share_campaign(session, owner, reloaded(campaign.id), other.email, "edit")
    assert give_name(client, campaign, 0, "eyes").status_code == 204


def test_the_next_model_keeps_names_of_attributes_that_still_order_the_images(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(owner)
    vectors = RNG.normal(size=(campaign.n_images, 3))
    a_model(campaign, vectors, INSIGHT)
    for index, name in ((0, "eyes"), (2, "hair")):
        assert give_name(client, campaign, index, name).status_code == 204
    later = vectors + RNG.normal(0, 0.1, vectors.shape)
    # The first attribute is turned around; the number of the second stands for something else now.
    later[:, 0] *= -1
    later[:, 2] = RNG.normal(size=campaign.n_images)
    publish(campaign, later)
    assert names_of(client, campaign, 2) == {0: "eyes", 2: ""}
    assert names_of(client, campaign) == {0: "eyes", 2: "hair"}
