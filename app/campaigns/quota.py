"""How many answers an account may ask for and keep in all its campaigns together."""

from uuid import UUID

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.core.errors import InvalidInput
from app.core.row_security import bypass_row_security
from app.core.settings import get_settings


def require_room_for_answers(session: Session, owner_id: UUID) -> None:
    """Raise InvalidInput if an account's campaigns have more answers, or budget for more, than it
    may keep, including those of the current transaction. Simultaneous requests may exceed the limit
    by what they add."""
    session.flush()
    # Somebody with whom one of the campaigns is shared does not see the others.
    with bypass_row_security(session):
        n_answers = _answers_of(session, owner_id)
    most = get_settings().max_account_answers
    if n_answers > most:
        raise InvalidInput(
            f"The campaign's owner can have up to {most:,} answers in all campaigns together, and "
            "running campaigns count with their whole budget. Choose a smaller budget, finish "
            "campaigns that need no more answers, delete a collection that is no longer needed "
            "with its campaigns, or ask the administrator to raise LIKEWISE_MAX_ACCOUNT_ANSWERS.",
            code="account_full",
        )


def _answers_of(session: Session, owner_id: UUID) -> int:
    """A draft has none, and a finished campaign gets no more. Answers to known, repeated and
    practice grids are outside the budget and not counted."""
    others = Campaign.n_surplus + Campaign.n_imported
    going_on = Campaign.state.in_(("running", "paused"))
    each = others + case(
        (Campaign.reopened_only, Campaign.n_answers + Campaign.n_reopened),
        (going_on, Campaign.budget),
        else_=Campaign.n_answers,
    )
    query = select(func.coalesce(func.sum(each), 0)).where(Campaign.owner_id == owner_id)
    return int(session.scalars(query).one())
