"""Letting a simulated crowd answer a running campaign: what is possible, starting and stopping.

The answers are given by a job (app/planning/crowd_play.py).
"""

import secrets
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.annotation.importing.answers import CHANNEL as IMPORTED
from app.annotation.models import Assignment
from app.annotation.simulated import CHANNEL
from app.campaigns.annotation_settings import annotation_of
from app.campaigns.models import Campaign
from app.campaigns.service import get_campaign
from app.core import leased
from app.core.errors import Conflict, InvalidInput
from app.core.events import campaign_changed
from app.features.reading import n_of
from app.jobs.models import Job
from app.jobs.service import SIMULATE, active_job, latest_job, request_job
from app.kinds import kind_of
from app.planning.crowd import (
    FEATURES,
    CrowdTraits,
    Groupings,
    make_crowd,
    read_groupings,
    sample_images,
)
from app.planning.crowd_record import CrowdRecord, known_record
from app.planning.dry_run import MOST_IMAGES

USUAL_ANNOTATORS, MOST_ANNOTATORS = 8, 200
USUAL_NOISE = 0.1
USUAL_SHARE = 0.1
# Below are those that people choose for the command.
FEWEST_SEED, MOST_SEEDS = 2**20, 2**31
# A worker loads what is known about all images. `likewise simulate` has no such limits.
MOST_IN_COLLECTION, MOST_WITH_FEATURES = 20_000, 5_000
NOTHING_TO_SORT_BY = (
    "The images have no attribute that a crowd could use: a column of the collection's table with "
    "a value for every image and 2 to 30 different values. Add one to the collection."
)
NOT_RUNNING = {
    "draft": "The campaign is a draft. Start it first.",
    "paused": "The campaign is paused. Resume it first.",
    "finished": "The campaign has finished. Reopen it, or make a copy.",
}


class CannotSimulate(Conflict):
    """No simulated crowd can answer the campaign as it is."""

    code = "cannot_simulate"


@dataclass(frozen=True)
class CrowdOptions:
    """Whether and how a simulated crowd can answer a campaign, and its newest one.

    refusal: why none can, as a sentence.
    choices: what it can group by or vote on; several attributes together, unless `one_only`.
    usual: the default of `by`.
    fewest, most: the number of its annotators.
    left, usual_answers: the maximum number of answers, and the default.
    has_people: whether people have answered, too.
    """

    refusal: str | None
    choices: list[str]
    usual: list[str]
    one_only: bool
    fewest: int
    most: int
    left: int
    usual_answers: int
    has_people: bool
    job: Job | None
    record: CrowdRecord | None


def read_options(session: Session, campaign: Campaign) -> CrowdOptions:
    """Return whether and how a simulated crowd can answer the campaign now."""
    job = latest_job(session, campaign.id, SIMULATE)
    is_running = active_job(session, campaign.id, SIMULATE) is not None
    refusal = _refusal(session, campaign)
    choices: list[str] = []
    usual: list[str] = []
    # Counting the values of all images takes long, and the page asks often while a crowd answers.
    if refusal is None and not is_running:
        groupings = read_groupings(session, campaign)
        choices = _choices(session, campaign, groupings)
        usual = [name for name in groupings.usual if name in choices] or choices[:1]
        refusal = None if choices else NOTHING_TO_SORT_BY
    return CrowdOptions(
        refusal=refusal,
        choices=choices,
        usual=usual,
        one_only=kind_of(campaign).form == "votes",
        fewest=min(campaign.answers_per_grid, MOST_ANNOTATORS),
        most=MOST_ANNOTATORS,
        left=campaign.n_left,
        usual_answers=usual_answers(campaign),
        has_people=_has_people(session, campaign),
        job=job,
        record=None if job is None else known_record(job),
    )


def usual_answers(campaign: Campaign) -> int:
    """Return a tenth of the budget, at least one answer and at most what is left."""
    return min(max(1, round(USUAL_SHARE * campaign.budget)), campaign.n_left)


def _choices(session: Session, campaign: Campaign, groupings: Groupings) -> list[str]:
    """Return what a crowd can group by or vote on: attributes that all images have, with a value
    if the kind needs one, or the features."""
    kind = kind_of(campaign)
    if kind.needs_known_value:
        return [
            f"{name}={value}"
            for name in groupings.attributes
            for value in groupings.values.get(name, [])
        ]
    has_features = (
        groupings.features
        and kind.form != "votes"
        and n_of(session, campaign) <= MOST_WITH_FEATURES
    )
    return [*groupings.attributes, *([FEATURES] if has_features else [])]


def _refusal(session: Session, campaign: Campaign) -> str | None:
    if campaign.state in NOT_RUNNING:
        return NOT_RUNNING[campaign.state]
    if not campaign.n_left:
        return "No answers are left in the budget. Raise the budget, or make a copy."
    settings = annotation_of(campaign.annotation)
    if settings.questions("before") or settings.questions("after"):
        return (
            "Simulated annotators cannot answer the questions before and after the grids. Make a "
            "copy without these questions."
        )
    if campaign.answers_per_grid > MOST_ANNOTATORS:
        return (
            f"Each grid needs {campaign.answers_per_grid} answers of different annotators, and a "
            f"simulated crowd has at most {MOST_ANNOTATORS}."
        )
    if n_of(session, campaign) > MOST_IN_COLLECTION:
        return (
            f"A crowd started here can see at most {MOST_IN_COLLECTION:,} images. Use the command "
            "likewise simulate."
        )
    return None


def _has_people(session: Session, campaign: Campaign) -> bool:
    # Imported answers use no grids.
    answered = select(Assignment.id).where(
        Assignment.campaign_id == campaign.id,
        Assignment.channel.not_in((CHANNEL, IMPORTED)),
        Assignment.n_answered > 0,
    )
    return session.scalar(select(answered.exists())) is True


def request_crowd(
    session: Session,
    account: Account,
    campaign_id: UUID,
    by: list[str],
    annotators: int = USUAL_ANNOTATORS,
    noise: float = USUAL_NOISE,
    answers: int | None = None,
) -> Job:
    """Request that a simulated crowd answers a campaign. `by` is as in `make_crowd`; by default, it
    gives a tenth of the budget's answers.

    Raises NotFound, MayNotChange, InvalidInput if there can be no such crowd, CannotSimulate if the
    campaign can have none now, and Conflict while another one answers it.
    """
    campaign = get_campaign(session, account, campaign_id)
    is_running = active_job(session, campaign_id, SIMULATE) is not None
    options = read_options(session, campaign)
    if options.refusal is None and not is_running:
        _check(session, campaign, options, by, annotators, noise)
    # The campaign is locked only now, because answers need this lock as well.
    campaign = get_campaign(session, account, campaign_id, edit=True)
    if active_job(session, campaign.id, SIMULATE) is not None:
        raise Conflict(
            "A simulated crowd is already answering this campaign. Stop it first, or wait.",
            code="simulation_runs",
        )
    if is_running:
        # It has ended since, and what was asked for is not checked yet.
        raise Conflict(
            "The last simulated crowd has just ended. Try again.", code="simulation_runs"
        )
    refusal = options.refusal or _refusal(session, campaign)
    if refusal is not None:
        raise CannotSimulate(refusal)
    wanted = usual_answers(campaign) if answers is None else answers
    if not 1 <= wanted <= campaign.n_left:
        raise InvalidInput(
            f"The campaign has {campaign.n_left} answers left, so choose 1 to {campaign.n_left}.",
            code="bad_answers_wanted",
            fields=["answers"],
        )
    record = CrowdRecord(
        by=by, annotators=annotators, noise=noise, seed=_seed(options, by, annotators, noise),
        answers=wanted,
    )  # fmt: skip
    job = request_job(session, campaign.id, 0, SIMULATE)
    record.keep(job)
    session.flush()
    return job


def _check(
    session: Session,
    campaign: Campaign,
    options: CrowdOptions,
    by: list[str],
    annotators: int,
    noise: float,
) -> None:
    """Raise InvalidInput if there can be no such crowd."""
    if not options.fewest <= annotators <= options.most:
        raise InvalidInput(
            f"Choose {options.fewest} to {options.most} annotators: each grid needs "
            f"{campaign.answers_per_grid} answers of different annotators.",
            code="bad_crowd",
            fields=["annotators"],
        )
    unknown = [name for name in by if name not in options.choices]
    if unknown or not by or len(set(by)) < len(by):
        problem = f", not {unknown[0][:80]!r}" if unknown else ""
        raise InvalidInput(
            f"Choose what the crowd sorts by (by): {_listed(options.choices)}{problem}.",
            code="bad_crowd",
            fields=["by"],
        )
    if len(by) > 1 and (options.one_only or FEATURES in by):
        raise InvalidInput(
            "Choose one thing that the crowd sorts by (by). Only attributes by which people group "
            "images can be combined.",
            code="bad_crowd",
            fields=["by"],
        )
    table = sample_images(session, campaign, MOST_IMAGES, by)
    make_crowd(table, by, CrowdTraits(annotators, noise), kind_of(campaign))


def _listed(choices: list[str], most: int = 20) -> str:
    more = " …" if len(choices) > most else ""
    return ", ".join(choices[:most]) + more


def _seed(options: CrowdOptions, by: list[str], annotators: int, noise: float) -> int:
    """Return the seed of the last crowd if this one is the same, so that the same annotators go on.
    Annotators of another crowd are new ones, also others than those of `likewise simulate`."""
    last = options.record
    if last is not None and (last.by, last.annotators, last.noise) == (by, annotators, noise):
        return last.seed
    return FEWEST_SEED + secrets.randbelow(MOST_SEEDS - FEWEST_SEED)


def stop_crowd(session: Session, account: Account, campaign_id: UUID) -> None:
    """Stop the crowd that answers a campaign, if there is one. An answer that it is giving at this
    moment is still stored. Raises NotFound, MayNotChange."""
    campaign = get_campaign(session, account, campaign_id, edit=True)
    job = active_job(session, campaign.id, SIMULATE, lock=True)
    if job is None:
        return
    record = known_record(job)
    if record is not None:
        record.end, record.waiting_since = "stopped", None
        record.keep(job)
    leased.end(job, "done")
    campaign_changed(session, campaign.id)
