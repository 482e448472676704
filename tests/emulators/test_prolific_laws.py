"""Whatever researchers and participants do, the emulator's books and places add up."""

from collections import Counter
from collections.abc import Callable

from hypothesis import settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from emulators.prolific.errors import Refused
from emulators.prolific.models.studies import StudyPatch, StudySettings
from emulators.prolific.models.submissions import Transition
from emulators.prolific.options import AccountOptions, Options
from emulators.prolific.rules import bonuses, money, reviewing, studies, taking_part
from emulators.prolific.world import World
from tests.emulators.researcher import LONG, code, draft

SCREEN_OUT = {"action": "FIXED_SCREEN_OUT_PAYMENT", "fixed_screen_out_reward": 20, "slots": 2}
CODES = [
    code("DONE", "MANUALLY_REVIEW"),
    code("AUTO", "AUTOMATICALLY_APPROVE"),
    code("OUT", SCREEN_OUT),
    code("PART", "DYNAMIC_PAYMENT", actor="researcher"),
]
index = strategies.integers(0, 30)


def allowed(act: Callable[[], object]) -> bool:
    """Whether the emulator let it happen."""
    try:
        act()
    except Refused:
        return False
    return True


class Marketplace(RuleBasedStateMachine):
    """Two studies, ten people and little money."""

    def __init__(self) -> None:
        super().__init__()
        account = AccountOptions(balance=1500)
        self.world = World(Options(accounts=(account,), participants=10), "http://site")
        (self.me,) = self.world.researchers.values()
        (self.workspace,) = self.world.workspaces.values()
        self.brought_back = 0
        self.deposited = 1500
        for _ in range(2):
            study_settings = StudySettings.model_validate(draft(completion_codes=CODES))
            study = studies.create(self.world, self.me, study_settings)
            studies.transition(self.world, study, "PUBLISH", None)
        self.studies = list(self.world.studies.values())

    @rule(number=index, person=index, begin=strategies.booleans())
    def take_part(self, number: int, person: int, begin: bool) -> None:
        people = list(self.world.participants.values())

        def act() -> None:
            study = self.studies[number % 2]
            submission = taking_part.reserve(self.world, study, people[person % 10])
            if begin:
                taking_part.start(self.world, submission)

        allowed(act)

    def submission(self, number: int):  # type: ignore[no-untyped-def]
        submissions = list(self.world.submissions.values())
        return submissions[number % len(submissions)]

    @precondition(lambda self: self.world.submissions)
    @rule(number=index, given=strategies.sampled_from(["DONE", "AUTO", "OUT", "PART", "?", None]))
    def come_back(self, number: int, given: str | None) -> None:
        allowed(lambda: taking_part.complete(self.world, self.submission(number), given))

    @precondition(lambda self: self.world.submissions)
    @rule(
        number=index,
        action=strategies.sampled_from(
            ["APPROVE", "REJECT", "RETURN", "START", "COMPLETE", "SCREEN_OUT", "UNREJECT",
             "UNRETURN"]
        ),
        given=strategies.sampled_from(["OUT", "PART"]),
    )  # fmt: skip
    def decide(self, number: int, action: str, given: str) -> None:
        wanted = Transition.model_validate(
            {
                "action": action,
                "message": LONG,
                "rejection_category": "OTHER",
                "completion_code": given,
                "completion_code_data": {"percentage_of_reward": 50},
            }
        )
        submission = self.submission(number)
        before = submission.status
        if allowed(lambda: reviewing.transition(self.world, submission, wanted)):
            self.brought_back += action.startswith("UN") and submission.status != before

    @precondition(lambda self: self.world.submissions)
    @rule(number=index, pence=strategies.integers(1, 300), times=strategies.integers(1, 3))
    def give_a_bonus(self, number: int, pence: int, times: int) -> None:
        submission = self.submission(number)
        line = f"{submission.id},{pence / 100:.2f}"
        bulk = bonuses.set_up(self.world, submission.study, line)
        assert bulk.amount == pence
        for _ in range(times):
            allowed(lambda: bonuses.pay(self.world, bulk))

    @rule(number=index, action=strategies.sampled_from(["PAUSE", "START", "STOP"]))
    def steer(self, number: int, action: str) -> None:
        allowed(lambda: studies.transition(self.world, self.studies[number % 2], action, None))

    @rule(number=index, more=strategies.integers(1, 3))
    def enlarge(self, number: int, more: int) -> None:
        study = self.studies[number % 2]
        places = study.settings.total_available_places + more
        change = StudyPatch(total_available_places=places)
        if not allowed(lambda: studies.patch(self.world, study, change)):
            assert study.settings.total_available_places == places - more

    @rule(minutes=strategies.sampled_from([0.1, 11.0, 1500.0, 22 * 24 * 60.0]))
    def wait(self, minutes: float) -> None:
        self.world.clock.advance(minutes * 60)

    @invariant()
    def nothing_is_spent_that_is_not_there(self) -> None:
        assert money.available(self.world, self.workspace) >= 0

    @invariant()
    def nobody_is_paid_twice_for_a_submission(self) -> None:
        kinds = ("reward", "partial", "screen-out")
        paid = Counter(
            entry.submission
            for entry in self.world.wallet.journal
            if entry.kind in kinds and entry.part == "money"
        )
        settled = ("APPROVED", "PARTIALLY APPROVED", "SCREENED OUT")
        assert paid == Counter(
            submission.id
            for submission in self.world.submissions.values()
            if submission.status in settled
        )

    @invariant()
    def bonuses_of_submissions_are_those_of_the_journal(self) -> None:
        for submission in self.world.submissions.values():
            journal = [
                -entry.amount
                for entry in self.world.wallet.journal
                if entry.submission == submission.id
                and (entry.kind, entry.part) == ("bonus", "money")
            ]
            assert submission.bonuses == journal

    @invariant()
    def no_more_places_are_taken_than_there_are(self) -> None:
        over = sum(
            max(0, money.places_taken(self.world, s) - s.settings.total_available_places)
            for s in self.studies
        )
        assert over <= self.brought_back


Marketplace.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestMarketplace = Marketplace.TestCase
