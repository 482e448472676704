"""Downloads for other programs: pairs, triplets, neighbours, dissimilarities, projector, Parquet.

What is drawn from answers is streamed, one answer at a time, whatever their number.
"""

import io
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.core.errors import InvalidInput
from app.results.exports import answer_records, csv_line, neutral
from app.results.models import Model
from app.results.service import read_map
from learning.neighbors import nearest_neighbors

MOST_DISSIMILARITIES = 5_000
ROWS_AT_ONCE = 5_000
NEIGHBOURS = 10
ANSWER_SCHEMA = pa.schema(
    [
        ("answer", pa.string()),
        ("grid", pa.int64()),
        ("round", pa.int32()),
        ("annotator", pa.int32()),
        ("state", pa.string()),
        ("submitted_at", pa.string()),
        ("elapsed_ms", pa.int32()),
        ("left_out", pa.bool_()),
        ("unseen", pa.list_(pa.int32())),
        ("images", pa.list_(pa.int32())),
        ("filenames", pa.list_(pa.string())),
        ("groups", pa.list_(pa.int16())),
        ("descriptions", pa.list_(pa.string())),
    ]
)


def pairs_csv(session: Session, campaign: Campaign) -> Iterator[str]:
    """One line per informative pair: same is 1 for images in one group, 0 for others; two
    leftovers are no pair."""
    yield csv_line(["annotator", "grid", "i", "j", "same"])
    for record in _told(session, campaign):
        images, groups = _seen(record)
        one, other = np.triu_indices(len(images), 1)
        known = (groups[one] >= 0) | (groups[other] >= 0)
        same = (groups[one] == groups[other]) & (groups[one] >= 0)
        head = f"{record['annotator']},{record['grid']}"
        yield "".join(
            f"{head},{images[a]},{images[b]},{int(alike)}\n"
            for a, b, alike in zip(one[known], other[known], same[known], strict=True)
        )


def triplets_csv(session: Session, campaign: Campaign, per_answer: int) -> Iterator[str]:
    """Lines of anchor, near, far: the anchor was grouped with near and not with far.

    The order of cblearn's list-order arrays (n, 3). At most `per_answer` of each answer, drawn at
    random but the same every time, since all of a grid of 24 are about 2,000.
    """
    yield csv_line(["anchor", "near", "far"])
    for record in _told(session, campaign):
        images, groups = _seen(record)
        found = _triplets(groups)
        if len(found) > per_answer:
            rng = np.random.default_rng([campaign.seed, record["grid"], record["annotator"]])
            found = found[np.sort(rng.choice(len(found), per_answer, replace=False))]
        yield "".join(f"{a},{b},{c}\n" for a, b, c in images[found])


def _triplets(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n, 3) places in the grid: anchor and near in one group, far in another or in none."""
    alike = (groups[:, None] == groups[None, :]) & (groups >= 0)
    np.fill_diagonal(alike, False)
    apart = groups[:, None] != groups[None, :]
    return np.argwhere(alike[:, :, None] & apart[:, None, :])


def _told(session: Session, campaign: Campaign) -> Iterator[dict[str, Any]]:
    """Answers of annotators who are not left out."""
    return (one for one in answer_records(session, campaign) if not one["left_out"])


def _seen(record: dict[str, Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Images that the annotator could see, and their groups."""
    images = np.array(record["images"], np.int64)
    seen = ~np.isin(images, record["unseen"])
    return images[seen], np.array(record["groups"], np.int64)[seen]


def answers_parquet(session: Session, campaign: Campaign, path: Path) -> None:
    """One row per answer, with lists; written in pieces."""
    with pq.ParquetWriter(path, ANSWER_SCHEMA, compression="zstd") as writer:
        records = answer_records(session, campaign)
        while some := list(islice(records, ROWS_AT_ONCE)):
            writer.write_table(pa.Table.from_pylist(some, schema=ANSWER_SCHEMA))


def embedding_parquet(session: Session, campaign: Campaign, model: Model) -> bytes:
    """Columns image, filename, sha256, vector (a list), and every attribute as text."""
    rows = read_map(session, campaign, model)
    names = sorted({name for image, _ in rows for name in image.attributes})
    columns: dict[str, Any] = {
        "image": pa.array([image.position for image, _ in rows], pa.int32()),
        "filename": pa.array([image.filename for image, _ in rows], pa.string()),
        "sha256": pa.array([image.sha256 for image, _ in rows], pa.string()),
        "vector": pa.array(
            [np.asarray(place.vector, np.float32).tolist() for _, place in rows],
            pa.list_(pa.float32()),
        ),
    }
    for name in names:
        values = [image.attributes.get(name) for image, _ in rows]
        texts = [None if value is None else str(value) for value in values]
        columns[f"attribute_{name}"] = pa.array(texts, pa.string())
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer, compression="zstd")
    return buffer.getvalue()


def vectors_tsv(session: Session, campaign: Campaign, model: Model) -> Iterator[str]:
    """For the TensorFlow embedding projector: one line of coordinates per image, no head."""
    for _, place in read_map(session, campaign, model):
        yield "\t".join(f"{value:.6g}" for value in place.vector) + "\n"


def metadata_tsv(session: Session, campaign: Campaign, model: Model) -> Iterator[str]:
    """The projector's other file: names of the images and their attributes, with a head."""
    rows = read_map(session, campaign, model)
    names = sorted({name for image, _ in rows for name in image.attributes})
    yield "\t".join(["image", "filename", *map(_plain, names)]) + "\n"
    for image, _ in rows:
        values = [_plain(str(image.attributes.get(name, ""))) for name in names]
        yield "\t".join([str(image.position), _plain(image.filename), *values]) + "\n"


def _plain(text: str) -> str:
    return neutral(" ".join(text.split()))


def neighbours_csv(session: Session, campaign: Campaign, model: Model) -> Iterator[str]:
    """One line per image and nearest neighbour, with rank and Euclidean distance."""
    rows = read_map(session, campaign, model)
    vectors = _vectors(rows)
    yield csv_line(["image", "rank", "neighbour", "distance"])
    k = min(NEIGHBOURS, len(rows) - 1)
    if k < 1:
        return
    nearest = nearest_neighbors(vectors.astype(np.float64), k)
    for place, others in enumerate(nearest):
        far = np.linalg.norm(vectors[others] - vectors[place], axis=1)
        yield "".join(
            f"{rows[place][0].position},{rank},{rows[other][0].position},{distance:.6g}\n"
            for rank, (other, distance) in enumerate(zip(others, far, strict=True), start=1)
        )


def dissimilarities_npz(session: Session, campaign: Campaign, model: Model) -> bytes:
    """`dissimilarities` (1, N(N-1)/2) Euclidean, in the order of numpy.triu_indices(N, 1), as
    rsatoolbox.rdm.RDMs takes them, and `filenames` (N,) for its pattern descriptors.

    Raises InvalidInput beyond 5,000 images: the matrix would hold more than the embedding tells.
    """
    rows = read_map(session, campaign, model)
    if len(rows) > MOST_DISSIMILARITIES:
        raise InvalidInput(
            f"A matrix of {len(rows)} images is too large (at most {MOST_DISSIMILARITIES}). Take "
            "the embedding, from which all distances follow.",
            code="too_many_images",
        )
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        dissimilarities=pdist(_vectors(rows))[None, :],
        filenames=np.array([image.filename for image, _ in rows], np.str_),
        measure=np.array(json.dumps("Euclidean")),
    )
    return buffer.getvalue()


def _vectors(rows: list[Any]) -> NDArray[np.float32]:
    return np.array([place.vector for _, place in rows], np.float32)
