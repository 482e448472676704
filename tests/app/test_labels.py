"""Labels by votes over the API: orders, filters, known answers, the map's colours, files."""

from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.accounts.models import Account
from app.campaigns.models import Campaign, Grid
from app.core.database import transaction
from app.core.storage import put_object
from app.results.models import Model
from app.strategies.labels import FILE, Labels
from app.strategies.votes_insight import reliability
from learning.aggregation import METHODS
from learning.ballots import NO, YES
from testbed.builders import a_campaign
from tests.app.test_insight import a_model

N = 30
YES_IMAGES = np.arange(N) < 10
HONEST = {"sensitivity": 0.95, "specificity": 0.9}
JURY = [
    {"annotator": 0, "n_votes": 90, "yes_share": 0.36, **HONEST},
    {"annotator": 1, "n_votes": 84, "yes_share": 0.55, "sensitivity": 0.52, "specificity": 0.5},
    {"annotator": 2, "n_votes": 12, "yes_share": 0.5, "sensitivity": 0.55, "specificity": 0.6},
]


def some_labels() -> Labels:
    """Ten yes, twenty no; images 9 and 10 are contested; those from 20 on have no votes."""
    sure = np.linspace(0.99, 0.91, N)
    probability = np.where(YES_IMAGES, sure, 1 - sure)
    probability[[9, 10]] = [0.6, 0.45]
    asked = np.arange(N) < 20
    yes = np.where(asked, np.where(YES_IMAGES, 3, 0), 0)
    no = np.where(asked, np.where(YES_IMAGES, 0, 2), 0)
    yes[[9, 10]], no[[9, 10]] = 2, 2
    unsure = np.zeros(N, np.int64)
    unsure[10] = 1
    share = np.where(asked, yes / np.maximum(yes + no, 1), np.nan)
    return Labels(
        probability=probability,
        prior=np.clip(probability, 0.2, 0.8),
        majority=share,
        dawid_skene=share,
        glad=share,
        yes=yes,
        no=no,
        unsure=unsure,
    )


def a_labelled_campaign(owner: Account, versions: int = 1, **plan: Any) -> Campaign:
    """A running select campaign with models that label all images as `some_labels`."""
    settings = {"features": "features", **plan.pop("settings", {})}
    campaign = a_campaign(owner, kind="select", strategy="neucrowd", settings=settings, **plan)
    for version in range(1, versions + 1):
        publish_labels(campaign, some_labels(), version)
    return campaign


def publish_labels(
    campaign: Campaign, labels: Labels, version: int, enough: str | None = None
) -> None:
    insight = {
        "jury": [{**annotator, "quality": dict.fromkeys(METHODS, 0.9)} for annotator in JURY],
        "reliability": reliability(labels, 0.9, 0.9),
        "has_classifier": True,
        "features": "features",
        "enough": enough,
    }
    metrics = {
        "expected_right": float(labels.sureness.mean()),
        "expected_balanced": 0.9,
        "gain_of_next_grid": 1.25,
        "votes_per_image": float(labels.n_votes.mean()),
        "yes_share": float((labels.probability > 0.5).mean()),
        "contested": float((labels.sureness < 0.9).sum()),
        "held_out_auc": 0.8 + 0.05 * version,
    }
    places = np.stack([labels.probability, np.arange(N) / N], axis=1)
    a_model(campaign, places, insight, version=version, metrics=metrics)
    with transaction() as session:
        model = session.scalars(
            select(Model).where(Model.campaign_id == campaign.id, Model.version == version)
        ).one()
        model.artifact_key = f"models/{campaign.id}/{version}"
        put_object(f"{model.artifact_key}/{FILE}", labels.to_bytes())


def know(campaign: Campaign) -> None:
    """A grid of gold with known answers to images 0 to 3 and 15 to 18; one of them is labelled
    wrongly."""
    images = [0, 1, 2, 3, 15, 16, 17, 18]
    truth = [YES, YES, YES, YES, YES, NO, NO, NO]
    with transaction() as session:
        grid = session.scalars(select(Grid).where(Grid.campaign_id == campaign.id).limit(1)).one()
        session.add(
            Grid(
                campaign_id=campaign.id,
                round_id=None,
                number=10_000,
                images=images,
                role="gold",
                truth=truth,
                wanted=grid.wanted,
            )
        )


@pytest.fixture
def base(owner: Account) -> str:
    return f"/api/v1/campaigns/{a_labelled_campaign(owner).id}"


def listed(client: TestClient, base: str, **params: object) -> list[dict[str, Any]]:
    reply = client.get(f"{base}/models/1/labels", params=params)  # type: ignore[arg-type]
    assert reply.status_code == 200, reply.text
    items: list[dict[str, Any]] = reply.json()["items"]
    return items


def images(items: list[dict[str, Any]]) -> list[int]:
    return [item["image"] for item in items]


def test_labels_come_surest_yes_first_surest_no_first_or_least_sure_first(
    client: TestClient, base: str
) -> None:
    assert images(listed(client, base))[:3] == [0, 1, 2]
    assert images(listed(client, base, order="unlikeliest"))[:2] == [11, 12]
    assert images(listed(client, base, order="contested"))[:2] == [10, 9]
    assert images(listed(client, base, order="position")) == list(range(N))
    image = listed(client, base, order="contested", limit=1)[0]
    assert (image["label"], image["yes"], image["no"], image["unsure"]) == ("no", 2, 2, 1)
    assert image["large_url"] != image["url"]


def test_labels_are_filtered_by_label_votes_and_doubt(client: TestClient, base: str) -> None:
    assert images(listed(client, base, label="yes")) == list(range(10))
    assert images(listed(client, base, asked=False, order="position")) == list(range(20, 30))
    assert images(listed(client, base, contested=True, order="contested")) == [10, 9]
    assert len(listed(client, base, contested=False)) == N - 2
    assert images(listed(client, base, contested=True, label="yes")) == [9]
    assert listed(client, base, contested=True, asked=False) == []
    unvoted = listed(client, base, asked=False)[0]
    assert unvoted["majority"] is unvoted["dawid_skene"] is unvoted["glad"] is None


def test_a_list_of_labels_goes_on_where_it_ended(client: TestClient, base: str) -> None:
    query = "order=unlikeliest&limit=12"
    first = client.get(f"{base}/models/1/labels?{query}").json()
    rest = client.get(f"{base}/models/1/labels?{query}&after={first['next']}").json()
    assert not set(images(first["items"])) & set(images(rest["items"]))
    assert first["items"][-1]["probability"] <= rest["items"][0]["probability"]


def test_known_answers_tell_how_good_labels_and_classifier_are(
    client: TestClient, owner: Account
) -> None:
    campaign = a_labelled_campaign(owner)
    path = f"/api/v1/campaigns/{campaign.id}/models/1/label-quality"
    nothing = client.get(path).json()
    assert nothing["gold"] == {"n_yes": 0, "n_no": 0, "labels": None, "classifier": None}
    assert (nothing["n_images"], nothing["n_yes"], nothing["n_contested"]) == (30, 10, 2)
    know(campaign)
    gold = client.get(path).json()["gold"]
    assert (gold["n_yes"], gold["n_no"]) == (5, 3)
    assert gold["labels"]["accuracy"] == 7 / 8
    recall = gold["labels"]["recall"]
    assert (recall[0], recall[-1]) == (0, 1)


def test_the_map_is_coloured_by_labels(client: TestClient, base: str) -> None:
    path = f"{base}/models/1/map/labels"
    by_label = client.get(path).json()
    assert by_label["values"] == ["yes", "no"]
    assert by_label["codes"] == [0] * 10 + [1] * 20
    votes = client.get(f"{path}?by=votes").json()
    assert [votes["values"][code] for code in votes["codes"]][8:12] == ["3", "4", "4", "2"]
    likely = client.get(f"{path}?by=probability").json()
    assert likely["values"] == sorted(likely["values"], key=float)
    assert likely["values"][likely["codes"][9]] == "0.6"
    assert client.get(f"{path}?by=nothing").status_code == 422


def test_files_that_make_no_sense_of_votes_are_not_offered(
    client: TestClient, owner: Account, base: str
) -> None:
    grouping = f"/api/v1/campaigns/{a_campaign(owner).id}"
    offered = [
        {file["file"] for file in client.get(f"{path}/exports").json()["files"]}
        for path in (base, grouping)
    ]
    assert offered[1] - offered[0] == {
        "pairs.csv",
        "triplets.csv",
        "trainset.txt",
        "clusters.csv",
        "type_dissimilarities.npz",
    }
    assert {"labels.csv", "voters.csv"} <= offered[0]
