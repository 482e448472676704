"""What the newest model says for annotators whose quality checks look random."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.annotation import hooks
from app.campaigns.models import Campaign
from app.results.models import Model
from learning.quality import ENOUGH_ANSWERS


@hooks.model_agreement.answered_by
def model_agreement(session: Session, campaign: Campaign) -> dict[int, float]:
    """Return how well the campaign's newest model agrees with each annotator who has enough
    answers for that, by position; nothing if it predicts no held-out answers."""
    query = select(Model.insight).where(Model.campaign_id == campaign.id)
    insight = session.scalar(query.order_by(Model.version.desc()).limit(1)) or {}
    if insight.get("structure") == "none":
        return {}
    return {
        about["annotator"]: about["agreement"]
        for about in insight.get("annotators", [])
        if about.get("agreement") is not None and about["n_answers"] >= ENOUGH_ANSWERS
    }
