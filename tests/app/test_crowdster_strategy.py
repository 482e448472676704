"""The CrowdSter strategy: shares of grids, a start from features, agreement and stability."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.campaigns.models import Grid
from app.collections.models import Collection
from app.collections.service import add_files
from app.core.database import transaction
from app.core.errors import InvalidInput
from app.features.reading import features_of_table
from app.jobs.models import Job
from app.jobs.service import claim_job
from app.results.learn import run_learning_job
from app.results.models import EmbeddedImage, Model
from app.results.service import read_progress
from app.strategies import Learned, LearningData, get_strategy
from learning.crowdster import CrowdSter
from learning.groupings import Groupings
from learning.queries import grid_locality, random_grids
from learning.simulation import FeatureCrowd
from testbed.builders import a_campaign, a_collection, a_png, an_account, reloaded, sign_in
from tests.app.test_annotation import a_lease, a_session, submit

N_IMAGES, SIZE = 120, 10
POINTS = np.random.default_rng(0).random((N_IMAGES, 2))
CROWD = FeatureCrowd(POINTS, 5)


def answers(n: int, seed: int) -> Groupings:
    grids = random_grids(n, SIZE, N_IMAGES, np.random.default_rng(seed))
    return CROWD.answer_grids(grids, np.arange(n) % 5)


def learning_data(rounds: list[Groupings], **changes: Any) -> LearningData:
    return LearningData(
        rounds=rounds,
        n_images=N_IMAGES,
        grid_size=SIZE,
        n_rounds=4,
        n_groups=4,
        seed=0,
        n_full=len(rounds),
        purposes=["random"] * sum(len(groupings) for groupings in rounds),
        **changes,
    )


def learn(rounds: list[Groupings], settings: dict[str, Any], **changes: Any) -> Learned:
    data = learning_data(rounds, **changes)
    return get_strategy("crowdster").learn(data, settings, lambda done: None)


def test_features_place_images_that_were_never_shown_with_their_uncertainty() -> None:
    shown = 90
    grids = random_grids(60, SIZE, shown, np.random.default_rng(0))
    rounds = [CROWD.answer_grids(grids, np.arange(60) % 5)]
    known = np.arange(N_IMAGES) != 100
    learned = learn(rounds, {"start_from": "features"}, features=POINTS, known=known)
    assert learned.uncertainty is not None
    placed = (np.arange(N_IMAGES) >= shown) & known
    assert np.array_equal(learned.uncertainty.by_features, placed)
    assert learned.uncertainty.deviation.shape == learned.embedding.shape
    assert learn(rounds, {}).uncertainty is None


def test_later_rounds_mix_local_random_and_focused_grids() -> None:
    learned = learn([answers(60, 0)], {"random_share": 0.25, "focus_images": [5, 500]})
    grids = learned.select_grids(16, 2)
    assert grids.contents == {"random": 4, "focus": 6, "local": 6}
    focused = [g for g, p in zip(grids.images, grids.purposes, strict=True) if p == "focus"]
    assert all(5 in grid for grid in focused)


def test_grids_begun_are_not_asked_again() -> None:
    first = learn([answers(60, 0)], {"random_share": 0.0})
    begun = first.select_grids(20, 2).images
    again = learn([answers(60, 0)], {"random_share": 0.0}, begun=begun).select_grids(20, 2)
    sets = {frozenset(grid) for grid in begun.tolist()}
    assert not sets & {frozenset(grid) for grid in again.images.tolist()}


def test_metrics_tell_agreement_with_its_error() -> None:
    metrics = learn([answers(60, 0), answers(60, 1)], {}).metrics
    assert metrics["dimensions"] in (2.0, 3.0)
    assert 0.5 < metrics["agreement"] <= 1.0
    assert 0 < metrics["agreement_error"] < 0.1
    assert metrics["control_agreement"] == metrics["agreement"]


def test_the_paper_s_algorithm_is_a_setting() -> None:
    learned = learn([answers(60, 0)], {"algorithm": "paper"})
    assert learned.embedding.shape == (N_IMAGES, 3)
    assert learned.metrics == {"dimensions": 3.0}


def test_the_paper_s_neighbourhoods_are_wider_than_the_default_s() -> None:
    """In grids of twenty; the default's are wider for grids of few images."""

    def locality(algorithm: str) -> float:
        rng = np.random.default_rng(0)
        rounds = [
            CROWD.answer_grids(random_grids(30, 20, N_IMAGES, rng), np.arange(30) % 5)
            for _ in range(3)
        ]
        data = replace(learning_data(rounds), grid_size=20)
        learned = get_strategy("crowdster").learn(data, {"algorithm": algorithm}, lambda done: None)
        return grid_locality(learned.select_grids(40, 4).images, POINTS)

    assert locality("paper") > 1.1 * locality("likelihood")


@pytest.mark.parametrize("algorithm", ["likelihood", "paper"])
def test_a_round_of_leftovers_only_fails_no_job(algorithm: str) -> None:
    silent = replace(answers(1, 1), groups=np.full((1, SIZE), -1))
    for rounds in ([answers(60, 0), silent], [silent, answers(60, 0)]):
        learned = learn(rounds, {"algorithm": algorithm})
        assert np.isfinite(learned.embedding).all()
    with pytest.raises(ValueError, match="no informative pair"):
        learn([silent, silent], {"algorithm": algorithm})


@pytest.mark.parametrize(("algorithm", "updates"), [("likelihood", 1), ("paper", 4)])
def test_only_the_paper_s_algorithm_goes_through_the_rounds_one_by_one(
    monkeypatch: pytest.MonkeyPatch, algorithm: str, updates: int
) -> None:
    heard: list[int] = []
    update = CrowdSter.update

    def counted(model: CrowdSter, groupings: Groupings, *rest: Any, **named: Any) -> CrowdSter:
        heard.append(len(groupings))
        return update(model, groupings, *rest, **named)

    monkeypatch.setattr(CrowdSter, "update", counted)
    learn([answers(10, k) for k in range(4)], {"algorithm": algorithm})
    assert (len(heard), sum(heard)) == (updates, 40)


@pytest.mark.parametrize("algorithm", ["likelihood", "paper"])
def test_progress_ends_at_one(algorithm: str) -> None:
    heard: list[float] = []
    data = learning_data([answers(30, k) for k in range(3)])
    get_strategy("crowdster").learn(data, {"algorithm": algorithm}, heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == 1.0


def answer(client: TestClient, who: dict[str, str], n: int, strays: int = 0) -> None:
    """Answer n grids: images with the same remainder belong together, but for some strays."""
    for _ in range(n):
        lease = a_lease(client, who)
        groups = [shown["image"] % 3 for shown in lease["images"]]
        groups[:strays] = [(group + 1) % 3 for group in groups[:strays]]
        assert submit(client, who, lease, groups=groups).json()["status"] == "stored"


def run_job() -> None:
    with transaction() as session:
        job_id = session.scalars(
            select(Job.id).where(Job.kind == "learn", Job.state == "queued")
        ).one()
        job = claim_job(session, job_id, "worker")
        assert job is not None
    run_learning_job(job.campaign_id, job.id, job.epoch)


@pytest.mark.parametrize("start", ["features", "appearance"])
def test_rounds_have_agreement_stability_and_an_outlook(client: TestClient, start: str) -> None:
    owner = an_account()
    campaign = a_campaign(
        owner,
        a_collection(owner, n=45),
        kind="bins",
        strategy="crowdster",
        budget=90,
        rounds=3,
        grids_per_assignment=90,
        settings={"start_from": start},
    )
    who = a_session(client, campaign)
    for _ in range(3):
        answer(client, who, 30, strays=1)
        run_job()
    with transaction() as session:
        progress = read_progress(session, reloaded(campaign.id))
        models = list(session.scalars(select(Model).order_by(Model.version)))
        n_places = len(session.scalars(select(EmbeddedImage.position)).all())
    assert progress.campaign.state == "finished"
    assert n_places == 3 * 45
    assert "neighbour_stability" not in models[0].metrics
    for model in models[1:]:
        assert 0 < model.metrics["neighbour_stability"] <= 1
        assert 0 <= model.metrics["neighbour_stability_error"] < 0.2
        assert 0 < model.metrics["agreement_error"] < 0.2
    assert progress.outlook.agreement is not None
    assert progress.outlook.agreement_error is not None
    assert 0 < progress.outlook.agreement_error < 0.2
    assert progress.outlook.neighbours is not None
    assert 0 <= progress.outlook.neighbours < 1


def test_a_start_from_features_that_are_not_there_says_what_to_do(client: TestClient) -> None:
    owner = an_account()
    table = b"filename,colour\n" + b"".join(b"image-%03d.png,red\n" % k for k in range(30))
    collection = a_collection(owner, table=table)
    for strategy, field in (("crowdster", "start_from"), ("scdc", "features")):
        settings = {field: "features"}
        with pytest.raises(InvalidInput, match="columns feature_0"):
            a_campaign(owner, collection, kind="bins", strategy=strategy, settings=settings)


def test_images_without_features_have_the_mean_of_the_others() -> None:
    table = features_of_table(iter([[1.0, 2.0], None, [3.0, 6.0]]), 3)
    assert table.tolist() == [[1, 2], [2, 4], [3, 6]]
    with pytest.raises(ValueError, match=r"different numbers of features \(2 and 1\)"):
        features_of_table(iter([[1.0, 2.0], [3.0]]), 2)


def test_images_may_join_a_running_campaign_and_are_asked_about_first(client: TestClient) -> None:
    owner = an_account()
    collection = a_collection(owner, n=45)
    campaign = a_campaign(
        owner,
        collection,
        kind="bins",
        strategy="crowdster",
        budget=90,
        rounds=3,
        grids_per_assignment=90,
    )
    who = a_session(client, campaign)
    answer(client, who, 30)
    sign_in(client, owner)
    path = f"/api/v1/campaigns/{campaign.id}"
    nothing = client.post(f"{path}/actions/admit")
    assert (nothing.status_code, nothing.json()["code"]) == (409, "no_new_images")
    with transaction() as session:
        files = [(f"later-{k}.png", a_png(1_000 + k)) for k in range(5)]
        add_files(session, owner, session.get_one(Collection, collection.id), files)
    assert client.get(f"{path}/progress").json()["new_images"] == 5
    assert client.post(f"{path}/actions/admit").json()["new_images"] == 0
    run_job()
    with transaction() as session:
        query = select(Grid).where(Grid.purpose == "new", Grid.basis == 1)
        asked = [set(grid.images) for grid in session.scalars(query)]
        places = session.scalars(select(EmbeddedImage.position)).all()
    assert set(range(45, 50)) <= set.union(*asked)
    assert len(places) == 50
    answer(client, who, 30)
    run_job()
