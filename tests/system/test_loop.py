"""The whole loop with real processes: answers in, models and more local grids out."""

from collections import Counter

from sqlalchemy import func, select

from app.annotation.models import Answer
from app.campaigns.models import Campaign, Grid, Round
from app.campaigns.service import annotator_link
from app.core.database import transaction
from app.jobs.models import Job
from app.results.models import EmbeddedImage, Model
from likewise.simulation import CrowdRun, CrowdTraits, load_crowd
from tests.support.builders import a_campaign, a_collection, an_account, reloaded
from tests.support.system import System, wait_until


def a_crowd(
    system: System, campaign: Campaign, annotators: int, by: str, noise: float = 0.0
) -> CrowdRun:
    with transaction() as session:
        crowd = load_crowd(session, campaign, [by], CrowdTraits(annotators, noise))
    link = annotator_link(campaign, "").removeprefix("/a/")
    return CrowdRun(
        base_url=system.base_url,
        link=link,
        kind=campaign.kind,
        max_groups=campaign.max_groups,
        crowd=crowd,
        seed=0,
    )


def is_finished(campaign: Campaign) -> bool:
    return reloaded(campaign.id).state == "finished"


def check_log_against_database(run: CrowdRun, campaign: Campaign) -> None:
    """Every acknowledged answer is there, as its annotator gave it, and no other is."""
    with transaction() as session:
        rows = session.execute(
            select(Answer.id, Answer.groups, Answer.annotator_id, Grid.images)
            .join(Grid, Answer.grid_id == Grid.id)
            .where(Answer.campaign_id == campaign.id, Answer.submitted_at.is_not(None))
        ).all()
    stored = {
        str(answer): dict(zip(images, groups or [], strict=True))
        for answer, groups, _, images in rows
    }
    acknowledged = {
        entry.lease: dict(zip(entry.images, entry.groups, strict=True)) for entry in run.log
    }
    assert stored == acknowledged


def test_a_bins_campaign_learns_and_its_rounds_become_more_local(system: System) -> None:
    owner = an_account()
    campaign = a_campaign(
        owner,
        a_collection(owner, n=90),
        kind="bins",
        strategy="crowdster",
        budget=60,
        rounds=3,
        grid_size=10,
        grids_per_assignment=5,
    )
    run = a_crowd(system, campaign, annotators=6, by="features")
    run.play()
    wait_until("the campaign to end", lambda: is_finished(campaign))
    check_log_against_database(run, campaign)
    with transaction() as session:
        rounds = session.scalars(select(Round).order_by(Round.number)).all()
        models = session.scalars(select(Model).order_by(Model.version)).all()
        places = session.scalar(
            select(func.count())
            .select_from(EmbeddedImage)
            .where(EmbeddedImage.model_id == models[-1].id)
        )
    assert [one.n_answers for one in rounds] == [20, 20, 20]
    assert [one.state for one in rounds] == ["closed"] * 3
    assert rounds[0].locality is None
    assert rounds[1].locality is not None
    assert rounds[1].locality < 0.8
    assert models[-1].n_answers == 60
    assert places == 90


def test_two_hundred_annotators_at_once_fill_every_grid_exactly(system: System) -> None:
    campaign = a_campaign(
        budget=900, answers_per_grid=3, rounds=1, grids_per_assignment=10, learn_every=10_000
    )
    run = a_crowd(system, campaign, annotators=200, by="colour", noise=0.1)
    run.play()
    assert len(run.log) == 900
    assert {entry.status for entry in run.log} == {"stored"}
    seen = Counter((entry.annotator, entry.grid) for entry in run.log)
    assert max(seen.values()) == 1
    assert set(Counter(entry.grid for entry in run.log).values()) == {3}
    check_log_against_database(run, campaign)
    wait_until("the last model", lambda: is_finished(campaign))
    with transaction() as session:
        grids = session.scalars(select(Grid)).all()
        per_grid = dict(
            session.execute(select(Answer.grid_id, func.count()).group_by(Answer.grid_id)).all()
        )
        states = session.scalars(select(Job.state)).all()
    assert all(grid.n_answers == grid.wanted == per_grid[grid.id] == 3 for grid in grids)
    assert states == ["done"]
