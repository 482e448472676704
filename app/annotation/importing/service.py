"""Importing answers: it checks permission, finds out what is new, and stores it."""

from dataclasses import dataclass
from typing import BinaryIO, Literal
from uuid import UUID

from sqlalchemy import any_, literal, select, text
from sqlalchemy.dialects.postgresql import ARRAY, VARCHAR
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.service import record_audit
from app.annotation.importing.answers import (
    AnswerFile,
    FileFormat,
    ImportedAnswer,
    read_answer_file,
    searched_for,
)
from app.annotation.importing.lines import shown
from app.annotation.importing.problems import Problems
from app.annotation.importing.storing import count_answers, imported_people, store_answers
from app.annotation.models import AnnotatorIdentity, Answer
from app.campaigns.models import Campaign, Grid
from app.campaigns.quota import require_room_for_answers
from app.campaigns.service import BadState, get_campaign
from app.campaigns.sharing import MayNotChange, access_of
from app.core.database import advisory_lock
from app.core.events import campaign_changed
from app.jobs.service import request_job

NamedBy = Literal["name", "position"]
KEYS_AT_ONCE = 5_000
# The queue of a campaign in which imports wait for each other (app.core.database.advisory_lock).
IMPORTS = 2


@dataclass(frozen=True)
class ImportReport:
    """What an import stored, or what it would store.

    n_new: answers that the campaign did not have.
    n_known: answers that the campaign has from an earlier import, or that the file repeats.
    n_annotators, n_new_annotators: people who gave the new answers, and how many of them are new.
    sizes: numbers of images in the smallest and in the largest new grid.
    ignored: for each field that has no meaning here, the number of lines with it.
    is_learning: whether a training was requested.
    """

    n_new: int
    n_known: int
    n_annotators: int
    n_new_annotators: int
    sizes: tuple[int, int] | None
    ignored: dict[str, int]
    is_learning: bool


def import_answers(
    session: Session,
    account: Account,
    campaign_id: UUID,
    file: BinaryIO,
    *,
    named_by: NamedBy = "name",
    file_format: FileFormat = "answers",
    learn: bool = True,
    dry_run: bool = False,
) -> ImportReport:
    """Store the answers of a file (docs/user-guide.md) as answers of the campaign.

    Models learn from them and exports contain them like all others. They don't count toward the
    budget, nobody is paid for them, and no quality checks apply. An answer that was already
    imported is not stored again. Raises BadAnswerFile with everything that is wrong, BadState for a
    draft, NotFound and MayNotChange; then nothing is stored.
    """
    # The campaign is locked at the very end, so that annotators do not wait for a long file.
    campaign = _importing_campaign(session, account, campaign_id)
    by_position = named_by == "position"
    problems = Problems(searched_for(session, campaign, by_position=by_position))
    answer_file = read_answer_file(
        session, campaign, file, problems, by_position=by_position, file_format=file_format
    )
    problems.raise_if_any()
    if not dry_run:
        session.execute(text("SET LOCAL statement_timeout = 0"))
        session.execute(text("SET LOCAL lock_timeout = 0"))
        session.execute(select(advisory_lock(campaign.id, IMPORTS)))
    new = _new_answers(session, campaign, answer_file, problems)
    problems.raise_if_any()
    report = _report(
        session, campaign, answer_file, new, is_learning=learn and bool(new) and not dry_run
    )
    if new and not dry_run:
        store_answers(session, campaign, new)
        campaign = get_campaign(session, account, campaign_id, edit=True)
        count_answers(session, campaign, len(new))
        require_room_for_answers(session, campaign.owner_id)
        record_audit(
            session, account.id, "campaign.answers_imported", "campaign", campaign.id,
            answers=report.n_new, annotators=report.n_annotators,
        )  # fmt: skip
        if report.is_learning:
            request_job(session, campaign.id, campaign.n_answers)
        campaign_changed(session, campaign.id)
    return report


def _importing_campaign(session: Session, account: Account, campaign_id: UUID) -> Campaign:
    """Return the campaign without locking it. Raises NotFound, MayNotChange, and BadState for a
    draft, because a campaign's images are fixed only at its start."""
    campaign = get_campaign(session, account, campaign_id)
    if access_of(session, account, campaign) == "view":
        raise MayNotChange("You can view this campaign but not change it.")
    if campaign.state == "draft":
        raise BadState(
            "This campaign is a draft. Start it before you import answers. If you don't want "
            "other answers, pause or finish it afterwards."
        )
    return campaign


def _new_answers(
    session: Session, campaign: Campaign, answer_file: AnswerFile, problems: Problems
) -> list[ImportedAnswer]:
    """Return the answers that were not imported before. An id that stands for a different answer is
    added to `problems`."""
    by_identity = {answer.identity: answer for answer in answer_file.answers}
    identities = list(by_identity)
    for start in range(0, len(identities), KEYS_AT_ONCE):
        keys = literal(identities[start : start + KEYS_AT_ONCE], ARRAY(VARCHAR))
        query = (
            select(Answer.imported_as, AnnotatorIdentity.key_hash, Grid.images, Answer.groups)
            .join(Grid, Answer.grid_id == Grid.id)
            .outerjoin(AnnotatorIdentity, AnnotatorIdentity.annotator_id == Answer.annotator_id)
            .where(Answer.campaign_id == campaign.id, Answer.imported_as == any_(keys))
        )
        for identity, person, images, groups in session.execute(query):
            assert identity is not None
            answer = by_identity.pop(identity)
            if not answer.is_same_as(person, images, groups):
                problems.add_line(
                    answer.number,
                    f"Its id {shown(answer.id)} was already imported with a different answer.",
                )
    return list(by_identity.values())


def _report(
    session: Session,
    campaign: Campaign,
    answer_file: AnswerFile,
    new: list[ImportedAnswer],
    *,
    is_learning: bool,
) -> ImportReport:
    people = {answer.person for answer in new}
    sizes = {len(answer.images) for answer in new}
    return ImportReport(
        n_new=len(new),
        n_known=len(answer_file.answers) - len(new) + answer_file.n_repeated,
        n_annotators=len(people),
        n_new_annotators=len(people - set(imported_people(session, campaign))),
        sizes=(min(sizes), max(sizes)) if sizes else None,
        ignored=answer_file.ignored,
        is_learning=is_learning,
    )
