"""Researchers' decisions on submissions."""

from collections.abc import Callable

from emulators.prolific.errors import bad, not_found
from emulators.prolific.models.submissions import (
    ApproveByParticipant,
    BulkApprove,
    Transition,
)
from emulators.prolific.objects import Message, Researcher, Submission
from emulators.prolific.rules import money
from emulators.prolific.rules.taking_part import (
    act,
    approve,
    give_back,
    screen_out,
    set_status,
    start,
    to_review,
)
from emulators.prolific.world import World

# The status after an action. Repeating an action that has this result changes nothing.
DONE: dict[str, tuple[str, ...]] = {
    "APPROVE": ("APPROVED",),
    "REJECT": ("REJECTED",),
    "RETURN": ("RETURNED",),
    "START": ("ACTIVE",),
    "SCREEN_OUT": ("SCREENED OUT",),
}


def transition(world: World, submission: Submission, wanted: Transition) -> None:
    if submission.status in DONE.get(wanted.action, ()):
        return
    rule: Callable[[World, Submission, Transition], None] = RULES[wanted.action]
    rule(world, submission, wanted)


def _from(submission: Submission, action: str, *allowed: str) -> None:
    if submission.status not in allowed:
        raise bad(f"{action} is not possible for a submission that is {submission.status}.")


def _approve(world: World, submission: Submission, wanted: Transition) -> None:
    _from(submission, wanted.action, "AWAITING REVIEW")
    approve(world, submission)


def _reject(world: World, submission: Submission, wanted: Transition) -> None:
    _from(submission, wanted.action, "AWAITING REVIEW")
    submission.rejection = (wanted.rejection_category or "OTHER", wanted.message or "")
    set_status(world, submission, "REJECTED")
    say(world, submission, wanted.message or "")


def _return(world: World, submission: Submission, wanted: Transition) -> None:
    give_back(world, submission)


def _start(world: World, submission: Submission, wanted: Transition) -> None:
    _from(submission, wanted.action, "RESERVED")
    start(world, submission)


def _complete(world: World, submission: Submission, wanted: Transition) -> None:
    code = submission.study.code(wanted.completion_code)
    if code is None or code.actor != "researcher":
        raise bad(
            {"completion_code": ["This is not a code of this study that researchers can give."]}
        )
    if submission.entered_code == code.code and submission.status not in money.UNPAID:
        return
    _from(submission, wanted.action, "ACTIVE", "AWAITING REVIEW")
    data = wanted.completion_code_data
    percentage = data.percentage_of_reward if data else None
    if any(action.action == "DYNAMIC_PAYMENT" for action in code.actions) and percentage is None:
        raise bad({"completion_code_data": ["percentage_of_reward is required for this code."]})
    submission.submitted = True
    submission.entered_code = code.code
    submission.completed_at = submission.completed_at or world.now
    act(world, submission, code, percentage)
    if data and data.message_to_participant:
        say(world, submission, data.message_to_participant)


def _screen_out(world: World, submission: Submission, wanted: Transition) -> None:
    code = submission.study.code(wanted.completion_code)
    if code is None or code.screen_out is None:
        raise bad({"completion_code": ["This is not a screen-out code of this study."]})
    _from(submission, wanted.action, "ACTIVE", "AWAITING REVIEW")
    submission.submitted = True
    submission.entered_code = code.code
    submission.completed_at = submission.completed_at or world.now
    screen_out(world, submission)


def _unreject(world: World, submission: Submission, wanted: Transition) -> None:
    if submission.status == "AWAITING REVIEW":
        return
    _from(submission, wanted.action, "REJECTED")
    _bring_back(world, submission)


def _unreturn(world: World, submission: Submission, wanted: Transition) -> None:
    if submission.status in money.UNPAID:
        return
    _from(submission, wanted.action, "RETURNED")
    _bring_back(world, submission)


def _bring_back(world: World, submission: Submission) -> None:
    """Set the submission to await review again, if the reward can still be paid."""
    before, submission.status = submission.status, "AWAITING REVIEW"
    try:
        money.check_funds(world, submission.study.workspace)
    finally:
        submission.status = before
    submission.rejection = None
    submission.completed_at = submission.completed_at or world.now
    to_review(world, submission)


RULES: dict[str, Callable[[World, Submission, Transition], None]] = {
    "APPROVE": _approve,
    "REJECT": _reject,
    "RETURN": _return,
    "START": _start,
    "COMPLETE": _complete,
    "SCREEN_OUT": _screen_out,
    "UNREJECT": _unreject,
    "UNRETURN": _unreturn,
}


def approve_all(world: World, me: Researcher, wanted: BulkApprove) -> None:
    """Approve submissions in the background; all must exist and await review or be approved."""
    submissions = _named(world, me, wanted)
    early = [s.id for s in submissions if s.status not in ("AWAITING REVIEW", "APPROVED")]
    if early:
        raise bad(f"These submissions are not awaiting review: {', '.join(early)}.")

    def work() -> None:
        for submission in submissions:
            if submission.status == "AWAITING REVIEW":
                approve(world, submission)

    world.later(world.options.bonus_seconds, work)


def _named(world: World, me: Researcher, wanted: BulkApprove) -> list[Submission]:
    if not isinstance(wanted, ApproveByParticipant):
        return [world.submission_of(me, id) for id in wanted.submission_ids]
    study = world.study_of(me, wanted.study_id)
    by_person = {s.participant.id: s for s in world.of_study[study.id]}
    missing = [id for id in wanted.participant_ids if id not in by_person]
    if missing:
        raise not_found(f"A submission of {', '.join(missing)}")
    return [by_person[id] for id in wanted.participant_ids]


def request_return(world: World, submission: Submission, reasons: list[str]) -> None:
    _from(submission, "Asking for a return", "ACTIVE", "AWAITING REVIEW")
    submission.return_requested = submission.return_requested or world.now
    submission.return_reasons = reasons
    say(world, submission, "Please return this submission: " + "; ".join(reasons))


def say(world: World, submission: Submission, body: str) -> None:
    study = submission.study
    sender, recipient = study.workspace.owner.id, submission.participant.id
    world.messages.append(Message(sender, recipient, body, study.id, world.now))
