"""How many answers an account may ask for and keep in all its campaigns together."""

from uuid import UUID

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.core.errors import InvalidInput
from app.core.settings import get_settings


def require_room_for_answers(session: Session, owner_id: UUID) -> None:
    """Raise InvalidInput if an account's campaigns have more answers, or budget for more, than it
    may keep, including those of the current transaction. Two campaigns that are started at the same
    moment may exceed the limit by their own size."""
    session.flush()
    most = get_settings().max_account_answers
    if _answers_of(session, owner_id) > most:
        raise InvalidInput(
            f"Your account can have up to {most:,} answers in all its campaigns together, and "
            "those of running campaigns count with their whole budget. Choose a smaller budget, "
            "finish campaigns that need no more answers, or ask the administrator to raise "
            "LIKEWISE_MAX_ACCOUNT_ANSWERS.",
            code="account_full",
        )


def _answers_of(session: Session, owner_id: UUID) -> int:
    """A draft has none, and a finished campaign gets no more."""
    others = Campaign.n_surplus + Campaign.n_imported
    going_on = Campaign.state.in_(("running", "paused"))
    each = others + case((going_on, Campaign.budget), else_=Campaign.n_answers)
    query = select(func.coalesce(func.sum(each), 0)).where(Campaign.owner_id == owner_id)
    return int(session.scalars(query).one())
