"""One line of a file of answers: its contents are checked here without the database."""

import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from app.annotation.importing.problems import BadLine

FIELDS = ("annotator", "images", "groups", "seconds", "words", "answered_at", "id")
MOST_IMAGES = 100
# This limit is the same as for archives (app/archive/checks.py), which must be able to hold them.
MOST_GROUPS = 100
MOST_NAME, MOST_WORDS = 500, 500
MOST_SECONDS = 1_000_000
# Clocks of other machines may be ahead of this one.
_AHEAD = timedelta(days=1)
_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """An answer as it is in the file.

    images: file names, or positions if they are whole numbers.
    groups: aligned with images; −1 is a leftover.
    words: the annotator's words for each group, by group number.
    id: the file's id of the answer; None if it has none.
    ignored: names of fields that have no meaning here.
    """

    number: int
    annotator: str
    images: list[str | int]
    groups: list[int]
    words: list[str]
    elapsed_ms: int | None
    answered_at: datetime | None
    id: str | None
    ignored: list[str]


def read_line(number: int, content: bytes, n_choices: int | None) -> AnswerLine:
    """Read one line. Raises BadLine with what is wrong. `n_choices` is set for a kind whose groups
    are votes."""
    fields = _json_object(content)
    missing = [name for name in FIELDS[:3] if fields.get(name) is None]
    if missing:
        raise BadLine(f"It has no {' and no '.join(map(_quoted, missing))}.")
    images = _images(fields["images"])
    groups = _groups(fields["groups"], len(images), n_choices or MOST_GROUPS)
    given_id = fields.get("id")
    return AnswerLine(
        number=number,
        annotator=_name(fields["annotator"], "annotator"),
        images=images,
        groups=groups,
        words=_words(fields.get("words"), groups),
        elapsed_ms=_milliseconds(fields.get("seconds")),
        answered_at=_moment(fields.get("answered_at")),
        id=None if given_id is None else _name(given_id, "id"),
        ignored=[name[:50] for name in fields if name not in FIELDS],
    )


def _json_object(content: bytes) -> dict[str, Any]:
    try:
        value = json.loads(content.decode(), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise BadLine(f"It is not UTF-8 (byte {error.start + 1}).") from error
    except (ValueError, RecursionError) as error:
        raise BadLine(f"It is not JSON ({str(error)[:100]}).") from error
    if not isinstance(value, dict):
        raise BadLine("It is not a JSON object. The file must have one object per line.")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _quoted(name: str) -> str:
    return f'"{name}"'


def shown(value: object) -> str:
    """Return a value as a message shows it: short and on one line."""
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:97]}…"


def _name(value: object, field: str) -> str:
    """Return the name of an annotator or an answer: text, or a number as text."""
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        value = int(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        raise BadLine(f'"{field}" must be text or a number, not {shown(value)}.')
    return _text(value.strip(), field, MOST_NAME)


def _text(value: str, field: str, most: int) -> str:
    if len(value) > most:
        raise BadLine(f'"{field}" is longer than {most} characters: {shown(value)}.')
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise BadLine(f'"{field}" has an incomplete surrogate pair: {shown(value)}.') from error
    return value


def _images(value: object) -> list[str | int]:
    if not isinstance(value, list) or not 2 <= len(value) <= MOST_IMAGES:
        actual = f"{len(value):,} of them" if isinstance(value, list) else shown(value)
        raise BadLine(f'"images" must be a list of 2 to {MOST_IMAGES} images, not {actual}.')
    for image in value:
        if isinstance(image, bool) or not isinstance(image, str | int):
            raise BadLine(f'"images" must hold names or whole numbers, not {shown(image)}.')
        if isinstance(image, str):
            _text(image, "images", MOST_NAME)
    return value


def _groups(value: object, n_images: int, n_groups: int) -> list[int]:
    if not isinstance(value, list):
        raise BadLine(f'"groups" must be a list of whole numbers, not {shown(value)}.')
    if len(value) != n_images:
        raise BadLine(
            f'"images" has {n_images} entries and "groups" has {len(value):,}. Both need one '
            "entry for each image."
        )
    for group in value:
        if isinstance(group, bool) or not isinstance(group, int) or not -1 <= group < n_groups:
            raise BadLine(
                f'"groups" must hold whole numbers from 0 to {n_groups - 1}, or -1 for an image '
                f"in no group; it holds {shown(group)}."
            )
    return value


def _words(value: object, groups: list[int]) -> list[str]:
    """Return the words by group, from a list or from an object whose keys are group numbers."""
    if value is None:
        return []
    if isinstance(value, list) and len(value) <= MOST_GROUPS:
        return [_word(word) for word in value]
    if not isinstance(value, dict):
        raise BadLine(
            '"words" must be a list with one text per group, or an object with texts by group '
            f"number, not {shown(value)}."
        )
    used = {str(group): group for group in groups if group >= 0}
    unused = next((key for key in value if key not in used), None)
    if unused is not None:
        raise BadLine(f'"words" names a group without images: {shown(unused)}.')
    words = [""] * (1 + max((used[key] for key in value), default=-1))
    for key, word in value.items():
        words[used[key]] = _word(word)
    return words


def _word(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadLine(f'"words" must hold texts, not {shown(value)}.')
    # PostgreSQL's text can't contain the character 0.
    return _text(value.replace("\0", ""), "words", MOST_WORDS)


def _milliseconds(value: object) -> int | None:
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= MOST_SECONDS:  # type: ignore[operator]
        raise BadLine(f'"seconds" must be a number from 0 to {MOST_SECONDS:,}, not {shown(value)}.')
    return round(value * 1000)  # type: ignore[operator]


def _moment(value: object) -> datetime | None:
    """Read a time. Without a time zone, it is UTC."""
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value)  # type: ignore[arg-type]
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadLine(
            f'"answered_at" must be a time such as "2024-05-17T09:30:00Z", not {shown(value)}.'
        ) from error
    if not _EARLIEST <= moment <= datetime.now(UTC) + _AHEAD:
        raise BadLine(f'"answered_at" must be between 1970 and now, not {value}.')
    return moment
