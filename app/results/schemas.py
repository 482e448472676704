"""Bodies of the results API."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from app.collections.media import image_url
from app.collections.models import Image
from app.core.settings import get_settings
from app.jobs.models import Job
from app.jobs.service import CHOOSE, LEARN
from app.results.class_labels import tells_class_labels
from app.results.evidence import Counts
from app.results.insight import finds_no_agreement, tells_attributes
from app.results.labels import tells_labels
from app.results.models import EmbeddedImage, Model
from app.results.monitor import Monitor
from app.results.own_clusters import tells_clusters
from app.results.service import Progress
from app.results.settled import KeptOfImage
from app.results.settled_schemas import KeptOut, SettledOut
from app.results.stopping import MORE


class RoundOut(BaseModel):
    number: int
    state: str
    answers: int
    wanted: int
    locality: float | None
    contents: dict[str, Any] | None


class JobOut(BaseModel):
    """A job. `failed` is final: no attempts are left, or another one would fail for the same
    reason; `error` says why. If `can_retry`, `POST …/actions/retry` starts a new one; this holds
    for the newest training only."""

    id: UUID
    kind: str
    state: str
    attempts: int
    max_attempts: int
    progress: float
    error: str | None
    can_retry: bool
    created_at: datetime
    finished_at: datetime | None

    @classmethod
    def of(cls, job: Job) -> "JobOut":
        return cls(
            id=job.id,
            kind=job.kind,
            state=job.state,
            attempts=job.attempts,
            max_attempts=get_settings().job_max_attempts,
            progress=job.progress,
            error=job.error,
            can_retry=job.kind in (LEARN, CHOOSE) and job.state == "failed",
            created_at=job.created_at,
            finished_at=job.finished_at,
        )


class ModelOut(BaseModel):
    """A model. `has_insight`: it describes attributes and annotators; `has_memberships`: it has its
    own clusters, with every image's membership; `has_labels`: it labels every image;
    `no_agreement`: nothing it learned predicts held-out answers, so its positions mean nothing;
    `has_settled`: it is measured how many of each image's neighbours would stay."""

    version: int
    round: int
    n_answers: int
    created_at: datetime
    metrics: dict[str, float]
    has_insight: bool
    has_memberships: bool
    has_labels: bool
    no_agreement: bool
    has_settled: bool

    @classmethod
    def of(cls, model: Model) -> "ModelOut":
        return cls(
            version=model.version,
            round=model.round_number,
            n_answers=model.n_answers,
            created_at=model.created_at,
            metrics=model.metrics,
            has_insight=tells_attributes(model),
            has_memberships=tells_clusters(model),
            has_labels=tells_labels(model) or tells_class_labels(model),
            no_agreement=finds_no_agreement(model),
            has_settled=model.settled is not None,
        )


class OutlookOut(BaseModel):
    """What the next `answers` answers would improve, with standard errors; null while unknown.

    `agreement`: predicted rise in the share of correctly predicted held-out placements;
    `neighbours`: share of nearest neighbours that would still change.
    """

    answers: int
    agreement: float | None
    agreement_error: float | None
    neighbours: float | None
    neighbours_error: float | None


class BarOut(BaseModel):
    """One bar of the chart: the number of `answers` submitted in the minute, hour or day `at`, and
    of the `annotators` who submitted them."""

    at: datetime
    answers: int
    annotators: int


class AlertOut(BaseModel):
    level: str
    code: str
    text: str


class MonitorOut(BaseModel):
    """How the campaign is going. `unit` of the bars: minute, hour or day; `ready_grids`: grids that
    could be shown now; costs are in cents of the currency and include the platform's fee;
    `ends_at`: at the pace of the last hour."""

    unit: str
    bars: list[BarOut]
    ready_grids: int
    seconds_per_grid: float | None
    currency: str
    spent_cents: int
    projected_cents: int
    ends_at: datetime | None
    alerts: list[AlertOut]

    @classmethod
    def of(cls, monitor: Monitor) -> "MonitorOut":
        return cls(
            unit=monitor.activity.unit,
            bars=[
                BarOut(at=at, answers=answers, annotators=people)
                for at, answers, people in monitor.activity.points
            ],
            ready_grids=monitor.ready_grids,
            seconds_per_grid=monitor.seconds_per_grid,
            currency=monitor.currency,
            spent_cents=monitor.spent_cents,
            projected_cents=monitor.projected_cents,
            ends_at=monitor.ends_at.replace(second=0, microsecond=0) if monitor.ends_at else None,
            alerts=[AlertOut(**vars(alert)) for alert in monitor.alerts],
        )


class SimulatedOut(BaseModel):
    """What simulated annotators have done: they count for no figure about people."""

    annotators: int
    answers: int = Field(description="Quality checks included.")


class LookedAtOut(BaseModel):
    """A running job computes features of images: of `done` of the campaign's `images` so far."""

    done: int
    images: int


class ProgressOut(BaseModel):
    """A campaign's progress. `asked_again`: answers whose places were opened for others because
    they are left out; `asked_again_open`: such places that have no new answer yet. `asked_images`
    of `images` may be shown to annotators; `choosing`: the job that chooses them, until they are
    chosen; null otherwise. `looked_at`: how many images have features, while a job computes those
    of a large campaign; null otherwise."""

    id: UUID
    state: str
    answers: int
    surplus: int
    imported: int
    budget: int
    asked_again: int
    asked_again_open: int
    annotators: int
    simulated: SimulatedOut
    round: int
    rounds: int
    rounds_detail: list[RoundOut]
    leases: int
    job: JobOut | None
    models: list[ModelOut]
    monitor: MonitorOut
    outlook: OutlookOut
    settled: SettledOut | None
    focus_images: list[int] | None
    new_images: int
    images: int
    asked_images: int
    choosing: JobOut | None
    looked_at: LookedAtOut | None

    @classmethod
    def of(cls, progress: Progress) -> "ProgressOut":
        campaign, job, choosing = progress.campaign, progress.job, progress.choosing
        looked_at = progress.looked_at
        return cls(
            id=campaign.id,
            state=campaign.state,
            answers=campaign.n_answers,
            surplus=campaign.n_surplus,
            imported=campaign.n_imported,
            budget=campaign.budget,
            asked_again=progress.n_asked_again,
            asked_again_open=campaign.n_reopened,
            annotators=progress.n_annotators,
            simulated=SimulatedOut(**vars(progress.simulated)),
            round=progress.rounds[-1].number if progress.rounds else 0,
            rounds=campaign.rounds,
            rounds_detail=[
                RoundOut(
                    number=round_.number,
                    state=round_.state,
                    answers=round_.n_answers,
                    wanted=round_.n_wanted,
                    locality=round_.locality,
                    contents=round_.contents,
                )
                for round_ in progress.rounds
            ],
            leases=progress.live_leases,
            job=None if job is None else JobOut.of(job),
            models=[ModelOut.of(model) for model in progress.models],
            monitor=MonitorOut.of(progress.monitor),
            outlook=OutlookOut(answers=MORE, **vars(progress.outlook)),
            settled=None if progress.settled is None else SettledOut.of(progress.settled),
            new_images=progress.n_new_images,
            images=progress.n_images,
            asked_images=progress.n_asked,
            choosing=None if choosing is None else JobOut.of(choosing),
            looked_at=None if looked_at is None else LookedAtOut(**vars(looked_at)),
            focus_images=campaign.settings.get("focus_images"),
        )


class MapPoint(BaseModel):
    image: int
    x: float
    y: float
    url: str
    filename: str


class MapOut(BaseModel):
    """Points of the map. `attributes[name][k]` belongs to `points[k]` and is null if the image has
    no such value."""

    version: int
    points: list[MapPoint]
    attributes: dict[str, list[str | None]]

    @classmethod
    def of(cls, version: int, rows: list[tuple[Image, EmbeddedImage]]) -> "MapOut":
        names = sorted({name for image, _ in rows for name in image.attributes})
        return cls(
            version=version,
            points=[
                MapPoint(
                    image=image.position,
                    x=place.x,
                    y=place.y,
                    url=image_url(image),
                    filename=image.filename,
                )
                for image, place in rows
            ],
            attributes={
                name: [_text(image.attributes.get(name)) for image, _ in rows] for name in names
            },
        )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


class NeighbourOut(BaseModel):
    """A neighbour. `together` and `apart`: number of answers that put it together with the centre
    or apart from it, by `annotators` people; all are 0 if the two were never shown together.
    `deviation`: standard deviation of the distance, null if the model does not tell."""

    image: int
    distance: float
    deviation: float | None = None
    url: str
    large_url: str
    filename: str
    together: int
    apart: int
    annotators: int


class NeighboursOut(BaseModel):
    """Neighbours, nearest first. Distances are Euclidean, in the model's embedding. `kept` is null
    if it is not measured for this image and model."""

    version: int
    image: int
    kept: KeptOut | None
    neighbours: list[NeighbourOut]

    @classmethod
    def of(
        cls,
        model: Model,
        image: int,
        nearest: list[tuple[Image, float]],
        evidence: Mapping[int, Counts],
        deviations: Sequence[float | None],
        kept: KeptOfImage | None,
    ) -> "NeighboursOut":
        return cls(
            version=model.version,
            image=image,
            kept=None if kept is None else KeptOut.of_image(kept),
            neighbours=[
                NeighbourOut(
                    image=near.position,
                    distance=distance,
                    deviation=deviation,
                    url=image_url(near),
                    large_url=image_url(near, "large"),
                    filename=near.filename,
                    **vars(evidence.get(near.position, Counts())),
                )
                for (near, distance), deviation in zip(nearest, deviations, strict=True)
            ],
        )
