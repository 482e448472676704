"""The dry run's job: it simulates campaigns of several budgets and stores each result as it
comes."""

from dataclasses import asdict, replace
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.campaigns.locks import locked_campaign
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.core.events import campaign_changed
from app.features.reading import features_wanted
from app.jobs.service import complete_job, report_progress
from app.kinds import kind_of
from app.planning.crowd import CrowdTraits, make_crowd, sample_images
from app.planning.dry_run import MOST_IMAGES, Design, Played, Point, ladder, play
from app.planning.models import DryRun
from app.results.learn import map_of
from app.strategies import get_strategy
from app.strategies.base import features_named

# How many crowds simulate each budget, because the result of one alone depends on luck.
CROWDS = 2


def run_dry_run(campaign_id: UUID, job_id: UUID, epoch: int) -> None:
    """Simulate a campaign and publish the results under the job's epoch. Raises LostLease if
    another process took over the job, and ValueError if the model can't learn from the simulated
    answers."""
    with transaction() as session:
        campaign = session.get_one(Campaign, campaign_id)
        run = session.scalars(select(DryRun).where(DryRun.job_id == job_id)).one()
        # Results of an earlier attempt would be counted twice.
        report_progress(session, job_id, epoch, 0.0)
        run.ends, run.rounds, run.picture = [], [], None
        asked, budget = run.asked, campaign.budget
        most = min(MOST_IMAGES, kind_of(campaign).simulated_images)
        table = sample_images(session, campaign, most, asked["by"])
        design = Design(**asked["design"])
        strategy = get_strategy(design.strategy)
        quick = strategy.settings_of_part(design.settings, 1.0)
        wanted = features_wanted(session, campaign, features_named(strategy, quick))
    features = wanted()
    if features is not None:
        features = features[table.positions]
    scale = asked["n_images"] / len(table)
    design = replace(design, settings=strategy.settings_of_part(design.settings, 1 / scale))
    own = round(budget / scale)
    budgets = ladder(design, len(table), own)
    done, whole = 0, CROWDS * sum(budgets)
    for answers in sorted(budgets, key=lambda size: (size != own, size)):
        for seed in range(CROWDS):
            traits = CrowdTraits(asked["annotators"], asked["noise"], design.seed + seed)
            crowd = make_crowd(table, asked["by"], traits, kind_of(design))
            played = play(design, crowd, answers, design.seed + seed, features)
            done += answers
            picture = _picture(played, table.positions) if answers == own and seed == 0 else None
            with transaction() as session:
                report_progress(session, job_id, epoch, done / whole)
                _store(session, job_id, played, scale, own=answers == own, picture=picture)
    with transaction() as session:
        locked_campaign(session, campaign_id)
        complete_job(session, job_id, epoch, n_learned=0, n_answers=0)
        campaign_changed(session, campaign_id)


def _store(
    session: Session,
    job_id: UUID,
    played: Played,
    scale: float,
    *,
    own: bool,
    picture: dict[str, Any] | None,
) -> None:
    """Store a result. Numbers of answers are scaled to the whole collection."""
    run = session.scalars(select(DryRun).where(DryRun.job_id == job_id).with_for_update()).one()
    points = [_scaled(point, scale) for point in played.points]
    run.ends = [*run.ends, points[-1]]
    if own:
        run.rounds = [*run.rounds, *points]
    if picture is not None:
        run.picture = picture


def _scaled(point: Point, scale: float) -> dict[str, Any]:
    return {**asdict(point), "answers": round(point.answers * scale)}


def _picture(played: Played, positions: list[int]) -> dict[str, Any]:
    places = map_of(played.embedding).round(4)
    return {
        "images": positions,
        "x": places[:, 0].tolist(),
        "y": places[:, 1].tolist(),
    }
