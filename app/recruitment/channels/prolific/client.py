"""Prolific, through its API v1 (reliability.md §1b, docs.prolific.com)."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from app.core.settings import get_settings
from app.recruitment.channel import (
    BonusOrder,
    BonusOutcome,
    ChannelRefused,
    ChannelUnavailable,
    Checked,
    Message,
    PlannedRequest,
    PlatformSubmission,
    PostingOrder,
    PostingRef,
    PostingStatus,
    Rejection,
    SubmissionRef,
)
from app.recruitment.channels.prolific import messages
from app.recruitment.channels.prolific import posting as posting_of
from app.recruitment.channels.prolific.account import look_at_account, workspace_of
from app.recruitment.channels.prolific.bonuses import pay_all, was_paid
from app.recruitment.channels.prolific.http import ANSWER_SECONDS, ProlificHttp, public_json
from app.recruitment.channels.prolific.replies import (
    Nothing,
    SubmissionDetail,
    SubmissionShort,
)
from app.recruitment.channels.prolific.review import (
    APPROVED,
    AT_WORK,
    REJECTION_CATEGORIES,
    check_rejection,
    platform_submission,
)
from app.recruitment.channels.prolific.settings import ProlificSettings
from app.recruitment.channels.prolific.study import check_order, study_body
from app.recruitment.channels.prolific.subscriptions import ensure_hooks
from app.recruitment.channels.prolific.token import TokenClaims, TokenKeys, token_claims

if TYPE_CHECKING:
    from app.recruitment.channels.spec import Credentials

PRODUCTION = "https://api.prolific.com"
SITE = "https://app.prolific.com"
_ID = re.compile(r"[0-9A-Za-z]{8,64}")


class Prolific:
    """One researcher's account.

    Stopping a full study has no effect on Prolific: it becomes active again as soon as someone
    returns a place, and must be stopped then. People who came back with the code of `no_consent`
    (or, without pay for it, `screened_out`) are `submitted`, because Prolific has asked them to
    return the submission.
    """

    bonuses_repeatable = False
    bonus_batch = 100
    rejection_categories = REJECTION_CATEGORIES

    def __init__(self, http: ProlificHttp, workspace: str = "", real: bool = True) -> None:
        self.http = http
        self._workspace = workspace
        self._real = real

    def check(self) -> Checked:
        return look_at_account(self.http, self._workspace, self._real)

    def publish(self, order: PostingOrder) -> tuple[str, dict[str, Any]]:
        """Create and publish a study. The details are study_id, workspace_id, group_id (of people
        who may not take part again, or None), codes (complete, screened_out, no_consent),
        cost_cents of all places with fees, currency, and screen_out ({cents, slots} that may be
        paid in addition to the places, or None)."""
        settings = ProlificSettings.model_validate(order.settings)
        return posting_of.publish(self.http, order, settings, self._workspace)

    def planned(self, order: PostingOrder) -> list[PlannedRequest]:
        """Return the requests. Filters are shown as settings, because Prolific tells their names
        only when it is asked."""
        settings = ProlificSettings.model_validate(order.settings)
        check_order(order, settings)
        wanted = settings.model_dump(
            include={"countries", "min_percent_approved", "min_approved", "exclude_former"}
        )
        body = study_body(order, settings, "(the first project in the workspace)", [wanted])
        return [
            PlannedRequest("POST /api/v1/studies/", body),
            PlannedRequest("POST /api/v1/studies/…/transition/", {"action": "PUBLISH"}),
        ]

    def extend(
        self, posting: PostingRef, places: int, token: str, total: int | None = None
    ) -> None:
        """Add places, only by the total, because Prolific takes no tokens and could not tell a
        repetition from more places. A study that had ended becomes active again."""
        if total is None:
            raise ChannelRefused("Prolific needs the total number of places.", "no_total")
        posting_of.enlarge(self.http, _safe(posting.external_id), total)

    def pause(self, posting: PostingRef) -> None:
        posting_of.move(self.http, _safe(posting.external_id), "PAUSE", {"paused", "closed"})

    def resume(self, posting: PostingRef) -> None:
        posting_of.move(self.http, _safe(posting.external_id), "START", {"open"})

    def stop(self, posting: PostingRef) -> None:
        posting_of.move(self.http, _safe(posting.external_id), "STOP", {"closed"})

    def status(self, posting: PostingRef) -> PostingStatus:
        return posting_of.status(self.http, _safe(posting.external_id))

    def submissions(self, posting: PostingRef) -> Iterator[PlatformSubmission]:
        params: dict[str, str | int] = {
            "study": _safe(posting.external_id),
            "page_size": 100,
            # New submissions come last, so that pages don't shift while they are read.
            "ordering": "started_at",
        }
        for submission in self.http.pages("/api/v1/submissions/", SubmissionShort, params):
            yield platform_submission(submission)

    def submission(self, ref: SubmissionRef) -> PlatformSubmission | None:
        submission = self._read(ref.external_id)
        if submission is None or submission.study_id != ref.posting.external_id:
            return None
        return platform_submission(submission)

    def approve(self, ref: SubmissionRef, message: str) -> None:
        """Approve the work. Prolific stores no message with an approval."""
        self._transition(ref, {"action": "APPROVE"}, APPROVED)

    def reject(self, ref: SubmissionRef, rejection: Rejection) -> None:
        """Reject the work. Raises ChannelRefused without contacting Prolific if the category is not
        in `REJECTION_CATEGORIES` or the message is too short."""
        check_rejection(rejection)
        body = {
            "action": "REJECT",
            "rejection_category": rejection.category,
            "message": rejection.message.strip(),
        }
        self._transition(ref, body, {"REJECTED"})

    def reverse(self, ref: SubmissionRef, message: str) -> None:
        submission = self._read(ref.external_id)
        if submission is None:
            raise ChannelRefused("Prolific has no such submission.", "not_found")
        if submission.status == "REJECTED":
            self._transition(ref, {"action": "UNREJECT"}, {"AWAITING REVIEW", *APPROVED})
        self.approve(ref, message)

    def screen_out(self, ref: SubmissionRef) -> None:
        details = ref.posting.details
        if not details.get("screen_out"):
            raise ChannelRefused("This study has no pay for screened-out people.", "no_screen_out")
        body = {"action": "SCREEN_OUT", "completion_code": details["codes"]["screened_out"]}
        self._transition(ref, body, {"SCREENED OUT"})

    def pay_bonuses(self, orders: Sequence[BonusOrder]) -> list[BonusOutcome]:
        return pay_all(self.http, orders)

    def find_bonus(self, order: BonusOrder) -> str | None:
        """Look for a bonus by its amount, because Prolific shows only amounts, some minutes after
        paying. A bonus of the same amount that was paid to the same submission on Prolific itself
        looks the same."""
        submission = self._read(order.submission.external_id)
        return "" if submission is not None and was_paid(submission, order) else None

    def bonuses(self, posting: PostingRef, submissions: Sequence[str]) -> dict[str, int]:
        details = {submission_id: self._read(submission_id) for submission_id in submissions}
        return {
            submission_id: sum(int(amount) for amount in known.bonus_payments or ())
            for submission_id, known in details.items()
            if known is not None
        }

    def exclude(self, posting: PostingRef, people: Sequence[str]) -> None:
        group = posting.details.get("group_id")
        if not group:
            raise ChannelRefused(
                "This study was published without “One assignment per person”.",
                "no_group",
            )
        posting_of.keep_out(self.http, _safe(group), list(people))

    def send_message(self, message: Message) -> None:
        _safe(message.person), _safe(message.posting.external_id)
        messages.send(self.http, message)

    def confirm_person(self, session_id: str, participant: str, study: str) -> PlatformSubmission:
        """Confirm with Prolific that this person is working on this study.

        Raises ChannelRefused with code `unknown_submission`, `another_person`, `another_study`,
        `handed_in` or `not_at_work`.
        """
        submission = self._read(session_id) if _ID.fullmatch(session_id) else None
        if submission is None:
            raise ChannelRefused("Prolific has no such submission.", "unknown_submission")
        if submission.study_id != study:
            raise ChannelRefused("This submission belongs to another study.", "another_study")
        if not participant or submission.person != participant:
            raise ChannelRefused("This submission belongs to someone else.", "another_person")
        if submission.status in ("AWAITING REVIEW", *APPROVED):
            raise ChannelRefused("You have already submitted this.", "handed_in")
        if submission.status not in AT_WORK:
            raise ChannelRefused(
                "This submission is no longer active: it was returned, timed out or was reviewed. "
                "Open the study on Prolific again.",
                "not_at_work",
            )
        return platform_submission(submission)

    def token_claims(self, token: str, audience: str) -> TokenClaims:
        """Return the claims of a `prolific_token`. Raises BadToken (see prolific_token.py)."""
        return token_claims(token, audience, _keys(self.http.base))

    def ensure_hooks(self, url: str) -> str:
        """Have notifications sent to `url`, and return the secret that signs them. Store it
        encrypted."""
        workspace = workspace_of(self.http, self._workspace)
        return ensure_hooks(self.http, workspace.id, url)

    def _read(self, submission: str) -> SubmissionDetail | None:
        try:
            return self.http.get(f"/api/v1/submissions/{_safe(submission)}/", SubmissionDetail)
        except ChannelRefused as refusal:
            if refusal.code == "not_found":
                return None
            raise

    def _transition(self, ref: SubmissionRef, body: dict[str, str], reached: set[str]) -> None:
        """Change the state of a submission. Prolific ignores a change to the current state. If
        it refuses, or if the submission has not arrived yet, the submission's state tells what
        to do."""
        address = f"/api/v1/submissions/{_safe(ref.external_id)}/transition/"
        try:
            self.http.post(address, body, Nothing)
        except ChannelRefused as refusal:
            submission = self._read(ref.external_id)
            if submission is None or submission.status not in reached | AT_WORK:
                raise
            if submission.status in AT_WORK:
                raise ChannelUnavailable(
                    "Prolific does not show this as submitted yet."
                ) from refusal


def open_prolific(credentials: "Credentials", answer_seconds: float = ANSWER_SECONDS) -> Prolific:
    """Return the channel of an account. `secret` has the token, and the id of a workspace if there
    are several."""
    secret = credentials.secret or {}
    http = ProlificHttp(
        base_address(credentials.environment), secret.get("token", "").strip(), answer_seconds
    )
    return Prolific(http, secret.get("workspace", ""), real=credentials.environment == "production")


def base_address(environment: str) -> str:
    """Return the address of an environment's API. Raises ChannelRefused if it has none."""
    if environment == "production":
        return PRODUCTION
    if environment == "custom" and get_settings().prolific_endpoint:
        return get_settings().prolific_endpoint
    raise ChannelRefused(
        "Prolific has no sandbox. To try things out, the operator can set "
        "LIKEWISE_PROLIFIC_ENDPOINT to an emulator. Then choose the environment “custom”.",
        "no_environment",
    )


def completion_address(environment: str, code: str) -> str:
    """Return where a person goes with a completion code, as the top address of the page."""
    custom = environment == "custom" and get_settings().prolific_site
    site = get_settings().prolific_site.rstrip("/") if custom else SITE
    return f"{site}/submissions/complete?cc={quote(code, safe='')}"


def _safe(external_id: str) -> str:
    """Return an id that is safe to use in an address. Raises ChannelRefused."""
    if not _ID.fullmatch(external_id):
        raise ChannelRefused("This is not a Prolific ID.", "not_found")
    return external_id


@lru_cache(maxsize=4)
def _keys(base: str) -> TokenKeys:
    return TokenKeys(lambda: public_json(f"{base}/.well-known/study/jwks.json"))
