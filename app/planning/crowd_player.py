"""The annotators of a simulated crowd, who take turns with one grid each."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

from sqlalchemy.orm import Session

from app.annotation import held, leases, practice, sessions, simulated
from app.annotation.answers import Submission, submit_answer
from app.annotation.checks import FINISHED
from app.annotation.sessions import AnnotatorSession
from app.campaigns.models import Campaign
from app.core import leased
from app.core.database import transaction
from app.core.errors import InvalidInput
from app.core.events import campaign_changed
from app.jobs.models import Job
from app.jobs.service import require_held
from app.kinds import Kind, kind_of
from app.planning.crowd import FEATURES, CrowdTraits, ImageTable, make_crowd, read_images
from app.planning.crowd_record import CrowdRecord, End
from learning.simulation import Crowd

# Others wait for the same worker.
TURN_SECONDS = 15.0
# What comes before a grid at most: each page before the grids, two tries of each practice grid.
MOST_STEPS = 100
LONGEST_WORDS = 500
Pause = End | Literal["turn_over", "stopping", "waiting"]
# What an annotator gets: a grid, or a reason why there is none for anybody, or for this one.
Turn = Literal["answered", "waiting", "over", "paused", "finished"]


class QuestionsAsked(InvalidInput):
    """The campaign asks annotators questions, which simulated ones cannot answer."""

    code = "questions_asked"


@dataclass(frozen=True)
class Grid:
    """A leased grid: `images` (S,) positions in the order shown."""

    lease_id: UUID
    images: list[int]


@dataclass
class CrowdPlayer:
    """Answers the grids of one claimed job, until there is a reason to pause.

    stopping: whether this worker is asked to stop.
    """

    job: Job
    stopping: Callable[[], bool]
    _record: CrowdRecord = field(init=False)
    _crowd: tuple[Crowd, Kind, int] | None = field(init=False, default=None)
    _assignments: dict[int, UUID] = field(init=False, default_factory=dict)
    _until: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self._record = CrowdRecord.of(self.job)

    def play(self) -> Pause:
        """Answer grids, and return why it stopped. Raises LostLease if the job was stopped or taken
        over, and LikewiseError or ValueError if this crowd can't answer the campaign."""
        self._until = time.monotonic() + TURN_SECONDS
        n = self._record.annotators
        # The annotator after the last one comes first, also after a pause.
        first = self._record.stored % n
        at_work = [(first + k) % n for k in range(n)]
        while at_work:
            turns: dict[int, Turn] = {}
            for person in at_work:
                if self._record.stored >= self._record.answers:
                    return "complete"
                if self.stopping():
                    return "stopping"
                if time.monotonic() > self._until:
                    return "turn_over"
                turn = turns[person] = self._turn(person)
                if turn == "paused" or turn == "finished":
                    return turn
            if "answered" not in turns.values() and "waiting" in turns.values():
                return "waiting"
            at_work = [person for person in at_work if turns[person] != "over"]
        return "no_work"

    def _turn(self, person: int) -> Turn:
        """Let an annotator answer their next grid, if there is one."""
        for _ in range(MOST_STEPS):
            if person not in self._assignments:
                self._open(person)
            got = self._next(person)
            if isinstance(got, Grid):
                self._answer(person, got)
                return "answered"
            # An assignment that begins with answers is the last one.
            if got == "assignment_done" and self._open(person):
                return "over"
            if got is not None and got != "assignment_done":
                return got
        raise InvalidInput("A simulated annotator does not get past the pages before the grids.")

    def _open(self, person: int) -> bool:
        """Enter as this annotator, and return whether the assignment has answers already."""
        key = simulated.annotator_key(self._record.seed, person)
        with transaction() as session:
            entered = simulated.enter(session, self._campaign(session), key)
            assignment = entered.assignment
        self._assignments[person] = assignment.id
        return assignment.n_answered > 0

    def _campaign(self, session: Session) -> Campaign:
        """Return the campaign, unless the job is over. Raises LostLease."""
        require_held(session, self.job.id, self.job.epoch)
        return session.get_one(Campaign, self.job.campaign_id)

    def _next(self, person: int) -> Grid | Turn | Literal["assignment_done"] | None:
        """Lease a grid, or do one step before it; None after a step."""
        with transaction() as session:
            campaign = self._campaign(session)
            if campaign.state in ("paused", "finished"):
                return "paused" if campaign.state == "paused" else "finished"
            who = sessions.session_of(session, self._assignments[person], lock=True)
            stage = sessions.stage(session, who)
            if stage == "screened_out":
                return "over"
            if stage != "work":
                self._step(session, who, stage, person)
                return None
            return _leased(session, who)

    def _step(
        self, session: Session, who: AnnotatorSession, stage: sessions.Stage, person: int
    ) -> None:
        if stage == "questions":
            raise _questions()
        if stage != "practice":
            sessions.take_step(session, who, stage)
            return
        _, grid, _ = practice.current_practice(session, who)
        groups, _ = self._sort(person, grid.images)
        practice.try_practice(session, who, grid.images, groups)

    def _answer(self, person: int, grid: Grid) -> None:
        """Store the answer together with the record that counts it. Raises LostLease."""
        groups, words = self._sort(person, grid.images)
        # Without a time: that of a simulated annotator would say how long people take.
        answer = Submission(grid.images, groups, words, elapsed_ms=None, trace=[])
        key = simulated.answer_key(grid.lease_id)
        with transaction() as session:
            lease = held.locked_with_all(session, self._assignments[person], grid.lease_id)
            # An earlier crowd of the same annotators was stopped while it gave this answer.
            is_counted = lease.answer.state in FINISHED
            stored = submit_answer(session, lease, answer, key).answer
            # The campaign is locked before the job, as everywhere.
            job = self._own_job(session)
            record = CrowdRecord.of(job)
            record.waiting_since = None
            if not is_counted:
                record.count(stored.state, is_check=lease.round is None)
            record.keep(job)
            campaign_changed(session, self.job.campaign_id)
        self._record = record

    def _own_job(self, session: Session) -> Job:
        """Lock the job and renew its lease. What was begun before a requester stopped it is still
        stored. Raises LostLease if another worker has taken it over."""
        job = session.get_one(
            Job, self.job.id, with_for_update={"key_share": True}, populate_existing=True
        )
        was_stopped = job.state == "done" and CrowdRecord.of(job).end == "stopped"
        if job.epoch != self.job.epoch or not (job.state == "running" or was_stopped):
            raise leased.lost_lease(Job, job.id, self.job.epoch)
        if job.state == "running":
            # Attempts before this answer say nothing about what comes next.
            job.lease_until, job.attempts = leased.lease_end(), 1
        return job

    def _sort(self, person: int, images: list[int]) -> tuple[list[int], list[str]]:
        """Return the group of each image, and the words of the groups."""
        crowd, kind, max_groups = self._made_crowd()
        answer = kind.simulate(crowd, person, images, max_groups)
        words = [text[:LONGEST_WORDS] for text in answer.descriptions]
        return [int(group) for group in answer.groups], words

    def _made_crowd(self) -> tuple[Crowd, Kind, int]:
        """Return the crowd, which is made when it gets its first grid, because reading all images
        takes long."""
        if self._crowd is None:
            record = self._record
            traits = CrowdTraits(record.annotators, record.noise, record.seed)
            with transaction() as session:
                campaign = session.get_one(Campaign, self.job.campaign_id)
                table, kind = _images(session, campaign, record), kind_of(campaign)
                max_groups = campaign.max_groups
            self._crowd = make_crowd(table, record.by, traits, kind), kind, max_groups
            # The next turn has to make the crowd again, so this one gets its time for answers.
            self._until = time.monotonic() + TURN_SECONDS
        return self._crowd


def _images(session: Session, campaign: Campaign, record: CrowdRecord) -> ImageTable:
    return read_images(session, campaign, features=FEATURES in record.by)


def _leased(
    session: Session, who: AnnotatorSession
) -> Grid | Turn | Literal["assignment_done"] | None:
    handout = leases.lease_next_grid(session, who)
    if handout.lease is not None and handout.grid is not None:
        return Grid(handout.lease.id, list(handout.grid.images))
    if handout.status == "questions":
        raise _questions()
    if handout.status == "warning":
        return None
    if handout.status == "done" and who.assignment.n_answered:
        return "assignment_done"
    return "waiting" if handout.status == "wait" else "over"


def _questions() -> QuestionsAsked:
    return QuestionsAsked(
        "The campaign asks questions before or after the grids, which simulated annotators cannot "
        "answer. Make a copy without these questions."
    )
