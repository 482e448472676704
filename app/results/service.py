"""Reading results: progress, models and maps."""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from app.annotation.asking_again import n_asked_again
from app.annotation.leases import count_live_leases
from app.annotation.models import Annotator
from app.annotation.simulated import SimulatedWork, simulated_work
from app.campaigns import hooks
from app.campaigns.asking import choosing_job, n_asked
from app.campaigns.models import IMPORTED_ROUND, Campaign, Round
from app.collections.models import Collection, Image
from app.core.errors import NotFound
from app.features.reading import n_of
from app.jobs.models import Job
from app.jobs.service import latest_job
from app.results.encoding import LookedAt, looked_at
from app.results.models import EmbeddedImage, Model, why_enough
from app.results.monitor import Monitor, read_monitor
from app.results.settled import Settled, newest_settled
from app.results.stopping import Known, Outlook, outlook


@dataclass(frozen=True)
class Progress:
    """The state of a running campaign, read in a few small queries."""

    campaign: Campaign
    rounds: list[Round]
    models: list[Model]
    job: Job | None
    live_leases: int
    monitor: Monitor
    outlook: Outlook
    settled: Settled | None
    n_annotators: int
    simulated: SimulatedWork
    n_new_images: int
    n_images: int
    n_asked: int
    n_asked_again: int
    choosing: Job | None
    looked_at: LookedAt | None


def read_progress(session: Session, campaign: Campaign) -> Progress:
    rounds = session.scalars(
        select(Round)
        .where(Round.campaign_id == campaign.id, Round.number != IMPORTED_ROUND)
        .where((Round.state != "ready") | (Round.n_answers > 0))
        .order_by(Round.number)
    )
    models = list_models(session, campaign)
    last_of_round = {model.round_number: model for model in models}
    collection = session.get_one(Collection, campaign.collection_id)
    job = latest_job(session, campaign.id)
    choosing = choosing_job(session, campaign)
    people = select(func.count()).where(Annotator.campaign_id == campaign.id)
    return Progress(
        campaign=campaign,
        rounds=list(rounds),
        models=models,
        n_annotators=session.scalar(people) or 0,
        simulated=simulated_work(session, campaign),
        n_new_images=collection.n_images - campaign.n_images if campaign.started_at else 0,
        outlook=outlook(
            [Known(model.n_answers, model.metrics) for model in last_of_round.values()]
        ),
        settled=newest_settled(session, campaign, models),
        n_images=n_of(session, campaign),
        n_asked=n_asked(session, campaign),
        n_asked_again=n_asked_again(session, campaign),
        choosing=choosing,
        job=job,
        looked_at=looked_at(session, campaign, choosing) or looked_at(session, campaign, job),
        live_leases=count_live_leases(session, campaign),
        monitor=read_monitor(session, campaign, [choosing, job], datetime.now(UTC)),
    )


def models_of(campaign: Campaign) -> Select[Model]:
    return select(Model).where(Model.campaign_id == campaign.id)


def list_models(session: Session, campaign: Campaign) -> list[Model]:
    return list(session.scalars(models_of(campaign).order_by(Model.version)))


def get_model(session: Session, campaign: Campaign, version: int | None = None) -> Model:
    """Return the model of that version, or the newest; raises NotFound."""
    query = select(Model).where(Model.campaign_id == campaign.id)
    if version is not None:
        query = query.where(Model.version == version)
    model = session.scalar(query.order_by(Model.version.desc()).limit(1))
    if model is None:
        which = f"model {version}" if version is not None else "model yet"
        raise NotFound(f"This campaign has no {which}.")
    return model


def read_map(
    session: Session, campaign: Campaign, model: Model
) -> list[tuple[Image, EmbeddedImage]]:
    """Return images with their positions on the map, by position."""
    query = (
        select(Image, EmbeddedImage)
        .join(EmbeddedImage, EmbeddedImage.position == Image.position)
        .where(Image.collection_id == campaign.collection_id, EmbeddedImage.model_id == model.id)
        .order_by(Image.position)
    )
    return [(image, place) for image, place in session.execute(query)]


@hooks.reason_to_end.answered_by
def reason_to_end(session: Session, campaign: Campaign) -> str | None:
    """Return why the newest model meets the targets of the current settings, or None if it does
    not."""
    query = select(why_enough(), Model.settings)
    newest = query.where(Model.campaign_id == campaign.id).order_by(Model.version.desc()).limit(1)
    row = session.execute(newest).first()
    return row[0] if row is not None and row[1] == campaign.settings else None
