"""How many positions of images an account may keep in the models of all its campaigns."""

from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.core.errors import InvalidInput
from app.core.settings import get_settings
from app.results.models import EmbeddedImage, Model


def require_room_for_models(session: Session, owner_id: UUID, n_more: int = 0) -> None:
    """Raise InvalidInput if an account's models, with `n_more` positions of another one, are more
    than it may keep. Trainings at the same moment may exceed the limit by what they add.

    A model has a row with the position of each image, which is most of what it takes on the disk.
    """
    most = get_settings().max_account_positions
    if _positions_of(session, owner_id) + n_more > most:
        raise InvalidInput(
            f"The campaign's owner can keep up to {most:,} positions of images in the models of "
            "all campaigns together: a model has one for each image. Answers are kept. Delete a "
            "collection that is no longer needed with its campaigns, or ask the administrator to "
            "raise LIKEWISE_MAX_ACCOUNT_POSITIONS. Larger numbers of answers between trainings "
            "make fewer models.",
            code="account_full",
        )


def _positions_of(session: Session, owner_id: UUID) -> int:
    """A campaign may have had fewer images when a model was trained; a look into the index says how
    many, where counting would read them all."""
    last = (
        select(func.max(EmbeddedImage.position) + 1)
        .where(EmbeddedImage.model_id == Model.id)
        .scalar_subquery()
    )
    query = (
        select(func.coalesce(func.sum(last), 0))
        .select_from(Model)
        .join(Campaign, Model.campaign_id == Campaign.id)
        .where(Campaign.owner_id == owner_id)
    )
    return int(session.scalars(query).one())
