"""Request and response bodies of the planning API."""

from dataclasses import asdict
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from pydantic import BaseModel, Field

from app.campaigns.plan_settings import PlanSettings
from app.collections.media import image_url
from app.core.fields import StrictInt
from app.jobs.models import Job
from app.kinds import Kind
from app.planning.models import DryRun
from app.planning.service import Plan


class DryRunIn(BaseModel, extra="forbid"):
    """The simulated crowd. `by` lists attributes of the collection, or is ["features"] or
    ["imagined"] (a made-up similarity). By default it is what the collection has."""

    by: list[str] | None = Field(default=None, max_length=10)
    annotators: StrictInt = Field(default=8, ge=1, le=1000)
    noise: float = Field(
        default=0.1, ge=0, le=1, description="Share of images that are put into a random group."
    )


class PointOut(BaseModel):
    """The share of nearest neighbours that are right after `answers` answers, with its standard
    error."""

    answers: int
    right: float
    error: float
    foretold: float | None


class PicturedImage(BaseModel):
    """The position of an image on the map of the simulated campaign's last model, in [0, 1]."""

    image: int
    url: str
    x: float
    y: float


class DryRunOut(BaseModel):
    """A dry run.

    ends: one point for each simulated campaign, with other budgets or crowds.
    rounds: the points of this campaign's own budget.
    picture: some of the images on the map.
    stale: whether the campaign has been changed since.
    """

    id: UUID
    created_at: datetime
    by: list[str]
    annotators: int
    noise: float
    n_images: int
    n_simulated: int
    state: str
    progress: float
    error: str | None
    stale: bool
    ends: list[PointOut]
    rounds: list[PointOut]
    picture: list[PicturedImage]

    @classmethod
    def of(cls, run: DryRun, job: Job, plan: Plan) -> "DryRunOut":
        asked = {name: run.asked[name] for name in ASKED}
        return cls(
            id=run.id,
            created_at=run.created_at,
            **asked,
            state=job.state,
            progress=job.progress,
            error=job.error,
            stale=plan.stale,
            ends=[PointOut(**point) for point in run.ends],
            rounds=[PointOut(**point) for point in run.rounds],
            picture=[
                PicturedImage(image=image.position, url=image_url(image), x=x, y=y)
                for image, x, y in plan.picture
            ],
        )


ASKED = ("by", "annotators", "noise", "n_images", "n_simulated")


class EffortOut(BaseModel):
    grids: int
    answers: int
    checks: int
    assignments: int
    views_per_image: float
    minutes_per_grid: float
    minutes_per_assignment: float
    hours: float


class CostsOut(BaseModel):
    """What the campaign costs, in cents."""

    rewards_cents: int
    fees_cents: int
    total_cents: int
    fee_percent: float
    hourly_cents: int | None


class PlanOut(BaseModel):
    """A campaign's plan.

    needed: answers for the target quality according to the newest dry run; null if unknown.
    beyond: whether no simulated budget reached the target quality.
    seconds_from: the source of the time per grid: yours, campaign, account or usual.
    """

    settings: PlanSettings
    effort: EffortOut
    costs: CostsOut
    currency: str
    seconds_from: str
    needed: float | None
    beyond: bool
    dry_run: DryRunOut | None
    warnings: list[str]

    @classmethod
    def of(cls, plan: Plan, currency: str) -> "PlanOut":
        run = plan.dry_run
        return cls(
            settings=plan.settings,
            effort=EffortOut(**asdict(plan.effort)),
            costs=CostsOut(**asdict(plan.costs)),
            currency=currency,
            seconds_from=plan.seconds_from,
            needed=plan.needed,
            beyond=plan.beyond,
            dry_run=DryRunOut.of(run, plan.job, plan) if run and plan.job else None,
            warnings=plan.warnings,
        )


class StrategyOut(BaseModel):
    """A strategy. `settings` is a JSON schema from which a form can be made."""

    name: str
    title: str
    summary: str
    kinds: list[str]
    default_rounds: int
    settings: dict[str, Any]


class KindOut(BaseModel):
    """A kind of task. If `votes` is true, its groups are votes and their number is fixed;
    otherwise `group_noun` says what requesters call their number. `takes_descriptions`: annotators
    can be asked to describe groups. `classes` are names
    to begin with, if annotators choose from names that the requester gives. `strategy` and
    `views` (how often each image is shown) are suggestions for a new campaign."""

    title: str
    about: str
    question: str
    grid_size: int
    smallest_grid: int
    max_groups: int
    columns: int
    votes: bool
    takes_descriptions: bool
    classes: list[str]
    needs_known_value: bool
    known_rule: str
    known_groups: str
    strategy: str
    views: int
    grids_per_assignment: int
    group_noun: str

    @classmethod
    def of(cls, kind: Kind) -> Self:
        return cls(
            title=kind.title,
            about=kind.about,
            question=kind.question,
            grid_size=kind.grid_size,
            smallest_grid=kind.smallest_grid,
            max_groups=kind.max_groups,
            columns=kind.columns,
            votes=kind.form == "votes",
            takes_descriptions=kind.takes_descriptions,
            classes=list(kind.suggested_classes),
            needs_known_value=kind.needs_known_value,
            known_rule=kind.known_rule,
            known_groups=kind.known_groups,
            strategy=kind.strategy,
            views=kind.views,
            grids_per_assignment=kind.grids_per_assignment,
            group_noun=kind.group_noun,
        )


class OptionsOut(BaseModel):
    """What you can choose for a campaign. `campaign`, `annotation` and `plan` are JSON
    schemas; `campaign` is that of the campaign's own fields, with their ranges."""

    kinds: dict[str, KindOut]
    strategies: list[StrategyOut]
    campaign: dict[str, Any]
    annotation: dict[str, Any]
    plan: dict[str, Any]


class GroupingsOut(BaseModel):
    """What a simulated crowd could group the campaign's images by. `usual` is the default, and
    `known` are attributes from which known answers can be made, `values` theirs, the most
    frequent first, if known answers need one."""

    attributes: list[str]
    known: list[str]
    features: bool
    usual: list[str]
    values: dict[str, list[str]]
