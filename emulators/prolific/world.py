"""The emulator's state. Only one event loop uses it, so nothing needs a lock."""

from collections import defaultdict
from collections.abc import Callable
from datetime import datetime

from emulators.kit.clock import Clock
from emulators.prolific.errors import not_found
from emulators.prolific.faults import Faults
from emulators.prolific.hooks import Hooks
from emulators.prolific.objects import (
    Bulk,
    Call,
    Group,
    Message,
    Participant,
    Project,
    Researcher,
    Study,
    Submission,
    Violation,
    Workspace,
)
from emulators.prolific.options import AccountOptions, Options
from emulators.prolific.tokens import Signer
from emulators.prolific.wallet import Wallet

COUNTRIES = ("0", "1", "1", "2")  # choices of current-country-of-residence


class World:
    """The marketplace: people, studies, submissions, payments and violations."""

    def __init__(self, options: Options, site: str) -> None:
        self.options = options
        self.site = site
        self.clock = Clock()
        self.faults = Faults(options.seed)
        self.signer = Signer()
        self.hooks = Hooks(self.clock, self.faults, self.violate)
        self.wallet = Wallet(self.clock)
        self.researchers: dict[str, Researcher] = {}  # by token
        self.workspaces: dict[str, Workspace] = {}
        self.projects: dict[str, Project] = {}
        self.participants: dict[str, Participant] = {}
        self.studies: dict[str, Study] = {}
        self.submissions: dict[str, Submission] = {}
        self.of_study: defaultdict[str, list[Submission]] = defaultdict(list)
        self.bulks: dict[str, Bulk] = {}
        self.groups: dict[str, Group] = {}
        self.messages: list[Message] = []
        self.violations: list[Violation] = []
        self.calls: list[Call] = []
        for account in options.accounts:
            self.add_researcher(account)
        for number in range(options.participants):
            self.add_participant(number)

    @property
    def now(self) -> datetime:
        return self.clock.now()

    def later(self, seconds: float, work: Callable[[], None]) -> None:
        self.clock.later(seconds, work)

    def violate(self, operation: str, problem: str) -> None:
        self.violations.append(Violation(self.now, operation, problem))

    def add_researcher(self, account: AccountOptions) -> Researcher:
        researcher = Researcher(account.email, account.token)
        workspace = Workspace(
            researcher, "My workspace", account.currency, account.fee_rate, account.vat_rate
        )
        project = Project(workspace, "My project")
        self.researchers[researcher.token] = researcher
        self.workspaces[workspace.id] = workspace
        self.projects[project.id] = project
        self.wallet.deposit(workspace, account.balance)
        return researcher

    def add_participant(self, number: int | None = None) -> Participant:
        number = len(self.participants) if number is None else number
        person = Participant(
            f"participant{number + 1}@example.org",
            {
                "age": 20 + number * 7 % 50,
                "sex": str(number % 2),
                "current-country-of-residence": COUNTRIES[number % len(COUNTRIES)],
                "fluent-languages": ["19"],
                "approval_rate": 100 - number % 6,
                "approval_numbers": number * 37 % 1000,
            },
        )
        self.participants[person.id] = person
        return person

    # Look-ups by owner: another account's object is reported as missing.

    def workspace_of(self, me: Researcher, id: str) -> Workspace:
        workspace = self.workspaces.get(id)
        if workspace is None or workspace.owner is not me:
            raise not_found(f"Workspace {id}")
        return workspace

    def my_workspaces(self, me: Researcher) -> list[Workspace]:
        return [workspace for workspace in self.workspaces.values() if workspace.owner is me]

    def my_projects(self, me: Researcher) -> list[Project]:
        return [project for project in self.projects.values() if project.workspace.owner is me]

    def project_of(self, me: Researcher, id: str) -> Project:
        project = self.projects.get(id)
        if project is None or project.workspace.owner is not me:
            raise not_found(f"Project {id}")
        return project

    def study_of(self, me: Researcher, id: str) -> Study:
        study = self.studies.get(id)
        if study is None or study.workspace.owner is not me:
            raise not_found(f"Study {id}")
        return study

    def my_studies(self, me: Researcher) -> list[Study]:
        return [study for study in self.studies.values() if study.workspace.owner is me]

    def submission_of(self, me: Researcher, id: str) -> Submission:
        submission = self.submissions.get(id)
        if submission is None or submission.study.workspace.owner is not me:
            raise not_found(f"Submission {id}")
        return submission

    def group_of(self, me: Researcher, id: str) -> Group:
        group = self.groups.get(id)
        if group is None or group.workspace.owner is not me or group.deleted:
            raise not_found(f"Participant group {id}")
        return group

    def participant(self, id: str) -> Participant:
        participant = self.participants.get(id)
        if participant is None:
            raise not_found(f"Participant {id}")
        return participant
