"""What a model tells of attributes and annotators, and asking more about one attribute."""

import csv
import io
from typing import Any

import numpy as np
from fastapi.testclient import TestClient
from numpy.typing import NDArray

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.jobs.service import request_job
from app.results.models import EmbeddedImage, Model
from testbed.builders import a_campaign, an_account, reloaded, sign_in

INSIGHT: dict[str, Any] = {
    "attributes": [
        {"index": 0, "share": 0.6, "low": ["=cmd()", "red"], "high": ["blue"]},
        {"index": 2, "share": 0.4, "low": [], "high": ["huge"], "middle": ["=mid", "so so"]},
    ],
    "annotators": [
        {
            "annotator": position,
            "n_answers": 3 + position,
            "preference": [0.7, 0.0, 0.3],
            "n_groups": 2.5,
            "detail": 0.4,
            "carelessness": 0.1,
            "agreement": None,
            "n_repeats": 0,
            "consistency": None,
        }
        for position in range(3)
    ],
}


# A crowd that has one unordered notion of similarity, with two clusters.
POOLED: dict[str, Any] = {
    "structure": "pooled",
    "held_out_answers": 90,
    "none_share": 0.04,
    "none_share_error": 0.01,
    "attributes": [
        {
            "index": 0,
            "share": 0.96,
            "share_error": 0.01,
            "confidence": 0.9995,
            "low": [],
            "middle": [],
            "high": [],
            "columns": [0, 2],
            "clusters": [
                {"size": 20, "silhouette": 0.7, "images": [3, 4], "words": ["=owl", "round"]},
                {"size": 10, "silhouette": 0.5, "images": [25], "words": []},
            ],
            "example": {"images": [4, 3, 25], "groups": [0, 0, 1]},
        }
    ],
    "annotators": [
        {
            **INSIGHT["annotators"][0],
            "preference": [0.9, 0.0, 0.0],
            "used": [0.8, 0.0, 0.0],
            "used_error": [0.05, None, 0.0],
        }
    ],
}
NONE = {**POOLED, "structure": "none", "attributes": [], "none_share": 1.0}


def a_campaign_with_model(
    owner: Account, insight: dict[str, Any] | None = INSIGHT, **plan: object
) -> Campaign:
    """A running campaign with one published model; image k stands at k on every dimension."""
    campaign = a_campaign(owner, **plan)  # type: ignore[arg-type]
    line = np.repeat(np.arange(campaign.n_images)[:, None], 3, axis=1)
    a_model(campaign, line, insight)
    return campaign


def a_model(
    campaign: Campaign,
    vectors: NDArray[Any],
    insight: dict[str, Any] | None = None,
    version: int = 1,
    metrics: dict[str, float] | None = None,
) -> None:
    """Publish vectors (N, d) as a model of the campaign."""
    with transaction() as session:
        job = request_job(session, campaign.id, 1)
        job.state = "done"
        model = Model(
            campaign_id=campaign.id,
            job_id=job.id,
            version=version,
            round_number=version,
            strategy="cen",
            settings={},
            metrics=metrics or {},
            n_answers=version,
            artifact_key="-",
            insight=insight,
        )
        session.add(model)
        session.flush()
        session.add_all(
            EmbeddedImage(model_id=model.id, position=at, vector=vector, x=0.0, y=0.0)
            for at, vector in enumerate(vectors)
        )


def test_attributes_come_with_words_and_the_images_furthest_out(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign_with_model(owner)
    insight = client.get(f"/api/v1/campaigns/{campaign.id}/models/1/insight").json()
    assert [attribute["index"] for attribute in insight["attributes"]] == [0, 2]
    first = insight["attributes"][0]
    assert (first["low"], first["high"]) == (["=cmd()", "red"], ["blue"])
    assert [image["image"] for image in first["low_images"]] == [0, 1, 2, 3, 4]
    assert [image["image"] for image in first["high_images"]] == [29, 28, 27, 26, 25]
    assert client.get(first["low_images"][0]["url"]).status_code == 200
    assert [annotator["annotator"] for annotator in insight["annotators"]] == [2, 1, 0]
    assert insight["annotators"][0]["agreement"] is None
    assert (insight["focus"], insight["n_annotators"]) == (None, 3)


def test_an_insight_of_an_earlier_version_is_readable(client: TestClient, owner: Account) -> None:
    campaign = a_campaign_with_model(owner)
    insight = client.get(f"/api/v1/campaigns/{campaign.id}/models/1/insight").json()
    assert (insight["structure"], insight["none_share"]) == (None, None)
    first = insight["attributes"][0]
    assert (first["ordered"], first["columns"], first["overall"]) == (True, [0], False)
    assert (first["share_error"], first["confidence"]) == (None, None)
    assert (first["clusters"], first["example"]) == ([], [])
    assert insight["annotators"][0]["used"] == []


def test_an_unordered_attribute_has_clusters_and_an_example_grid(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign_with_model(owner, POOLED)
    insight = client.get(f"/api/v1/campaigns/{campaign.id}/models/1/insight").json()
    assert insight["structure"] == "pooled"
    assert (insight["none_share"], insight["none_share_error"]) == (0.04, 0.01)
    [attribute] = insight["attributes"]
    assert (attribute["ordered"], attribute["overall"]) == (False, True)
    assert (attribute["share_error"], attribute["confidence"]) == (0.01, 0.9995)
    clusters = attribute["clusters"]
    assert [(cluster["size"], cluster["words"]) for cluster in clusters] == [
        (20, ["=owl", "round"]),
        (10, []),
    ]
    assert [[image["image"] for image in cluster["images"]] for cluster in clusters] == [
        [3, 4],
        [25],
    ]
    assert client.get(clusters[0]["images"][0]["url"]).status_code == 200
    example = [(image["image"], image["group"]) for image in attribute["example"]]
    assert example == [(4, 0), (3, 0), (25, 1)]
    assert insight["annotators"][0]["used"] == [0.8, 0, 0]
    assert insight["annotators"][0]["used_error"] == [0.05, None, 0]


def test_neither_an_unordered_attribute_nor_noise_is_a_strip(
    client: TestClient, owner: Account
) -> None:
    for stored in (POOLED, NONE):
        campaign = a_campaign_with_model(owner, stored)
        axes = client.get(f"/api/v1/campaigns/{campaign.id}/models/1/axes").json()
        assert axes["items"] == []


def test_an_ordered_attribute_next_to_an_unordered_one_is_a_strip(
    client: TestClient, owner: Account
) -> None:
    ordered = {**POOLED["attributes"][0], "index": 1, "columns": [1], "clusters": []}
    mixed = {**POOLED, "structure": "attributes"}
    mixed["attributes"] = [POOLED["attributes"][0], ordered]
    campaign = a_campaign_with_model(owner, mixed)
    path = f"/api/v1/campaigns/{campaign.id}/models/1"
    assert [axis["index"] for axis in client.get(f"{path}/axes").json()["items"]] == [1]
    attributes = client.get(f"{path}/insight").json()["attributes"]
    assert [(attribute["ordered"], attribute["overall"]) for attribute in attributes] == [
        (False, False),
        (True, False),
    ]


def test_a_crowd_that_agrees_on_nothing_has_no_attribute_to_ask_about(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign_with_model(owner, NONE)
    path = f"/api/v1/campaigns/{campaign.id}"
    insight = client.get(f"{path}/models/1/insight").json()
    assert (insight["structure"], insight["attributes"]) == ("none", [])
    refused = client.post(f"{path}/focus", json={"attribute": 0})
    assert (refused.status_code, refused.json()["code"]) == (422, "unknown_attribute")


def test_a_model_without_insight_says_so(client: TestClient, owner: Account) -> None:
    campaign = a_campaign_with_model(owner, insight=None)
    reply = client.get(f"/api/v1/campaigns/{campaign.id}/models/1/insight")
    assert reply.status_code == 404
    assert "has no information" in reply.json()["detail"]
    progress = client.get(f"/api/v1/campaigns/{campaign.id}/progress").json()
    assert progress["models"][0]["has_insight"] is False


def test_insight_is_exported_and_harmless_in_a_spreadsheet(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign_with_model(owner)
    base = f"/api/v1/campaigns/{campaign.id}/export"
    attributes = list(csv.DictReader(io.StringIO(client.get(f"{base}/attributes.csv").text)))
    assert [row["low"] for row in attributes] == ["'=cmd(); red", ""]
    assert [row["middle"] for row in attributes] == ["", "'=mid; so so"]
    annotators = list(csv.DictReader(io.StringIO(client.get(f"{base}/annotators.csv").text)))
    assert [row["annotator"] for row in annotators] == ["0", "1", "2"]
    assert annotators[0]["preference2"] == "0.3"
    assert annotators[0]["agreement"] == ""
    assert (annotators[0]["used2"], annotators[0]["used_error2"]) == ("", "")
    assert (attributes[1]["columns"], attributes[1]["confidence"]) == ("2", "")


def test_what_was_used_and_the_words_of_clusters_are_exported(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign_with_model(owner, POOLED)
    base = f"/api/v1/campaigns/{campaign.id}/export"
    [attribute] = csv.DictReader(io.StringIO(client.get(f"{base}/attributes.csv").text))
    assert attribute["columns"] == "0 2"
    assert attribute["clusters"].startswith("'=owl; round | ")
    assert (attribute["share_error"], attribute["confidence"]) == ("0.01", "0.9995")
    [annotator] = csv.DictReader(io.StringIO(client.get(f"{base}/annotators.csv").text))
    assert [annotator[name] for name in ("preference0", "used0", "used_error0")] == [
        "0.9",
        "0.8",
        "0.05",
    ]
    assert annotator["used_error1"] == ""


def test_the_focus_is_set_and_cleared(client: TestClient, owner: Account) -> None:
    campaign = a_campaign_with_model(owner)
    path = f"/api/v1/campaigns/{campaign.id}"
    assert client.post(f"{path}/focus", json={"attribute": 2}).status_code == 204
    assert reloaded(campaign.id).settings["focus"] == 2
    assert client.get(f"{path}/models/1/insight").json()["focus"] == 2
    assert client.post(f"{path}/focus", json={"attribute": None}).status_code == 204
    assert reloaded(campaign.id).settings["focus"] is None


def test_an_impossible_focus_is_refused(client: TestClient, owner: Account) -> None:
    campaign = a_campaign_with_model(owner)
    path = f"/api/v1/campaigns/{campaign.id}/focus"
    unknown = client.post(path, json={"attribute": 1})
    assert (unknown.status_code, unknown.json()["code"]) == (422, "unknown_attribute")
    assert "0, 2" in unknown.json()["detail"]
    assert client.post(path, json={"attribute": "red"}).status_code == 422
    assert client.post(path, json={}).status_code == 422
    with transaction() as session:
        session.get_one(Campaign, campaign.id).state = "finished"
    assert client.post(path, json={"attribute": 2}).status_code == 409
    assert reloaded(campaign.id).settings["focus"] is None


def test_later_rounds_ask_more_about_the_likes_of_chosen_images(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(owner, strategy="crowdster", kind="bins")
    path = f"/api/v1/campaigns/{campaign.id}"
    assert client.post(f"{path}/focus", json={"images": [7, 3, 7]}).status_code == 204
    assert client.get(f"{path}/progress").json()["focus_images"] == [3, 7]
    unknown = client.post(f"{path}/focus", json={"images": [30]})
    assert (unknown.status_code, unknown.json()["code"]) == (422, "unknown_image")
    assert client.post(f"{path}/focus", json={"images": []}).status_code == 204
    assert reloaded(campaign.id).settings["focus_images"] == []
    other = a_campaign_with_model(owner)
    refused = client.post(f"/api/v1/campaigns/{other.id}/focus", json={"images": [1]})
    assert (refused.status_code, refused.json()["code"]) == (422, "no_focus_on_images")


def test_before_the_first_model_there_is_nothing_to_focus_on(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(owner)
    reply = client.post(f"/api/v1/campaigns/{campaign.id}/focus", json={"attribute": 0})
    assert (reply.status_code, "no model yet" in reply.json()["detail"]) == (404, True)


def test_insight_belongs_to_the_owner(client: TestClient, owner: Account) -> None:
    campaign = a_campaign_with_model(owner)
    sign_in(client, an_account("eve@example.org"))
    base = f"/api/v1/campaigns/{campaign.id}"
    assert client.get(f"{base}/models/1/insight").status_code == 404
    assert client.get(f"{base}/export/annotators.csv").status_code == 404
    assert client.post(f"{base}/focus", json={"attribute": 0}).status_code == 404


def test_shares_that_leave_no_room_are_refused(client: TestClient, owner: Account) -> None:
    campaign = a_campaign(owner)
    body = {
        "name": "Too much",
        "collection_id": str(campaign.collection_id),
        "grid_size": 6,
        "settings": {"attribute_share": 0.7, "uncertain_share": 0.4},
    }
    reply = client.post("/api/v1/campaigns", json=body)
    assert (reply.status_code, reply.json()["code"]) == (422, "bad_settings")
    assert "add up to 1.1" in reply.json()["detail"]
