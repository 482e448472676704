"""A select campaign with real processes: seven vote, one of them at random; it ends by itself."""

import csv
import io

import httpx
import numpy as np
from sqlalchemy import select

from app.annotation.models import Annotator, Answer
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign
from app.collections.models import Image
from app.core.database import transaction
from app.results.labels import read_labels
from app.results.service import get_model
from learning.simulation import VoteCrowd
from likewise.simulation import CrowdRun
from testbed.builders import (
    COLOURS,
    a_campaign,
    a_collection,
    an_account,
    an_api_token,
    reloaded,
)
from testbed.system import System, wait_until
from tests.system.test_loop import check_log_against_database, is_finished

N_IMAGES, GUESSER = 180, 3
TARGET = 0.93


def test_seven_label_a_collection_and_the_guesser_is_found(system: System) -> None:
    owner = an_account()
    campaign = a_campaign(
        owner,
        a_collection(owner, n=N_IMAGES),
        kind="select",
        strategy="neucrowd",
        # Five votes on each image: what is not needed is not spent.
        budget=75,
        rounds=5,
        grid_size=12,
        grids_per_assignment=100,
        ready_share=0.0,
        learn_every=10_000,
        annotation={"known_attribute": "colour", "known_value": COLOURS[1], "gold_share": 0.1},
        settings={"features": "features", "effort": "quick", "target": TARGET},
    )
    with transaction() as session:
        rows = session.scalars(select(Image.attributes).order_by(Image.position)).all()
    truth = np.array([row["colour"] == COLOURS[1] for row in rows])
    rates = np.full((2, 7), 0.9)
    rates[:, GUESSER] = 0.5
    run = CrowdRun(
        base_url=system.base_url,
        link=annotator_link(campaign, "").removeprefix("/a/"),
        kind="select",
        max_groups=3,
        crowd=VoteCrowd(truth, rates[0], rates[1], unsure=0.02),
        seed=0,
        pace=0.05,
    )
    run.play()
    wait_until("the campaign to end", lambda: is_finished(campaign))
    check_log_against_database(run, campaign)
    ended = reloaded(campaign.id)
    with transaction() as session:
        model = get_model(session, session.get_one(Campaign, campaign.id))
    labels = read_labels(ended, model)
    right = ((labels.probability > 0.5) == truth).mean()
    assert ended.n_answers <= 0.85 * ended.budget, (ended.n_answers, model.metrics)
    # One run of 180 images: a standard error of 0.02.
    assert right >= TARGET - 0.06, (right, model.metrics)
    assert model.insight is not None
    assert "expected to" in (model.insight["enough"] or "")
    jury = model.insight["jury"]
    worst = min(jury, key=lambda annotator: annotator["sensitivity"] + annotator["specificity"])
    lease = next(entry.lease for entry in run.log if entry.annotator == GUESSER)
    with transaction() as session:
        guesser = session.scalars(
            select(Annotator.position).join(Answer).where(Answer.id == lease)
        ).one()
    assert worst["annotator"] == guesser, jury
    for method in ("majority", "dawid_skene", "glad"):
        # With some 45 votes a quality is known to 0.07: which of two is the least may be chance.
        # Where images have one vote each, a majority is everybody's own.
        assert worst["quality"][method] <= np.median(
            [annotator["quality"][method] for annotator in jury]
        ), jury

    headers = {"Authorization": f"Bearer {an_api_token(owner)}"}
    with httpx.Client(base_url=system.base_url, headers=headers, timeout=30) as client:
        reply = client.get(f"/api/v1/campaigns/{campaign.id}/export/labels.csv")
    lines = list(csv.DictReader(io.StringIO(reply.text)))
    assert len(lines) == N_IMAGES
    assert [line["label"] == "yes" for line in lines] == (labels.probability > 0.5).tolist()
