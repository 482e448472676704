"""What visitors with a read-only link see of replies that also have figures about people.

They see a campaign's results and progress: no figures of single annotators, no money, no warnings
and errors, which are for those who run the campaign.
"""

from typing import TypeVar

from app.accounts.models import VISITOR, Account
from app.results.class_label_schemas import ClassQualityOut
from app.results.insight_schemas import InsightOut
from app.results.label_schemas import LabelQualityOut
from app.results.membership_schemas import OwnClustersOut
from app.results.schemas import JobOut, ProgressOut
from app.results.settled_schemas import SettledOut

AboutAnnotators = TypeVar(
    "AboutAnnotators", InsightOut, LabelQualityOut, ClassQualityOut, OwnClustersOut
)


def without_annotators(account: Account, reply: AboutAnnotators) -> AboutAnnotators:
    """Return the reply, for a visitor without its rows about single annotators."""
    if account.role != VISITOR:
        return reply
    return reply.model_copy(update={"annotators": []})


def shown_progress(account: Account, progress: ProgressOut) -> ProgressOut:
    """Return the progress, for a visitor without money, warnings and errors."""
    if account.role != VISITOR:
        return progress
    monitor = progress.monitor.model_copy(
        update={"alerts": [], "spent_cents": 0, "projected_cents": 0}
    )
    job, choosing = (_without_error(each) for each in (progress.job, progress.choosing))
    return progress.model_copy(
        update={
            "monitor": monitor,
            "job": job,
            "choosing": choosing,
            "settled": _without_costs(progress.settled),
        }
    )


def _without_costs(settled: SettledOut | None) -> SettledOut | None:
    if settled is None:
        return None
    needs = ("needed", "needed_least", "needed_most")
    shown = {name: getattr(settled, name).model_copy(update={"cents": None}) for name in needs}
    return settled.model_copy(update=shown)


def _without_error(job: JobOut | None) -> JobOut | None:
    return job and job.model_copy(update={"error": None})
