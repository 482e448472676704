"""Payment for someone who did the work but could not submit it: a HIT that only this person can
see."""

from datetime import timedelta
from typing import Any

from app.recruitment.channel import ChannelError, Compensation
from app.recruitment.channels.mturk import people as turk_people
from app.recruitment.channels.mturk import tasks
from app.recruitment.channels.mturk.api import MTurkApi
from app.recruitment.channels.mturk.texts import clipped


def compensate(api: MTurkApi, order: Compensation) -> tuple[str, dict[str, Any]]:
    """Publish a HIT with one place that is paid as soon as it is submitted. Repeatable.

    The details are those of a posting, and `told`: whether MTurk wrote to the person. It does so
    only for people whose work was approved or rejected before.
    """
    alone = turk_people.qualification_type(
        api,
        f"Compensation ({order.token})",
        "Given to one person who worked on a task but could not submit it.",
    )
    turk_people.grant(api, alone, order.person)
    task = tasks.Task(
        token=order.token,
        title=order.title,
        description=order.description or order.title,
        keywords="compensation",
        url=order.url,
        places=1,
        reward_cents=order.amount_cents,
        lifetime=timedelta(days=order.days),
        allowed=timedelta(hours=1),
        auto_approval=timedelta(),
        requirements=[
            {
                "QualificationTypeId": alone,
                "Comparator": "Exists",
                "ActionsGuarded": "DiscoverPreviewAndAccept",
            }
        ],
        attempts=order.attempts,
    )
    hit_id, details = tasks.post(api, task)
    return hit_id, {**details, "told": _tell(api, order, details["preview_url"])}


def _tell(api: MTurkApi, order: Compensation, address: str) -> bool:
    try:
        reply = api.tell(
            "notify_workers",
            Subject=clipped(order.title, 200),
            MessageText=clipped(f"{order.description}\n\n{address}", 4096),
            WorkerIds=[order.person],
        )
    except ChannelError:
        # The task exists anyway, and `told` shows the requester that nobody was notified.
        return False
    return not reply.get("NotifyWorkersFailureStatuses")
