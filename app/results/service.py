"""Reading results: progress, models, maps and neighbours."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session, aliased

from app.annotation.leases import count_live_leases
from app.annotation.models import Answer
from app.campaigns.models import Campaign, Round
from app.collections.models import Collection, Image
from app.core.errors import InvalidInput, NotFound
from app.jobs.models import Job
from app.jobs.service import latest_job
from app.results.models import EmbeddedImage, Model
from app.results.stopping import Known, Outlook, outlook


@dataclass(frozen=True)
class Progress:
    """State of a running campaign, read in a few small queries."""

    campaign: Campaign
    rounds: list[Round]
    models: list[Model]
    job: Job | None
    live_leases: int
    answers_by_minute: list[tuple[str, int]]
    outlook: Outlook
    n_new_images: int


def read_progress(session: Session, campaign: Campaign) -> Progress:
    rounds = session.scalars(
        select(Round)
        .where(Round.campaign_id == campaign.id, (Round.state != "ready") | (Round.n_answers > 0))
        .order_by(Round.number)
    )
    models = list_models(session, campaign)
    last_of_round = {model.round_number: model for model in models}
    collection = session.get_one(Collection, campaign.collection_id)
    return Progress(
        campaign=campaign,
        rounds=list(rounds),
        models=models,
        n_new_images=collection.n_images - campaign.n_images if campaign.started_at else 0,
        outlook=outlook([Known(one.n_answers, one.metrics) for one in last_of_round.values()]),
        job=latest_job(session, campaign.id),
        live_leases=count_live_leases(session, campaign),
        answers_by_minute=_answers_by_minute(session, campaign),
    )


def _answers_by_minute(session: Session, campaign: Campaign) -> list[tuple[str, int]]:
    minute = func.date_trunc("minute", Answer.submitted_at, "UTC")
    query = (
        select(minute, func.count())
        .where(Answer.campaign_id == campaign.id, Answer.submitted_at.is_not(None))
        .group_by(minute)
        .order_by(minute.desc())
        .limit(120)
    )
    rows = session.execute(query).all()
    return [(at.strftime("%Y-%m-%dT%H:%MZ"), count) for at, count in reversed(rows)]


def list_models(session: Session, campaign: Campaign) -> list[Model]:
    query = select(Model).where(Model.campaign_id == campaign.id).order_by(Model.version)
    return list(session.scalars(query))


def get_model(session: Session, campaign: Campaign, version: int | None = None) -> Model:
    """The model of that version, or the newest; raises NotFound."""
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
    """Images with their places, by position."""
    query = (
        select(Image, EmbeddedImage)
        .join(EmbeddedImage, EmbeddedImage.position == Image.position)
        .where(Image.collection_id == campaign.collection_id, EmbeddedImage.model_id == model.id)
        .order_by(Image.position)
    )
    return [(image, place) for image, place in session.execute(query)]


def nearest_neighbours(
    session: Session, campaign: Campaign, model: Model, position: int, k: int
) -> list[tuple[Image, float]]:
    """The k images nearest to the image at `position`, with Euclidean distances, nearest first.

    Raises InvalidInput when there is no image at `position`.
    """
    here = aliased(EmbeddedImage)
    centre = session.scalar(
        select(here.vector).where(here.model_id == model.id, here.position == position)
    )
    if centre is None:
        raise InvalidInput(
            f"Images of this campaign are numbered 0 to {campaign.n_images - 1}; "
            f"there is no image {position}.",
            code="unknown_image",
        )
    distance: Any = EmbeddedImage.vector.l2_distance(centre)
    query = (
        select(Image, distance)
        .join(EmbeddedImage, EmbeddedImage.position == Image.position)
        .where(
            EmbeddedImage.model_id == model.id,
            EmbeddedImage.position != position,
            Image.collection_id == campaign.collection_id,
        )
        .order_by(distance, EmbeddedImage.position)
        .limit(k)
    )
    return [(image, float(far)) for image, far in session.execute(query)]
