"""Downloads: answers (CSV, JSON Lines) and embedding (CSV, NPZ).

Annotators appear by their position in the campaign; identities are never exported here.
"""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.annotation.checks import FINISHED
from app.annotation.models import Annotator, Answer
from app.annotation.quality import read_scores
from app.campaigns.models import Campaign, Grid, Round
from app.collections.models import Image
from app.results.models import Model
from app.results.service import read_map

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\0")


def neutral(text: str) -> str:
    """Text that no spreadsheet takes for a formula (OWASP ASVS 5.0, 1.2.10)."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def answer_records(session: Session, campaign: Campaign) -> Iterator[dict[str, Any]]:
    """Finished answers, oldest first, as JSON objects with one entry per image."""
    names = dict(
        session.execute(
            select(Image.position, Image.filename).where(
                Image.collection_id == campaign.collection_id
            )
        ).all()
    )
    query = (
        select(Answer, Grid, Round.number, Annotator.position, Annotator.left_out_at)
        .join(Grid, Answer.grid_id == Grid.id)
        .join(Round, Grid.round_id == Round.id)
        .join(Annotator, Answer.annotator_id == Annotator.id)
        .where(Answer.campaign_id == campaign.id, Answer.state.in_(FINISHED))
        .order_by(Answer.submitted_at, Answer.id)
        .execution_options(yield_per=500)
    )
    for answer, grid, number, annotator, left_out_at in session.execute(query):
        submitted_at = answer.submitted_at
        yield {
            "answer": str(answer.id),
            "grid": grid.id,
            "round": number,
            "annotator": annotator,
            "state": answer.state,
            "submitted_at": submitted_at.isoformat() if submitted_at else None,
            "elapsed_ms": answer.elapsed_ms,
            "left_out": left_out_at is not None,
            "unseen": answer.unseen,
            "images": grid.images,
            "filenames": [names[image] for image in grid.images],
            "groups": answer.groups,
            "descriptions": answer.descriptions,
        }


def answers_jsonl(session: Session, campaign: Campaign) -> Iterator[str]:
    for record in answer_records(session, campaign):
        yield json.dumps(record, ensure_ascii=False) + "\n"


def answers_csv(session: Session, campaign: Campaign) -> Iterator[str]:
    """One line per image of every answer."""
    columns = [
        "answer",
        "grid",
        "round",
        "annotator",
        "state",
        "submitted_at",
        "elapsed_ms",
        "left_out",
    ]
    yield csv_line([*columns, "image", "filename", "group", "description"])
    for record in answer_records(session, campaign):
        head = [record[column] for column in columns]
        words = record["descriptions"]
        rows = zip(record["images"], record["filenames"], record["groups"], strict=True)
        for image, filename, group in rows:
            word = words[group] if 0 <= group < len(words) else ""
            yield csv_line([*head, image, neutral(filename), group, neutral(word)])


def traces_jsonl(session: Session, campaign: Campaign) -> Iterator[str]:
    """What was done when in every finished answer, checks of quality too."""
    query = (
        select(Answer, Grid, Annotator.position)
        .join(Grid, Answer.grid_id == Grid.id)
        .join(Annotator, Answer.annotator_id == Annotator.id)
        .where(Answer.campaign_id == campaign.id, Answer.state.in_(FINISHED))
        .order_by(Answer.submitted_at, Answer.id)
        .execution_options(yield_per=500)
    )
    for answer, grid, annotator in session.execute(query):
        record = {
            "answer": str(answer.id),
            "annotator": annotator,
            "role": grid.role,
            "images": grid.images,
            "groups": answer.groups,
            "truth": grid.truth,
            "agreement": answer.agreement,
            "elapsed_ms": answer.elapsed_ms,
            "device": answer.device,
            "trace": answer.trace,
        }
        yield json.dumps(record, ensure_ascii=False) + "\n"


def quality_csv(session: Session, campaign: Campaign) -> Iterator[str]:
    """One line per annotator with an answer: scores, verdict, and what was done about it."""
    kinds = ("gold", "repeat", "consensus")
    measures = ("warned_at", "stopped_at", "left_out_at")
    parts = [f"{kind}{part}" for kind in kinds for part in ("", "_band", "_n")]
    yield csv_line(
        ["annotator", "n_answers", "verdict", *parts, "one_group", "seconds", "hasty", *measures]
    )
    for score in read_scores(session, campaign):
        cells: list[Any] = []
        for kind in kinds:
            found = getattr(score, kind)
            cells += [found.mean, found.band, found.n] if found else ["", "", 0]
        times = [getattr(score.annotator, name) for name in measures]
        head = [score.annotator.position, score.n_answers, score.verdict]
        tail = [score.n_one_group, score.seconds, score.hasty]
        yield csv_line([*head, *cells, *tail, *(at.isoformat() if at else "" for at in times)])


def embedding_csv(session: Session, campaign: Campaign, model: Model) -> Iterator[str]:
    """One line per image: position, file name, and its coordinates."""
    rows = read_map(session, campaign, model)
    n_dimensions = len(rows[0][1].vector) if rows else 0
    yield csv_line(["image", "filename", *(f"x{axis}" for axis in range(n_dimensions))])
    for image, place in rows:
        coordinates = [float(value) for value in place.vector]
        yield csv_line([image.position, neutral(image.filename), *coordinates])


def attributes_csv(insight: dict[str, Any]) -> Iterator[str]:
    """One line per attribute in use: dimension, share of the answers, words of both sides."""
    yield csv_line(["attribute", "share", "low", "high"])
    for one in insight["attributes"]:
        low, high = (neutral("; ".join(one[side])) for side in ("low", "high"))
        yield csv_line([one["index"], one["share"], low, high])


def annotators_csv(insight: dict[str, Any]) -> Iterator[str]:
    """One line per annotator: counts, measures, and the preference for each dimension."""
    annotators = insight["annotators"]
    n_dimensions = len(annotators[0]["preference"]) if annotators else 0
    columns = [
        "annotator",
        "n_answers",
        "n_groups",
        "detail",
        "carelessness",
        "agreement",
        "n_repeats",
        "consistency",
    ]
    yield csv_line([*columns, *(f"preference{k}" for k in range(n_dimensions))])
    for one in annotators:
        yield csv_line([*(one[column] for column in columns), *one["preference"]])


def embedding_npz(session: Session, campaign: Campaign, model: Model) -> bytes:
    """`embedding` (N, d) float32, `filenames` (N,), `sha256` (N,) in order of position."""
    rows = read_map(session, campaign, model)
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        embedding=np.array([place.vector for _, place in rows], dtype=np.float32),
        filenames=np.array([image.filename for image, _ in rows], dtype=np.str_),
        sha256=np.array([image.sha256 for image, _ in rows], dtype=np.str_),
    )
    return buffer.getvalue()


def csv_line(cells: list[Any]) -> str:
    """One line of CSV, ended by a newline."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(cells)
    return buffer.getvalue()
