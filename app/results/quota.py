"""How many positions of images an account may keep in the models of all its campaigns."""

from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.core.errors import InvalidInput
from app.core.settings import get_settings
from app.results.models import Model


def require_room_for_models(session: Session, owner_id: UUID, n_more: int = 0) -> None:
    """Raise InvalidInput if an account's models, with `n_more` positions of another one, are more
    than it may keep.

    A model has a row with the position of each image, which is most of what it takes on the disk.
    """
    query = (
        select(func.coalesce(func.sum(Campaign.n_images), 0))
        .select_from(Model)
        .join(Campaign, Model.campaign_id == Campaign.id)
        .where(Campaign.owner_id == owner_id)
    )
    most = get_settings().max_account_positions
    if int(session.scalars(query).one()) + n_more > most:
        raise InvalidInput(
            f"Your account can keep up to {most:,} positions of images in the models of all its "
            "campaigns together: a model has one for each image. Answers are kept. Let models be "
            "trained less often (answers between trainings), or ask the administrator to raise "
            "LIKEWISE_MAX_ACCOUNT_POSITIONS.",
            code="account_full",
        )
