"""Bonuses that a recruitment's settings promise, once the reward is paid."""

from collections.abc import Iterable

from sqlalchemy.orm import Session

from app.annotation.models import Annotator, Assignment
from app.annotation.quality import verdict_of
from app.campaigns.models import Campaign
from app.recruitment import ledger
from app.recruitment.channels.paid import Paid
from app.recruitment.ledger import NewPayment
from app.recruitment.models import Recruitment, Submission
from app.recruitment.settings import settings_model

# The rule of the bonus for grids beyond the assignment that were not requested as extra grids:
# their answers arrived after the assignment had ended.
LATE = f"{ledger.EXTRA}:late"


def owe_bonuses(session: Session, recruitment: Recruitment, row: Submission) -> None:
    """Record what the person of a paid submission has earned on top of the reward. The caller must
    hold the recruitment's row lock."""
    if row.assignment_id is None:
        return
    assignment = session.get_one(Assignment, row.assignment_id)
    for bonus in bonuses_of(session, recruitment, assignment):
        ledger.owe(session, recruitment, bonus, assignment=assignment, submission=row)


def bonuses_of(
    session: Session, recruitment: Recruitment, assignment: Assignment
) -> Iterable[NewPayment]:
    """Yield the bonuses that follow from the recruitment's settings."""
    settings = paid_settings(recruitment)
    beyond = min(max(0, assignment.n_answered - assignment.target), settings.extra_grids)
    promised = min(beyond, assignment.extra)
    # Late answers were promised to nobody, so their bonus must not hold back the promised one.
    for rule, grids in ((ledger.EXTRA, promised), (LATE, beyond - promised)):
        if grids and settings.extra_cents:
            noun = "grid" if grids == 1 else "grids"
            reason = f"{grids} extra {noun}. Thank you!"
            yield NewPayment("bonus", rule, grids * settings.extra_cents, reason)
    if settings.quality_cents and _is_good(session, recruitment, assignment):
        yield NewPayment("bonus", "quality", settings.quality_cents, "For careful work. Thank you!")


def _is_good(session: Session, recruitment: Recruitment, assignment: Assignment) -> bool:
    campaign = session.get_one(Campaign, recruitment.campaign_id)
    annotator = session.get_one(Annotator, assignment.annotator_id)
    return verdict_of(session, campaign, annotator) == "good"


def paid_settings(recruitment: Recruitment) -> Paid:
    settings = settings_model(recruitment.channel).model_validate(recruitment.settings)
    assert isinstance(settings, Paid)
    return settings
