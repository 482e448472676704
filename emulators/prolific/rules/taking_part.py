"""Participants' actions: take a place, begin, come back with a code, return the place."""

from emulators.prolific.errors import bad
from emulators.prolific.models.completion import AddToGroup, CompletionCode, RemoveFromGroup
from emulators.prolific.models.submissions import Status
from emulators.prolific.objects import Participant, Study, Submission
from emulators.prolific.rules import money
from emulators.prolific.rules.filters import may_see
from emulators.prolific.rules.studies import follow
from emulators.prolific.tokens import study_address
from emulators.prolific.world import World

NO_CODE = "NOCODE"


def open_studies(world: World, person: Participant) -> list[Study]:
    """The studies in which this person can take part now."""
    return [study for study in world.studies.values() if not obstacle(world, study, person)]


def obstacle(world: World, study: Study, person: Participant) -> str | None:
    """The reason why this person cannot take part in the study now, or None."""
    if study.status != "ACTIVE":
        return "This study is not accepting participants now."
    if not may_see(world, study, person):
        return "You are not eligible for this study."
    config, all_of_it = study.settings.submissions_config, world.of_study[study.id]
    most = config.max_submissions_per_participant or 1
    mine = [submission for submission in all_of_it if submission.participant is person]
    if any(submission.status in money.GOING_ON for submission in mine):
        return "You are already taking part in this study."
    if most != -1 and len(mine) >= most:
        return "You have already taken part in this study."
    if money.places_taken(world, study) >= study.settings.total_available_places:
        return "All places of this study are taken."
    running = money.counted(world, study, money.GOING_ON)
    at_once = config.max_concurrent_submissions
    if at_once not in (None, -1) and running >= (at_once or 0):
        return "Too many people are taking part right now. Try again later."
    return None


def reserve(world: World, study: Study, person: Participant) -> Submission:
    why_not = obstacle(world, study, person)
    if why_not:
        raise bad(why_not)
    submission = Submission(study, person, world.now)
    submission.history.append((world.now, "RESERVED"))
    world.submissions[submission.id] = submission
    world.of_study[study.id].append(submission)
    world.hooks.submission_changed(submission)
    follow(world, study)

    def too_long() -> None:
        if submission.status == "RESERVED":
            submission.returned_from = "RESERVED"
            set_status(world, submission, "RETURNED")

    world.later(world.options.reserved_minutes * 60, too_long)
    return submission


def start(world: World, submission: Submission) -> str:
    """Begin; returns the study's address for this person, which is the same every time."""
    if submission.status == "RESERVED":
        submission.started_at = world.now
        set_status(world, submission, "ACTIVE")

        def too_long() -> None:
            if submission.status == "ACTIVE" and not submission.submitted:
                set_status(world, submission, "TIMED-OUT")

        world.later(submission.study.allowed_minutes * 60, too_long)
    if submission.status != "ACTIVE":
        raise bad(f"This submission is {submission.status}.")
    fault = world.faults.first("study-url", "forged", "expired", "foreign")
    return study_address(submission, world.signer, fault.kind if fault else None)


def complete(world: World, submission: Submission, given: str | None) -> None:
    """The participant comes back with a code, a wrong code or none. A repeat changes nothing."""
    if submission.submitted:
        return
    if submission.status != "ACTIVE":
        raise bad(f"This submission is {submission.status}.")
    submission.submitted = True

    def arrive() -> None:
        if submission.status != "ACTIVE":
            return
        code = submission.study.code(given)
        submission.completed_at = world.now
        if code is None or code.actor != "participant":
            submission.entered_code = given or NO_CODE
            to_review(world, submission)
        else:
            submission.entered_code = given
            act(world, submission, code)

    world.later(world.options.submitted_seconds, arrive)


def act(
    world: World, submission: Submission, code: CompletionCode, percentage: float | None = None
) -> None:
    """Carry out a code's actions: groups first, then the submission's status."""
    names = {action.action for action in code.actions}
    for action in code.actions:
        if isinstance(action, AddToGroup):
            members = world.groups[action.participant_group].members
            members.setdefault(submission.participant.id, world.now)
        elif isinstance(action, RemoveFromGroup):
            world.groups[action.participant_group].members.pop(submission.participant.id, None)
    if "FIXED_SCREEN_OUT_PAYMENT" in names:
        screen_out(world, submission)
    elif "DYNAMIC_PAYMENT" in names:
        money.pay_part(world, submission, percentage or 0)
        set_status(world, submission, "PARTIALLY APPROVED")
    else:
        if "REQUEST_RETURN" in names:
            submission.return_requested = world.now
            submission.return_reasons = [
                action.return_reason for action in code.actions if action.action == "REQUEST_RETURN"
            ]
        to_review(world, submission)
        if "AUTOMATICALLY_APPROVE" in names:
            approve(world, submission)


def screen_out(world: World, submission: Submission) -> None:
    """Pay the screen-out and free the place; without money or slots, the researcher decides."""
    study = submission.study
    cost = money.slot(study)
    used = money.counted(world, study, ("SCREENED OUT",))
    if used >= money.slots(study) and money.available(world, study.workspace) < cost.total:
        to_review(world, submission)
        return
    world.wallet.pay(submission, "screen-out", cost)
    set_status(world, submission, "SCREENED OUT")


def to_review(world: World, submission: Submission) -> None:
    set_status(world, submission, "AWAITING REVIEW")
    submission.reviewing += 1
    turn = submission.reviewing

    def by_itself() -> None:
        if submission.status == "AWAITING REVIEW" and submission.reviewing == turn:
            approve(world, submission)

    world.later(world.options.review_days * 24 * 3600, by_itself)


def approve(world: World, submission: Submission) -> None:
    money.pay_reward(world, submission)
    set_status(world, submission, "APPROVED")


def give_back(world: World, submission: Submission) -> None:
    """The participant returns the place and gives up the reward."""
    if submission.status == "RETURNED":
        return
    if submission.status not in money.UNPAID:
        raise bad(f"A submission that is {submission.status} cannot be returned.")
    submission.returned_from = submission.status
    set_status(world, submission, "RETURNED")


def set_status(world: World, submission: Submission, status: Status) -> None:
    """Change a submission's status, which only this function does. A fault may show it later."""
    if submission.status == status:
        return
    before = submission.visible
    submission.status = status
    submission.history.append((world.now, status))
    late = world.faults.first("submission-status", "late")
    if late:
        submission.shown = before
        world.later(late.seconds or 5.0, lambda: _show(world, submission))
    else:
        submission.shown = None
        world.hooks.submission_changed(submission)
    follow(world, submission.study)


def _show(world: World, submission: Submission) -> None:
    submission.shown = None
    world.hooks.submission_changed(submission)
