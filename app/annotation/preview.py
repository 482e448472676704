"""The data for trying the annotators' page without a running campaign: a few random grids."""

import numpy as np
from pydantic import BaseModel
from sqlalchemy.orm import Session

from app.annotation.presenters import for_annotators, leased_images, shown_questions
from app.annotation.schemas import CampaignForAnnotators, LeasedImage, QuestionsOut
from app.campaigns.annotation_settings import annotation_of
from app.campaigns.models import Campaign
from app.campaigns.questions import PLACES, Place
from app.collections.models import Collection
from app.collections.service import require_images
from learning.queries import random_grids

N_GRIDS = 3


class Preview(BaseModel):
    """Responses to the page's requests; its script plays the server (frontend/src/preview.ts)."""

    campaign: CampaignForAnnotators
    stages: list[str]
    questions: dict[Place, QuestionsOut]
    grids: list[list[LeasedImage]]
    target: int


def preview_of(
    session: Session, campaign: Campaign, language: str, *, whole: bool = True
) -> Preview:
    """Return a preview for people who read a language. With `whole`, it includes what comes before
    the grids.

    Raises Conflict if the collection is too small for a grid.
    """
    collection = session.get_one(Collection, campaign.collection_id)
    require_images(collection, campaign.grid_size)
    settings = annotation_of(campaign.annotation)
    stages = ["consent"] if whole and settings.consent.strip() else []
    if whole and settings.questions_before:
        stages.append("questions")
    if whole and settings.show_instructions:
        stages.append("instructions")
    rng = np.random.default_rng(campaign.seed)
    grids = random_grids(N_GRIDS, campaign.grid_size, collection.n_images, rng)
    return Preview(
        # Nobody who tries the page has to take their time.
        campaign=for_annotators(campaign, language).model_copy(update={"quick_pause": 0}),
        stages=stages,
        questions={place: shown_questions(settings.questions(place)) for place in PLACES},
        grids=[leased_images(session, campaign, [int(k) for k in grid]) for grid in grids],
        target=campaign.grids_per_assignment,
    )
