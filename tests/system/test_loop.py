"""The whole loop with real processes: answers in, models and more local grids out."""

from collections import Counter
from datetime import timedelta
from statistics import mean
from typing import Any, Protocol

from sqlalchemy import func, select

from app.annotation.models import Annotator, Answer
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign, Grid, Round
from app.collections.models import Image
from app.core.database import transaction
from app.jobs.models import Job
from app.planning.crowd import CrowdTraits, make_crowd, read_images
from app.results.insight import set_focus
from app.results.models import EmbeddedImage, Model
from learning.simulation import AttributeCrowd
from likewise.simulation import CrowdRun, Stored
from testbed.builders import (
    a_campaign,
    a_collection,
    a_table_of_two_attributes,
    an_account,
    reloaded,
)
from testbed.system import System, wait_until
from tests.support.scale import FULL


def a_crowd(
    system: System, campaign: Campaign, annotators: int, by: str, noise: float = 0.0
) -> CrowdRun:
    with transaction() as session:
        traits = CrowdTraits(annotators, noise)
        crowd = make_crowd(read_images(session, campaign), by.split(","), traits)
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


class Logged(Protocol):
    """Whoever has played annotators, and knows what was acknowledged."""

    log: list[Stored]


def check_log_against_database(run: Logged, campaign: Campaign) -> None:
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
        ready_share=0.0,
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
    assert [closed.n_answers for closed in rounds] == [20, 20, 20]
    assert [closed.state for closed in rounds] == ["closed"] * 3
    assert rounds[0].locality is None
    assert rounds[1].locality is not None
    # Random grids have 1; of ninety images, twenty answers tell little.
    assert rounds[1].locality < 0.9
    assert models[-1].n_answers == 60
    assert places == 90


def test_nobody_waits_while_a_round_is_learned(system: System) -> None:
    owner = an_account()
    campaign = a_campaign(
        owner,
        a_collection(owner, n=120),
        kind="bins",
        strategy="crowdster",
        budget=120,
        rounds=2,
        grid_size=10,
        grids_per_assignment=30,
        learn_every=1_000,
    )
    run = a_crowd(system, campaign, annotators=6, by="features")
    # Nothing is learned until the second round is half answered.
    system.kill("worker")
    run.limit = 90
    run.play()
    assert not [handout for handout in run.handouts if handout.status == "wait"]
    system.start("worker")
    wait_until("the first model", lambda: n_models(campaign) == 1)
    run.limit = 10**9
    run.play()
    wait_until("the campaign to end", lambda: is_finished(campaign))
    check_log_against_database(run, campaign)
    # At the very end some wait whether a grid that others hold comes back; of two who ask at the
    # same moment, either may have the last.
    last_lease = max(handout.at for handout in run.handouts if handout.status == "leased")
    waits = [handout for handout in run.handouts if handout.status == "wait"]
    assert not [
        handout for handout in waits if handout.at + timedelta(seconds=handout.seconds) < last_lease
    ]
    with transaction() as session:
        rows = session.execute(select(Round.number, Grid.basis).join(Grid)).all()
        models = session.scalars(select(Model).order_by(Model.version)).all()
    behind = Counter(number - 1 - basis for number, basis in rows if number == 2)
    assert behind.keys() == {0, 1}, "grids of the newest model, and some of the one before"
    assert "neighbour_stability" in models[-1].metrics


def test_many_annotators_at_once_fill_every_grid_exactly(system: System) -> None:
    annotators, budget = (200, 900) if FULL else (48, 210)
    campaign = a_campaign(
        budget=budget, answers_per_grid=3, rounds=1, grids_per_assignment=10, learn_every=10_000
    )
    run = a_crowd(system, campaign, annotators=annotators, by="colour", noise=0.1)
    run.play()
    assert len(run.log) == budget
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


def test_a_crowd_of_two_kinds_is_told_apart_and_asked_about_one_attribute(
    system: System,
) -> None:
    owner = an_account()
    campaign = a_campaign(
        owner,
        a_collection(owner, n=60, table=a_table_of_two_attributes(60)),
        budget=240,
        rounds=3,
        grid_size=12,
        grids_per_assignment=5,
        ready_share=0.0,
        settings={"attribute_share": 0.5, "uncertain_share": 0.2},
    )
    run = a_crowd(system, campaign, annotators=8, by="colour,size")
    # From seventy answers with some noise, a model once joined the two attributes in one.
    run.limit = 90
    run.play()
    wait_until("the first model", lambda: newest_insight(campaign) is not None)
    insight = newest_insight(campaign)
    assert insight is not None
    names = {frozenset((a["low"] + a["high"])[:2]): a["index"] for a in insight["attributes"]}
    assert set(names) == {frozenset(("red", "blue")), frozenset(("tiny", "huge"))}

    size = names[frozenset(("tiny", "huge"))]
    with transaction() as session:
        set_focus(session, session.get_one(Campaign, campaign.id), size)
    run.limit = 10**9
    run.play()
    wait_until("the campaign to end", lambda: is_finished(campaign))
    check_log_against_database(run, campaign)
    insight = newest_insight(campaign)
    assert insight is not None
    favourites = {
        annotator["annotator"]: max(
            range(8),
            key=lambda k, annotator=annotator: annotator["preference"][k],  # type: ignore[misc]
        )
        for annotator in insight["annotators"]
    }
    colour = names[frozenset(("red", "blue"))]
    theirs = true_favourites(run, (colour, size))
    assert favourites.keys() == theirs.keys()
    # A person draws the attribute of each answer, the favourite in four of five, from the twenty
    # or so grids that come to them: one of eight may have drawn the other more often.
    assert sum(favourites[who] == favourite for who, favourite in theirs.items()) >= 7
    assert set(favourites.values()) == set(names.values())

    with transaction() as session:
        last = session.scalars(select(Round).order_by(Round.number.desc()).limit(1)).one()
        about = session.scalars(
            select(Grid).where(Grid.round_id == last.id, Grid.purpose == "attribute")
        ).all()
        images = {image.position: image.attributes for image in session.scalars(select(Image))}
    assert len(about) == 40
    assert {grid.attribute for grid in about} == {size}

    def variety(name: str, value: str) -> float:
        shares = [mean(images[k][name] == value for k in grid.images) for grid in about]
        return float(mean(4 * share * (1 - share) for share in shares))

    assert variety("size", "huge") > 0.9
    assert variety("colour", "red") < 0.4


def true_favourites(run: CrowdRun, attributes: tuple[int, ...]) -> dict[int, int]:
    """The attribute that each annotator, by position, has in mind most: index among the model's."""
    assert isinstance(run.crowd, AttributeCrowd)
    own = run.crowd.preferences.argmax(axis=1)
    with transaction() as session:
        query = select(Answer.id, Annotator.position).join(
            Annotator, Annotator.id == Answer.annotator_id
        )
        position = {str(answer): where for answer, where in session.execute(query)}
    return {position[entry.lease]: attributes[own[entry.annotator]] for entry in run.log}


def n_models(campaign: Campaign) -> int:
    with transaction() as session:
        query = select(func.count()).select_from(Model).where(Model.campaign_id == campaign.id)
        return session.scalar(query) or 0


def newest_insight(campaign: Campaign) -> dict[str, Any] | None:
    with transaction() as session:
        query = select(Model).where(Model.campaign_id == campaign.id)
        newest = session.scalar(query.order_by(Model.version.desc()).limit(1))
        return newest.insight if newest else None
