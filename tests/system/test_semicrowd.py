"""A campaign larger than its budget with real processes: some images asked about, all placed."""

import numpy as np
from sqlalchemy import select

from app.campaigns.models import Grid
from app.collections.models import Image
from app.core.database import transaction
from app.results.models import Clustering, EmbeddedImage, Model
from app.results.own_clusters import read_memberships
from testbed.builders import COLOURS, a_campaign, a_collection, an_account, reloaded
from testbed.system import System, wait_until
from tests.system.test_loop import a_crowd, check_log_against_database, is_finished

N_IMAGES, ASKED = 800, 400


def test_four_hundred_images_asked_about_place_all(system: System) -> None:
    owner = an_account()
    campaign = a_campaign(
        owner,
        a_collection(owner, n=N_IMAGES),
        kind="bins",
        strategy="scdc",
        budget=40,
        rounds=2,
        grid_size=20,
        grids_per_assignment=5,
        ready_share=0.0,
        settings={
            "features": "features",
            "n_annotated": ASKED,
            "max_clusters": 8,
            "n_latent": 2,
            "effort": "quick",
        },
    )
    run = a_crowd(system, campaign, annotators=6, by="colour", noise=0.05)
    run.play()
    wait_until("the campaign to end", lambda: is_finished(campaign))
    check_log_against_database(run, campaign)
    with transaction() as session:
        shown = {image for grid in session.scalars(select(Grid)) for image in grid.images}
        models = session.scalars(select(Model).order_by(Model.version)).all()
        places = session.scalars(
            select(EmbeddedImage.position).where(EmbeddedImage.model_id == models[-1].id)
        ).all()
        stored = session.scalars(
            select(Clustering).where(Clustering.model_id == models[-1].id)
        ).one()
        rows = session.scalars(select(Image.attributes).order_by(Image.position)).all()
    memberships = read_memberships(reloaded(campaign.id), models[-1])
    true = np.array([COLOURS.index(row["colour"]) for row in rows])
    assert len(shown) <= ASKED
    assert len(places) == len(memberships) == len(stored.labels) == N_IMAGES
    assert memberships.asked.sum() == len(shown)
    unasked = ~memberships.asked
    # Rows: clusters; columns: what the images show.
    counts = np.zeros((memberships.n_clusters, len(COLOURS)), np.int64)
    np.add.at(counts, (memberships.cluster[unasked], true[unasked]), 1)
    assert counts.max(axis=1).sum() > 0.9 * unasked.sum(), (counts, models[-1].metrics)
    assert 2 <= models[-1].metrics["clusters"] <= 8
    assert [model.round_number for model in models][-1] == 2
