"""Amazon Mechanical Turk. Tasks are HITs with an ExternalQuestion, and submissions are assignments.

The requests are the same in every environment; only the endpoint differs. AWS closed MTurk
on 30 September 2026, so this serves people whose endpoint still answers.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from app.recruitment.channel import (
    BonusOrder,
    BonusOutcome,
    ChannelRefused,
    Checked,
    Compensation,
    Message,
    PlannedRequest,
    PlatformSubmission,
    PostingOrder,
    PostingRef,
    PostingStatus,
    Rejection,
    SubmissionRef,
)
from app.recruitment.channels.mturk import (
    bonus,
    check,
    compensation,
    market,
    messages,
    tasks,
    work,
)
from app.recruitment.channels.mturk import (
    people as turk_people,
)
from app.recruitment.channels.mturk.api import MTurkApi, api_of
from app.recruitment.channels.mturk.settings import MTurkSettings
from app.recruitment.channels.mturk.sites import site_of
from app.recruitment.channels.mturk.texts import require_dollars

if TYPE_CHECKING:
    # The registry imports this file.
    from app.recruitment.channels.spec import Credentials


def _now() -> datetime:
    return datetime.now(UTC)


class MTurkChannel:
    """See app.recruitment.channel.Channel. Tests can pass their own clock as `now`."""

    bonuses_repeatable = True
    # Each bonus is one request, so that its outcome is recorded before the next one.
    bonus_batch = 1

    def __init__(self, api: MTurkApi, now: Callable[[], datetime] = _now) -> None:
        self._api = api
        self._now = now

    def check(self) -> Checked:
        return check.check(self._api)

    def publish(self, order: PostingOrder) -> tuple[str, dict[str, Any]]:
        """Publish a HIT. The details are `hit_type_id`, `hit_group_id`, `preview_url`, `expires_at`
        (ISO), `qualification_type_id` (people who have it may not take part; or empty),
        `not_excluded` (how many of the order's excluded people MTurk did not accept), and
        `notifications` (what went wrong with the queue, if anything)."""
        settings: MTurkSettings = order.settings
        require_dollars(order.currency)
        former, not_excluded = "", 0
        if settings.exclude_former:
            former = self._former(order.campaign)
            unmarked = turk_people.lacking(self._api, former, order.excluded)
            not_excluded = len(turk_people.grant_to_all(self._api, former, unmarked))
        hit_id, details = tasks.post(self._api, self._task(order, former))
        return hit_id, {
            **details,
            "qualification_type_id": former,
            "not_excluded": not_excluded,
        }

    def planned(self, order: PostingOrder) -> list[PlannedRequest]:
        """Return the requests, with placeholders instead of ids that MTurk assigns."""
        settings: MTurkSettings = order.settings
        task = self._task(order, "(has taken part)" if settings.exclude_former else "")
        encrypted = self._api.site.environment != "custom"
        return [
            PlannedRequest("CreateHITType", tasks.hit_type_body(task)),
            PlannedRequest(
                "CreateHITWithHITType",
                tasks.hit_body(task, "(from the previous call)", encrypted=encrypted),
            ),
        ]

    def _task(self, order: PostingOrder, former: str) -> tasks.Task:
        settings: MTurkSettings = order.settings
        return tasks.Task(
            token=order.token,
            title=order.title,
            description=order.description or order.title,
            keywords=settings.keywords,
            url=order.url,
            places=order.places,
            reward_cents=order.reward_cents,
            lifetime=timedelta(hours=settings.lifetime_hours),
            allowed=timedelta(minutes=settings.minutes_allowed),
            auto_approval=timedelta(hours=settings.auto_approval_hours),
            requirements=turk_people.requirements(settings, former),
            attempts=order.attempts,
        )

    def _former(self, campaign: str) -> str:
        """Return the qualification type of people who took part. There is one for each campaign and
        account."""
        if not campaign:
            raise ValueError("Excluding people who took part needs the campaign's name.")
        return turk_people.qualification_type(
            self._api,
            f"Has taken part ({campaign})",
            "Given to people who have submitted work for a study that each person can do once.",
        )

    def extend(
        self, posting: PostingRef, places: int, token: str, total: int | None = None
    ) -> None:
        """Add places. MTurk remembers tokens for 24 hours; with `total`, the request can be
        repeated at any time."""
        market.extend(self._api, posting, places, token, total, self._now())

    def pause(self, posting: PostingRef) -> None:
        market.close(self._api, posting, self._now())

    def stop(self, posting: PostingRef) -> None:
        market.close(self._api, posting, self._now())

    def resume(self, posting: PostingRef) -> None:
        hit = market.hit_of(self._api, posting)
        market.reopen(self._api, posting, hit, self._now())

    def status(self, posting: PostingRef) -> PostingStatus:
        return market.status(self._api, posting, self._now())

    def submissions(self, posting: PostingRef) -> Iterator[PlatformSubmission]:
        return work.submissions(self._api, posting)

    def submission(self, ref: SubmissionRef) -> PlatformSubmission | None:
        return work.submission(self._api, ref)

    def approve(self, ref: SubmissionRef, message: str) -> None:
        work.approve(self._api, ref, message)

    def reject(self, ref: SubmissionRef, rejection: Rejection) -> None:
        """Reject the work. MTurk has no rejection categories."""
        work.reject(self._api, ref, rejection.message)

    def reverse(self, ref: SubmissionRef, message: str) -> None:
        work.reverse(self._api, ref, message, self._now())

    def screen_out(self, ref: SubmissionRef) -> None:
        raise ChannelRefused(
            "MTurk can't screen people out. Approve the work, or pay part of it as a bonus.",
            "not_on_mturk",
        )

    def pay_bonuses(self, orders: Sequence[BonusOrder]) -> list[BonusOutcome]:
        return [bonus.pay(self._api, order) for order in orders]

    def find_bonus(self, order: BonusOrder) -> str | None:
        return bonus.find(self._api, order)

    def bonuses(self, posting: PostingRef, submissions: Sequence[str]) -> dict[str, int]:
        paid = bonus.paid_by_assignment(self._api, posting.external_id)
        return {submission_id: paid.get(submission_id, 0) for submission_id in submissions}

    def exclude(self, posting: PostingRef, people: Sequence[str]) -> None:
        """Give people the campaign's qualification. Its HITs require that people do not have it."""
        former = posting.details.get("qualification_type_id")
        if not former:
            raise ChannelRefused("This task is also open to people who took part before.")
        refused = turk_people.grant_to_all(self._api, former, people)
        if refused:
            raise ChannelRefused(
                f"{len(refused)} of {len(people)} people could not be excluded: {refused[0]}",
                refused[0].code,
            )

    def send_message(self, message: Message) -> None:
        messages.send(self._api, message)

    def compensate(self, order: Compensation) -> tuple[str, dict[str, Any]]:
        require_dollars(order.currency)
        return compensation.compensate(self._api, order)


def open_mturk(credentials: "Credentials") -> MTurkChannel:
    """Return the channel without contacting MTurk. Raises ChannelRefused for an environment that is
    not set up."""
    secret = credentials.secret or {}
    api = api_of(
        site_of(credentials.environment),
        secret.get("access_key_id", ""),
        secret.get("secret_access_key", ""),
        credentials.profile if credentials.secret is None else "",
    )
    return MTurkChannel(api)
