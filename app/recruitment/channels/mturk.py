"""Amazon Mechanical Turk: tasks are HITs with an ExternalQuestion, submissions are assignments.

Whatever the environment, the same requests are made; only the endpoint differs. AWS has announced
that MTurk closes on 30 September 2026: this serves those whose endpoint still answers.
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
    PlannedRequest,
    PlatformSubmission,
    PostingOrder,
    PostingRef,
    PostingStatus,
    Rejection,
    SubmissionRef,
)
from app.recruitment.channels import (
    mturk_bonus,
    mturk_check,
    mturk_compensation,
    mturk_market,
    mturk_people,
    mturk_tasks,
    mturk_work,
)
from app.recruitment.channels.mturk_api import MTurkApi, api_of
from app.recruitment.channels.mturk_sites import site_of
from app.recruitment.channels.mturk_texts import require_dollars
from app.recruitment.settings import MTurkSettings

if TYPE_CHECKING:
    # The registry imports this file.
    from app.recruitment.registry import Credentials


def _now() -> datetime:
    return datetime.now(UTC)


class MTurkChannel:
    """See app.recruitment.channel.Channel. `now`: for tests with a clock of their own."""

    bonuses_repeatable = True
    # One request each, so each outcome is written down before the next.
    bonus_batch = 1

    def __init__(self, api: MTurkApi, now: Callable[[], datetime] = _now) -> None:
        self._api = api
        self._now = now

    def check(self) -> Checked:
        return mturk_check.check(self._api)

    def publish(self, order: PostingOrder) -> tuple[str, dict[str, Any]]:
        """A HIT. Details: `hit_type_id`, `hit_group_id`, `preview_url`, `expires_at` (ISO),
        `qualification_type_id` (who has it may not take part; or empty), `not_excluded`: how many
        of the order's excluded people MTurk did not take, `notifications`: what went wrong with
        the queue, if anything did."""
        settings: MTurkSettings = order.settings
        require_dollars(order.currency)
        former, not_excluded = "", 0
        if settings.exclude_former:
            former = self._former(order.campaign)
            unmarked = mturk_people.lacking(self._api, former, order.excluded)
            not_excluded = len(mturk_people.grant_to_all(self._api, former, unmarked))
        hit_id, details = mturk_tasks.post(self._api, self._task(order, former))
        return hit_id, {
            **details,
            "qualification_type_id": former,
            "not_excluded": not_excluded,
        }

    def planned(self, order: PostingOrder) -> list[PlannedRequest]:
        """The names of what MTurk gives ids to stand for them."""
        settings: MTurkSettings = order.settings
        task = self._task(order, "(has taken part)" if settings.exclude_former else "")
        encrypted = self._api.site.environment != "custom"
        return [
            PlannedRequest("CreateHITType", mturk_tasks.hit_type_body(task)),
            PlannedRequest(
                "CreateHITWithHITType",
                mturk_tasks.hit_body(task, "(from the previous call)", encrypted=encrypted),
            ),
        ]

    def _task(self, order: PostingOrder, former: str) -> mturk_tasks.Task:
        settings: MTurkSettings = order.settings
        return mturk_tasks.Task(
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
            requirements=mturk_people.requirements(settings, former),
            attempts=order.attempts,
        )

    def _former(self, campaign: str) -> str:
        """The qualification type of those who took part: one for each campaign and account."""
        if not campaign:
            raise ValueError("Excluding people who took part needs the campaign's name.")
        return mturk_people.qualification_type(
            self._api,
            f"Has taken part ({campaign})",
            "Given to people who have submitted work for a study that each person can do once.",
        )

    def extend(
        self, posting: PostingRef, places: int, token: str, total: int | None = None
    ) -> None:
        """MTurk remembers tokens for 24 hours; with `total` it can be asked again at any time."""
        mturk_market.extend(self._api, posting, places, token, total, self._now())

    def pause(self, posting: PostingRef) -> None:
        mturk_market.close(self._api, posting, self._now())

    def stop(self, posting: PostingRef) -> None:
        mturk_market.close(self._api, posting, self._now())

    def resume(self, posting: PostingRef) -> None:
        hit = mturk_market.hit_of(self._api, posting)
        mturk_market.reopen(self._api, posting, hit, self._now())

    def status(self, posting: PostingRef) -> PostingStatus:
        return mturk_market.status(self._api, posting, self._now())

    def submissions(self, posting: PostingRef) -> Iterator[PlatformSubmission]:
        return mturk_work.submissions(self._api, posting)

    def submission(self, ref: SubmissionRef) -> PlatformSubmission | None:
        return mturk_work.submission(self._api, ref)

    def approve(self, ref: SubmissionRef, message: str) -> None:
        mturk_work.approve(self._api, ref, message)

    def reject(self, ref: SubmissionRef, rejection: Rejection) -> None:
        """MTurk knows no categories."""
        mturk_work.reject(self._api, ref, rejection.message)

    def reverse(self, ref: SubmissionRef, message: str) -> None:
        mturk_work.reverse(self._api, ref, message, self._now())

    def screen_out(self, ref: SubmissionRef) -> None:
        raise ChannelRefused(
            "MTurk can't screen people out. Approve the work, or pay part of it as a bonus.",
            "not_on_mturk",
        )

    def pay_bonuses(self, orders: Sequence[BonusOrder]) -> list[BonusOutcome]:
        return [mturk_bonus.pay(self._api, order) for order in orders]

    def find_bonus(self, order: BonusOrder) -> str | None:
        return mturk_bonus.find(self._api, order)

    def bonuses(self, posting: PostingRef, submissions: Sequence[str]) -> dict[str, int]:
        paid = mturk_bonus.paid_by_assignment(self._api, posting.external_id)
        return {one: paid.get(one, 0) for one in submissions}

    def exclude(self, posting: PostingRef, people: Sequence[str]) -> None:
        """They get the campaign's qualification, which its HITs demand not to have."""
        former = posting.details.get("qualification_type_id")
        if not former:
            raise ChannelRefused("This task is also open to people who took part before.")
        refused = mturk_people.grant_to_all(self._api, former, people)
        if refused:
            raise ChannelRefused(
                f"{len(refused)} of {len(people)} people could not be excluded: {refused[0]}",
                refused[0].code,
            )

    def compensate(self, order: Compensation) -> tuple[str, dict[str, Any]]:
        require_dollars(order.currency)
        return mturk_compensation.compensate(self._api, order)


def open_mturk(credentials: "Credentials") -> MTurkChannel:
    """Asks nothing of MTurk yet; raises ChannelRefused for an environment that is not set up."""
    secret = credentials.secret or {}
    api = api_of(
        site_of(credentials.environment),
        secret.get("access_key_id", ""),
        secret.get("secret_access_key", ""),
        credentials.profile if credentials.secret is None else "",
    )
    return MTurkChannel(api)
