"""Reading and checking a whole file of answers: either every line can be stored, or none is."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import BinaryIO, Literal

from sqlalchemy.orm import Session

from app.annotation.importing.file import read_lines
from app.annotation.importing.lines import AnswerLine, read_line, shown
from app.annotation.importing.names import ImageNames, UnknownNames, image_names
from app.annotation.importing.problems import BadAnswerFile, BadLine, Problems
from app.annotation.importing.triplets import TripletReader
from app.annotation.sessions import person_key
from app.campaigns.models import Campaign
from app.collections.models import Collection
from app.core.security import pseudonym
from app.kinds import kind_of

# The channel of people whose answers were imported.
CHANNEL = "import"
# JSON Lines of answers, or lines of triplets.
FileFormat = Literal["answers", "triplets"]
# Reads a line by its number and content; None if it is no answer. Raises BadLine.
Reader = Callable[[int, bytes], AnswerLine | None]


@dataclass(frozen=True, slots=True)
class ImportedAnswer:
    """An answer that can be stored.

    number: the number of its line.
    images: positions in the collection; groups is aligned with them.
    person: keyed hash of the annotator's name in the file; the name itself is not stored.
    identity: keyed hash that recognises the same answer when it is imported again.
    """

    number: int
    id: str | None
    images: tuple[int, ...]
    groups: list[int]
    words: list[str]
    elapsed_ms: int | None
    answered_at: datetime | None
    person: str
    identity: str

    def is_same_as(self, person: str | None, images: list[int], groups: list[int] | None) -> bool:
        """Return whether a stored answer is the same. `person` is None if it is unknown, for
        example in a campaign that was restored from an archive."""
        known = person is None or person == self.person
        return known and self.images == tuple(images) and self.groups == groups


@dataclass(frozen=True)
class AnswerFile:
    """The answers of a file.

    answers: in the order of the file, each once.
    n_repeated: lines that repeat an earlier line with the same id.
    ignored: for each field that has no meaning here, the number of lines with it.
    """

    answers: list[ImportedAnswer]
    n_repeated: int
    ignored: dict[str, int]


def read_answer_file(
    session: Session,
    campaign: Campaign,
    file: BinaryIO,
    problems: Problems,
    *,
    by_position: bool,
    file_format: FileFormat = "answers",
) -> AnswerFile:
    """Return every answer of the file. Problems with a line are added to `problems`.

    Raises BadAnswerFile if the file cannot be read at all, or if the campaign's answers are of
    another form.
    """
    names = image_names(session, campaign, by_position=by_position)
    reader = _reader(campaign, file_format, by_position=by_position)
    identities = _Identities(campaign)
    answers: dict[str, ImportedAnswer] = {}
    ignored: Counter[str] = Counter()
    n_repeated = 0
    for line, images in _usable_lines(campaign, file, reader, names, problems):
        ignored.update(line.ignored)
        answer = identities.answer_of(line, images)
        earlier = answers.setdefault(answer.identity, answer)
        if earlier is answer:
            continue
        if earlier.is_same_as(answer.person, list(images), line.groups):
            n_repeated += 1
        else:
            problems.add_line(line.number, _other_content(line, earlier.number))
    if not answers:
        problems.raise_if_any()
        raise BadAnswerFile("Nothing was imported. The file is empty but for its header.")
    return AnswerFile(list(answers.values()), n_repeated, dict(ignored))


def searched_for(session: Session, campaign: Campaign, *, by_position: bool) -> str:
    """Return where images are searched, worded for a message."""
    name = session.get_one(Collection, campaign.collection_id).name
    where = f"the collection “{name}”"
    return f"{where} (positions 0 to {campaign.n_images - 1:,})" if by_position else where


def _reader(campaign: Campaign, file_format: FileFormat, *, by_position: bool) -> Reader:
    kind = kind_of(campaign)
    if file_format == "answers":
        return partial(read_line, n_choices=len(kind.group_names) if kind.choices else None)
    if kind.form != "groupings":
        raise BadAnswerFile(
            f"Nothing was imported. Triplets say which images belong together, but the answers of "
            f"a {kind.name} campaign are votes on single images."
        )
    return TripletReader(by_position=by_position)


def _usable_lines(
    campaign: Campaign, file: BinaryIO, reader: Reader, names: ImageNames, problems: Problems
) -> Iterator[tuple[AnswerLine, tuple[int, ...]]]:
    kind = kind_of(campaign)
    for number, content in read_lines(file):
        try:
            line = reader(number, content)
            if line is None:
                continue
            if problem := kind.problem_of(line.groups):
                raise BadLine(problem)
            yield line, tuple(names.positions_of(line.images))
        except BadLine as error:
            problems.add_line(number, str(error))
        except UnknownNames as error:
            problems.add_images(number, error.names)


def _other_content(line: AnswerLine, earlier: int) -> str:
    return f"Line {earlier:,} has the same id {shown(line.id)}, but it is a different answer."


class _Identities:
    """Recognises answers by the id that the file gives them, or otherwise by their content.

    Answers without an id that have the same content are numbered. So a file can contain several of
    them, and each is recognised when the file, or a longer version of it, is imported again.
    """

    def __init__(self, campaign: Campaign) -> None:
        self.campaign_id = campaign.id
        self._purpose = f"imported-answer:{campaign.id}"
        self._seen: Counter[str] = Counter()
        self._people: dict[str, str] = {}

    def answer_of(self, line: AnswerLine, images: tuple[int, ...]) -> ImportedAnswer:
        person = self._people.get(line.annotator)
        if person is None:
            person = person_key(self.campaign_id, CHANNEL, line.annotator)
            self._people[line.annotator] = person
        return ImportedAnswer(
            number=line.number,
            id=line.id,
            images=images,
            groups=line.groups,
            words=line.words,
            elapsed_ms=line.elapsed_ms,
            answered_at=line.answered_at,
            person=person,
            identity=self._identity_of(line, images, person),
        )

    def _identity_of(self, line: AnswerLine, images: tuple[int, ...], person: str) -> str:
        if line.id is not None:
            return self._hash(["id", line.id])
        at = line.answered_at.isoformat() if line.answered_at else None
        content = [person, images, line.groups, line.words, line.elapsed_ms, at]
        first = self._hash(["content", content])
        self._seen[first] += 1
        times = self._seen[first]
        return first if times == 1 else self._hash(["again", first, times])

    def _hash(self, value: object) -> str:
        return pseudonym(self._purpose, json.dumps(value))
