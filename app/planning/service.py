"""Planning a campaign: it estimates work and costs, and predicts by a dry run what answers will
find."""

from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.campaigns.asking import n_asked
from app.campaigns.models import Campaign
from app.campaigns.plan_settings import PlanSettings
from app.campaigns.service import get_campaign
from app.collections.models import Image
from app.core.errors import Conflict, InvalidInput
from app.jobs.models import Job
from app.jobs.service import DRY_RUN, active_job, request_job
from app.kinds import kind_of
from app.planning.advice import warnings_of
from app.planning.crowd import (
    FEATURES,
    IMAGINED,
    CrowdTraits,
    make_crowd,
    read_groupings,
    sample_images,
)
from app.planning.dry_run import MOST_IMAGES, Design, Point, answers_needed
from app.planning.models import DryRun
from app.recruitment.costs import Costs, Effort, costs_of, effort_for, seconds_per_grid

# More images could not be distinguished on a small map.
MOST_PICTURED = 150
DESIGN = (
    "kind",
    "strategy",
    "settings",
    "rounds",
    "grid_size",
    "max_groups",
    "classes",
    "answers_per_grid",
)


@dataclass(frozen=True)
class Plan:
    """Everything that the planner knows about a campaign.

    seconds_from: where the time per grid comes from.
    needed: answers for the target quality; None if unknown.
    beyond: whether even the largest simulated budget misses the target quality.
    picture: some images with their map positions (x, y) in the dry run's model.
    """

    settings: PlanSettings
    effort: Effort
    costs: Costs
    seconds_from: str
    needed: float | None
    beyond: bool
    dry_run: DryRun | None
    job: Job | None
    stale: bool
    picture: list[tuple[Image, float, float]]
    warnings: list[str] = field(default_factory=list)


def read_plan(session: Session, campaign: Campaign) -> Plan:
    """Return everything that the planner knows about a campaign now."""
    settings = PlanSettings.model_validate(campaign.plan)
    seconds, seconds_from = seconds_per_grid(session, campaign, settings)
    effort = effort_for(session, campaign, seconds)
    run = newest_dry_run(session, campaign)
    points = ends_of(run) if run is not None else []
    needed = answers_needed(points, settings.target)
    plan = Plan(
        settings=settings,
        effort=effort,
        costs=costs_of(effort, campaign.reward_cents, settings),
        seconds_from=seconds_from,
        needed=needed,
        beyond=bool(points) and needed is None,
        dry_run=run,
        job=session.get(Job, run.job_id) if run is not None else None,
        stale=run is not None and not _is_of(run, session, campaign),
        picture=_picture(session, campaign, run),
    )
    plan.warnings.extend(warnings_of(campaign, plan))
    return plan


def newest_dry_run(session: Session, campaign: Campaign) -> DryRun | None:
    query = select(DryRun).where(DryRun.campaign_id == campaign.id)
    return session.scalar(query.order_by(DryRun.created_at.desc(), DryRun.id.desc()).limit(1))


def _picture(
    session: Session, campaign: Campaign, run: DryRun | None
) -> list[tuple[Image, float, float]]:
    if run is None or run.picture is None:
        return []
    places = list(zip(run.picture["images"], run.picture["x"], run.picture["y"], strict=True))
    some = {position: (x, y) for position, x, y in places[:: -(-len(places) // MOST_PICTURED)]}
    query = select(Image).where(
        Image.collection_id == campaign.collection_id, Image.position.in_(some)
    )
    return [(image, *some[image.position]) for image in session.scalars(query)]


def ends_of(run: DryRun) -> list[Point]:
    return [Point(**point) for point in run.ends]


def design_of(campaign: Campaign) -> Design:
    """Return what determines how much answers find. Settings about real models are left out."""
    settings = {
        name: value
        for name, value in campaign.settings.items()
        if name not in ("focus", "focus_images", "start_from")
    }
    values = {name: getattr(campaign, name) for name in DESIGN} | {"settings": settings}
    return Design(**values, seed=campaign.seed)


def _asked(session: Session, campaign: Campaign) -> dict[str, Any]:
    return {
        "design": _as_asked(design_of(campaign)),
        "n_images": n_asked(session, campaign),
        "collection": str(campaign.collection_id),
    }


def _as_asked(design: Design) -> dict[str, Any]:
    """Dry runs from before there were classes have none."""
    return {name: value for name, value in asdict(design).items() if name != "classes" or value}


def _is_of(run: DryRun, session: Session, campaign: Campaign) -> bool:
    """Return whether nothing that determines what answers find has changed since the dry run."""
    now = _asked(session, campaign)
    return all(run.asked.get(name) == value for name, value in now.items())


def request_dry_run(
    session: Session,
    account: Account,
    campaign_id: UUID,
    by: list[str] | None = None,
    annotators: int = 8,
    noise: float = 0.1,
) -> DryRun:
    """Request a dry run with a crowd that groups by attributes, "features" or "imagined".

    Raises InvalidInput if the crowd can't be made, and Conflict while another dry run is running.
    """
    campaign = get_campaign(session, account, campaign_id)
    if not (1 <= annotators <= 1000 and 0 <= noise <= 1):
        raise InvalidInput("A crowd must have 1 to 1000 annotators and noise between 0 and 1.")
    chosen = by or read_groupings(session, campaign).usual
    if len(chosen) > 1 and {FEATURES, IMAGINED} & set(chosen):
        raise InvalidInput(
            f"A crowd groups either by attributes, by {FEATURES!r} or by {IMAGINED!r}. Choose one."
        )
    table = sample_images(session, campaign, MOST_IMAGES, chosen)
    make_crowd(table, chosen, CrowdTraits(annotators, noise), kind_of(campaign))
    # The campaign is locked only now, because answers need this lock as well.
    campaign = get_campaign(session, account, campaign_id, edit=True)
    if active_job(session, campaign.id, DRY_RUN) is not None:
        raise Conflict(
            "A dry run of this campaign is already running. Wait until it has finished.",
            code="dry_run_runs",
        )
    job = request_job(session, campaign.id, 0, DRY_RUN)
    run = DryRun(
        campaign_id=campaign.id,
        job_id=job.id,
        asked={
            **_asked(session, campaign),
            "by": chosen,
            "annotators": annotators,
            "noise": noise,
            "n_simulated": len(table),
        },
    )
    session.add(run)
    session.flush()
    return run
