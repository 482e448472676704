"""Exports of a model: embedding, neighbours, dissimilarities, attributes, annotators.

One model of one collection is small enough to be generated as a whole, so errors are raised before
anything is sent. Columns are those of docs/exports.md, in its order; new ones come last.
"""

import io
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.core.cells import csv_line, plain
from app.core.errors import InvalidInput, NotFound
from app.core.spreadsheets import neutral
from app.core.storage import list_objects, stream_object
from app.core.zips import ZipStream
from app.results.annotator_types import positions_by_type, read_types
from app.results.attribute_names import name_of
from app.results.attribute_parts import annotators_of, parts_of
from app.results.insight import full_insight
from app.results.models import Model
from app.results.questionnaires import QuestionnaireColumns
from app.results.service import read_map
from app.results.settled import Kept, read_kept
from app.results.uncertainties import read_uncertainty
from app.strategies.annotator_types import StoredTypes
from learning.neighbors import nearest_neighbors

MOST_DISSIMILARITIES = 5_000
NEIGHBOURS = 10
EMBEDDING_COLUMNS = ["image", "filename"]
# Of the nearest neighbours, those that would stay with as many other answers.
KEPT_COLUMNS = ["kept", "kept_low", "kept_high", "kept_of"]
NEIGHBOUR_COLUMNS = ["image", "rank", "neighbour", "distance", "distance_deviation"]
ATTRIBUTE_COLUMNS = [
    "attribute",
    "share",
    "low",
    "high",
    "share_error",
    "confidence",
    "columns",
    "clusters",
    "middle",
    "name",
    "parts",
]
ANNOTATOR_COLUMNS = [
    "annotator",
    "n_learned",
    "n_groups",
    "detail",
    "carelessness",
    "agreement",
    "n_repeats",
    "consistency",
]

TYPE_COLUMNS = ["type", "type_probability"]


def embedding_csv(session: Session, campaign: Campaign, model: Model) -> Iterator[str]:
    """Return one line per image: position, file name, and its coordinates; then whether features
    alone place it, and the coordinates' standard deviations, empty if the model does not tell; then
    how many of its nearest neighbours would stay with as many other answers, empty if not measured.

    Dimensions that are 0 for all images are left out; the others keep their numbers, which
    attributes.csv names."""
    rows = read_map(session, campaign, model)
    axes = np.flatnonzero(_used(rows)).tolist()
    uncertainty = read_uncertainty(campaign, model)
    names = [*(f"x{axis}" for axis in axes), "by_features", *(f"deviation{axis}" for axis in axes)]
    kept = read_kept(campaign, model)
    yield csv_line([*EMBEDDING_COLUMNS, *names, *KEPT_COLUMNS])
    for row, (image, place) in enumerate(rows):
        certainty: list[Any] = [""] * (len(axes) + 1)
        if uncertainty is not None:
            certainty = [bool(uncertainty.by_features[row])]
            certainty += [float(uncertainty.deviation[row, axis]) for axis in axes]
        coordinates = [float(place.vector[axis]) for axis in axes]
        named = [image.position, neutral(image.filename)]
        yield csv_line([*named, *coordinates, *certainty, *_kept(kept, model, row)])


def _kept(kept: Kept | None, model: Model, row: int) -> list[Any]:
    if kept is None or model.settled is None or np.isnan(kept.expected[row]):
        return [""] * len(KEPT_COLUMNS)
    numbers = (column[row] for column in (kept.expected, kept.low, kept.high))
    return [*(f"{number:.2f}" for number in numbers), model.settled["n_neighbors"]]


def embedding_npz(session: Session, campaign: Campaign, model: Model) -> bytes:
    """Return `embedding` (N, d) float32, `filenames` (N,), and `sha256` (N,), in order of
    position; `deviation` (N, d) and `by_features` (N,), if the model tells; `kept`, `kept_low` and
    `kept_high` (N,) of the `kept_of` nearest neighbours, if measured, NaN for images that are not;
    and `used` (d,): False for dimensions that are 0 for all images."""
    rows = read_map(session, campaign, model)
    buffer = io.BytesIO()
    uncertainty = read_uncertainty(campaign, model)
    certainty: dict[str, Any] = {}
    if uncertainty is not None:
        certainty = {
            "deviation": uncertainty.deviation[: len(rows)],
            "by_features": uncertainty.by_features[: len(rows)],
        }
    kept = read_kept(campaign, model)
    if kept is not None and model.settled is not None:
        numbers = (column[: len(rows)] for column in (kept.expected, kept.low, kept.high))
        certainty |= dict(zip(KEPT_COLUMNS, numbers, strict=False))
        certainty[KEPT_COLUMNS[-1]] = np.int64(model.settled["n_neighbors"])
    np.savez_compressed(
        buffer,
        embedding=np.array([place.vector for _, place in rows], dtype=np.float32),
        filenames=np.array([image.filename for image, _ in rows], dtype=np.str_),
        sha256=np.array([image.sha256 for image, _ in rows], dtype=np.str_),
        **certainty,
        used=_used(rows),
    )
    return buffer.getvalue()


def embedding_parquet(session: Session, campaign: Campaign, model: Model) -> bytes:
    """Return the columns image, filename, sha256, vector (a list), and every attribute as text."""
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
    uncertainty = read_uncertainty(campaign, model)
    if uncertainty is not None:
        deviation = uncertainty.deviation[: len(rows)].tolist()
        columns["deviation"] = pa.array(deviation, pa.list_(pa.float32()))
        columns["by_features"] = pa.array(uncertainty.by_features[: len(rows)].tolist(), pa.bool_())
    kept = read_kept(campaign, model)
    if kept is not None and model.settled is not None:
        numbers = zip(KEPT_COLUMNS, (kept.expected, kept.low, kept.high), strict=False)
        columns |= {name: pa.array(all_[: len(rows)], from_pandas=True) for name, all_ in numbers}
        of = model.settled["n_neighbors"]
        columns[KEPT_COLUMNS[-1]] = pa.array([of] * len(rows), pa.int32())
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer, compression="zstd")
    return buffer.getvalue()


def vectors_tsv(session: Session, campaign: Campaign, model: Model) -> Iterator[str]:
    """Return one line of coordinates per image, without header, for the TensorFlow embedding
    projector. Dimensions that are 0 for all images are left out."""
    rows = read_map(session, campaign, model)
    axes = np.flatnonzero(_used(rows)).tolist()
    for _, place in rows:
        yield "\t".join(f"{place.vector[axis]:.6g}" for axis in axes) + "\n"


def metadata_tsv(session: Session, campaign: Campaign, model: Model) -> Iterator[str]:
    """Return the projector's second file: names of the images and their attributes, with a
    header."""
    rows = read_map(session, campaign, model)
    names = sorted({name for image, _ in rows for name in image.attributes})
    yield "\t".join([*EMBEDDING_COLUMNS, *map(plain, names)]) + "\n"
    for image, _ in rows:
        values = [plain(str(image.attributes.get(name, ""))) for name in names]
        yield "\t".join([str(image.position), plain(image.filename), *values]) + "\n"


def neighbours_csv(session: Session, campaign: Campaign, model: Model) -> Iterator[str]:
    """Return one line per image and nearest neighbour, with rank, Euclidean distance and its
    standard deviation, empty if the model does not tell."""
    rows = read_map(session, campaign, model)
    vectors = _vectors(rows)
    yield csv_line(NEIGHBOUR_COLUMNS)
    k = min(NEIGHBOURS, len(rows) - 1)
    if k < 1:
        return
    nearest = nearest_neighbors(vectors.astype(np.float64), k)
    uncertainty = read_uncertainty(campaign, model)
    for place, others in enumerate(nearest):
        far = np.linalg.norm(vectors[others] - vectors[place], axis=1)
        errors = [""] * len(others)
        if uncertainty is not None:
            deviations = uncertainty.of_distances(vectors.astype(np.float64), place, others)
            errors = [f"{deviation:.6g}" for deviation in deviations]
        yield "".join(
            f"{rows[place][0].position},{rank},{rows[other][0].position},{distance:.6g},{error}\n"
            for rank, (other, distance, error) in enumerate(
                zip(others, far, errors, strict=True), start=1
            )
        )


def dissimilarities_npz(session: Session, campaign: Campaign, model: Model) -> bytes:
    """Return `dissimilarities` (1, N(N-1)/2), Euclidean, in the order of numpy.triu_indices(N, 1),
    as rsatoolbox.rdm.RDMs expects them, and `filenames` (N,) for its pattern descriptors.

    Raises InvalidInput above 5,000 images: the matrix would be larger than its information, the
    embedding.
    """
    rows = read_map(session, campaign, model)
    _require_few(len(rows))
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        dissimilarities=scipy.spatial.distance.pdist(_vectors(rows))[None, :],
        filenames=np.array([image.filename for image, _ in rows], np.str_),
        measure=np.array("Euclidean"),
    )
    return buffer.getvalue()


def _require_few(n_images: int) -> None:
    if n_images > MOST_DISSIMILARITIES:
        raise InvalidInput(
            f"A distance matrix of {n_images} images is too large; at most "
            f"{MOST_DISSIMILARITIES} images are possible. Export the embedding and compute "
            "the distances from it.",
            code="too_many_images",
        )


def attributes_csv(session: Session, campaign: Campaign, model: Model) -> Iterator[str]:
    """Return one line per attribute in use: its share of the answers, its certainty, its columns,
    and words."""
    yield csv_line(ATTRIBUTE_COLUMNS)
    for attribute in full_insight(model)["attributes"]:
        low, high = (neutral("; ".join(attribute[side])) for side in ("low", "high"))
        columns = " ".join(map(str, attribute.get("columns", [attribute["index"]])))
        clusters = " | ".join("; ".join(each["words"]) for each in attribute.get("clusters", []))
        certainty = [attribute.get(name) for name in ("share_error", "confidence")]
        start = [attribute["index"], attribute["share"], low, high]
        # Models of earlier versions have no words for the middle.
        middle = neutral("; ".join(attribute.get("middle", [])))
        yield csv_line(
            [
                *start,
                *certainty,
                columns,
                neutral(clusters),
                middle,
                neutral(name_of(attribute)),
                " ".join(str(part["index"]) for part in parts_of(attribute)),
            ]
        )


def annotators_csv(session: Session, campaign: Campaign, model: Model) -> Iterator[str]:
    """Return one line per annotator: counts, measures, and for each attribute how often it is
    expected to decide and how often it did."""
    annotators = annotators_of(full_insight(model))
    n_attributes = len(annotators[0]["preference"]) if annotators else 0
    each = ("preference", "used", "used_error")
    numbered = [f"{name}{k}" for name in each for k in range(n_attributes)]
    questionnaires = QuestionnaireColumns(session, campaign)
    yield csv_line([*ANNOTATOR_COLUMNS, *numbered, *questionnaires.names, *TYPE_COLUMNS])
    types = read_types(model)
    for annotator in annotators:
        values = {**annotator, "n_learned": annotator["n_answers"]}
        # Models of earlier versions do not say how often attributes were used.
        lists = (annotator.get(name) or [None] * n_attributes for name in each)
        numbers = itertools.chain.from_iterable(lists)
        answers = questionnaires.of(annotator["annotator"])
        own = [values[column] for column in ANNOTATOR_COLUMNS]
        yield csv_line([*own, *numbers, *answers, *_type_cells(types, annotator["annotator"])])


def _type_cells(types: StoredTypes | None, who: int) -> list[Any]:
    """Return the type of an annotator, from 1, and its probability; empty if unclear."""
    if types is None or who >= len(types) or types.type[who] < 0:
        return ["", ""]
    return [int(types.type[who]) + 1, float(types.probability[who])]


def type_dissimilarities_npz(session: Session, campaign: Campaign, model: Model) -> bytes:
    """Return `dissimilarities` (T, N(N-1)/2) as in `dissimilarities_npz`, a row for each type of
    annotators, nan for images that its people have not seen and for types with too few answers.
    Positions are learned from the answers of now. `types` (T,) their names, `filenames`
    (N,), and `measure`. T is 0 if there is one type. Raises InvalidInput above 5,000 images."""
    rows = read_map(session, campaign, model)
    _require_few(len(rows))
    by_type = positions_by_type(session, campaign, model)
    n_pairs = len(rows) * (len(rows) - 1) // 2
    far = np.empty((len(by_type), n_pairs))
    for row, (_, positions) in enumerate(by_type):
        places = positions[[image.position for image, _ in rows]]
        places[~places.any(axis=1)] = np.nan
        far[row] = scipy.spatial.distance.pdist(places)
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        dissimilarities=far,
        types=np.array([name for name, _ in by_type], np.str_),
        filenames=np.array([image.filename for image, _ in rows], np.str_),
        measure=np.array("Euclidean"),
    )
    return buffer.getvalue()


def model_zip(session: Session, campaign: Campaign, model: Model) -> Iterator[bytes]:
    """Return the estimator's own files, safetensors and JSON, as its `load` expects them.

    Raises NotFound when they are no longer in storage.
    """
    keys = list_objects(model.artifact_key)
    if not keys:
        raise NotFound(f"The files of model {model.version} are no longer in storage.")
    return _zipped(keys, model.artifact_key)


def _zipped(keys: list[str], folder: str) -> Iterator[bytes]:
    archive = ZipStream()
    for key in keys:
        yield from archive.add(key.removeprefix(f"{folder}/"), stream_object(key))
    yield from archive.end()


def _vectors(rows: list[Any]) -> NDArray[np.float32]:
    return np.array([place.vector for _, place in rows], np.float32)


def _used(rows: list[Any]) -> NDArray[np.bool_]:
    """(d,) whether a dimension differs from 0 for any image; all of them if none does."""
    if not rows:
        return np.zeros(0, np.bool_)
    used = np.asarray(_vectors(rows).any(axis=0))
    return used if used.any() else np.ones_like(used)
