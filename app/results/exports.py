"""Exports of answers (CSV, JSON Lines, Parquet), event traces, and quality of annotators.

Annotators appear by their position in the campaign; their identities are never exported here.
Columns are those of docs/exports.md, in its order; new ones come last.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.annotation.checks import FINISHED
from app.annotation.models import Annotator, Answer
from app.annotation.quality import read_scores
from app.campaigns.models import Campaign, Grid
from app.core.cells import cell, csv_line
from app.core.copying import in_pieces, json_lines
from app.core.write_buffer import Drain
from app.kinds import kind_of
from app.results.answer_attributes import Attribute, AttributeColumns
from app.results.answers import AnswerRow, filenames, read_answers

ROW_GROUP = 20_000
# A leftover has group −1, which selects the last of these; a group without description has none
# either.
NO_WORDS = [""] * 128
ANSWER_SCHEMA = pa.schema(
    [
        ("answer", pa.string()),
        ("grid", pa.int64()),
        ("round", pa.int32()),
        ("annotator", pa.int32()),
        ("state", pa.string()),
        ("submitted_at", pa.timestamp("us", "UTC")),
        ("elapsed_ms", pa.int32()),
        ("left_out", pa.bool_()),
        ("unseen", pa.list_(pa.int32())),
        ("images", pa.list_(pa.int32())),
        ("filenames", pa.list_(pa.string())),
        ("groups", pa.list_(pa.int16())),
        ("descriptions", pa.list_(pa.string())),
        ("attribute", pa.int16()),
        ("attribute_probability", pa.float64()),
    ]
)
# Only in campaigns with classes.
LABELS_FIELD = pa.field("labels", pa.list_(pa.string()))
LAST_FIELDS = [
    pa.field("question_language", pa.string()),
    pa.field("asked_again", pa.bool_()),
    pa.field("replaces", pa.string()),
]
ANSWER_COLUMNS = [
    "answer",
    "grid",
    "round",
    "annotator",
    "state",
    "submitted_at",
    "elapsed_ms",
    "left_out",
    "image",
    "filename",
    "group",
    "description",
    "attribute",
    "attribute_probability",
    "question_language",
    "asked_again",
    "replaces",
]

KINDS = ("gold", "repeat", "consensus")
MEASURES = ("warned_at", "stopped_at", "left_out_at")
QUALITY_COLUMNS = [
    "annotator",
    "n_answers",
    "verdict",
    *(f"{kind}{part}" for kind in KINDS for part in ("", "_band", "_n")),
    "one_group",
    "seconds",
    "hasty",
    *MEASURES,
    "simulated",
]


def answers_csv(session: Session, campaign: Campaign) -> Iterator[bytes]:
    """Yield one line per image of every answer."""
    names = {image: cell(name) for image, name in filenames(session, campaign).items()}
    attributes = AttributeColumns(session, campaign)
    named = [cell(name) for name in class_names(campaign)]
    yield csv_line(ANSWER_COLUMNS).encode()
    for rows in read_answers(session, campaign):
        answers = zip(rows, attributes.of(rows), strict=True)
        yield "".join(_lines(row, names, attribute, named) for row, attribute in answers).encode()


def class_names(campaign: Campaign) -> tuple[str, ...]:
    """Return the names of a campaign's groups, by number, if annotators choose from classes."""
    kind = kind_of(campaign)
    return kind.group_names if kind.asks_for_classes else ()


def _lines(
    row: AnswerRow, names: dict[int, str], attribute: Attribute, named: Sequence[str]
) -> str:
    elapsed = "" if row.elapsed_ms is None else row.elapsed_ms
    head = (
        f"{row.answer},{row.grid},{row.round},{row.annotator},{row.state},"
        f"{row.submitted_at},{elapsed},{row.left_out},"
    )
    words = [*named, ""] if named else [*map(cell, row.descriptions), *NO_WORDS]
    tail = ",".join("" if value is None else str(value) for value in attribute)
    tail = f"{tail},{cell(row.question_language or '')},{row.asked_again},{row.replaces or ''}"
    return "".join(
        [
            f"{head}{image},{names[image]},{group},{words[group]},{tail}\n"
            for image, group in zip(row.images, row.groups, strict=True)
        ]
    )


def answers_jsonl(session: Session, campaign: Campaign) -> Iterator[bytes]:
    """Yield one JSON object per answer, with one entry per image in its lists."""
    names = filenames(session, campaign)
    named = class_names(campaign)
    attributes = AttributeColumns(session, campaign)
    for rows in read_answers(session, campaign):
        answers = zip(rows, attributes.of(rows), strict=True)
        records = (
            _record(row, names, attribute) | _labels(row, named) for row, attribute in answers
        )
        yield b"".join(
            [orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE) for record in records]
        )


def _record(row: AnswerRow, names: dict[int, str], attribute: Attribute) -> dict[str, Any]:
    return {
        "answer": row.answer,
        "grid": row.grid,
        "round": row.round,
        "annotator": row.annotator,
        "state": row.state,
        "submitted_at": row.submitted_at,
        "elapsed_ms": row.elapsed_ms,
        "left_out": row.left_out,
        "unseen": row.unseen,
        "images": row.images,
        "filenames": [names[image] for image in row.images],
        "groups": row.groups,
        "descriptions": row.descriptions,
        "attribute": attribute[0],
        "attribute_probability": attribute[1],
        "question_language": row.question_language,
        "asked_again": row.asked_again,
        "replaces": row.replaces,
    }


def _labels(row: AnswerRow, named: Sequence[str]) -> dict[str, list[str]]:
    """Return the name of each image's group, in campaigns with classes."""
    if not named:
        return {}
    return {"labels": [named[group] if group >= 0 else "" for group in row.groups]}


def answers_parquet(session: Session, campaign: Campaign) -> Iterator[bytes]:
    """Yield one row per answer, with lists as in answers.jsonl, in row groups of ROW_GROUP or
    more."""
    names = filenames(session, campaign)
    attributes = AttributeColumns(session, campaign)
    named = class_names(campaign)
    schema = ANSWER_SCHEMA.append(LABELS_FIELD) if named else ANSWER_SCHEMA
    schema = pa.schema([*schema, *LAST_FIELDS])
    drain = Drain()
    with pq.ParquetWriter(pa.PythonFile(drain, "w"), schema, compression="zstd") as writer:
        waiting: list[pa.RecordBatch] = []
        for rows in read_answers(session, campaign):
            waiting.append(_batch(rows, names, attributes.of(rows), named, schema))
            if sum(batch.num_rows for batch in waiting) >= ROW_GROUP:
                writer.write_table(pa.Table.from_batches(waiting))
                waiting.clear()
                yield drain.taken()
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting))
    yield drain.taken()


def _batch(
    rows: Sequence[AnswerRow],
    names: dict[int, str],
    attributes: Sequence[Attribute],
    named: Sequence[str],
    schema: pa.Schema,
) -> pa.RecordBatch:
    columns = dict(zip(AnswerRow._fields, zip(*rows, strict=True), strict=True))
    columns["filenames"] = tuple([names[image] for image in shown] for shown in columns["images"])
    columns["attribute"], columns["attribute_probability"] = zip(*attributes, strict=True)
    if named:
        columns["labels"] = tuple(_labels(row, named)["labels"] for row in rows)
    moments = pa.array(columns["submitted_at"], pa.string())
    columns["submitted_at"] = moments.cast(schema.field("submitted_at").type)
    arrays = [pa.array(columns[field.name], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def traces_jsonl(session: Session, campaign: Campaign) -> Iterator[bytes]:
    """Yield the event trace of every finished answer, including quality checks."""
    columns = {
        "answer": Answer.id,
        "annotator": Annotator.position,
        "role": Grid.role,
        "images": Grid.images,
        "groups": Answer.groups,
        "truth": Grid.truth,
        "agreement": Answer.agreement,
        "elapsed_ms": Answer.elapsed_ms,
        "device": Answer.device,
        "trace": Answer.trace,
    }
    query = (
        select(*(column.label(name) for name, column in columns.items()))
        .join(Grid, Answer.grid_id == Grid.id)
        .join(Annotator, Answer.annotator_id == Annotator.id)
        .where(Answer.campaign_id == campaign.id, Answer.state.in_(FINISHED))
        .order_by(Answer.submitted_at, Answer.id)
    )
    yield from in_pieces(json_lines(session, query))


def quality_csv(session: Session, campaign: Campaign) -> Iterator[bytes]:
    """Yield one line per annotator with an answer: scores, verdict, and the action taken."""
    yield csv_line(QUALITY_COLUMNS).encode()
    for score in read_scores(session, campaign):
        cells: list[Any] = []
        for kind in KINDS:
            figures = getattr(score, kind)
            cells += [figures.mean, figures.band, figures.n] if figures else ["", "", 0]
        times = [getattr(score.annotator, name) for name in MEASURES]
        head = [score.annotator.position, score.n_answers, score.verdict]
        tail = [score.n_one_group, score.seconds, score.hasty]
        dates = (at.isoformat() if at else "" for at in times)
        yield csv_line([*head, *cells, *tail, *dates, score.simulated]).encode()
