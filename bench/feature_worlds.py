"""Images with features, and the answers of people and of simulated crowds about half of them."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from bench.encoder import sources as encoder_sources
from bench.encoder import weights
from bench.real_crowds.data import load
from demo import EMOJI_FOLDER
from learning.appearance import appearance_features
from learning.arrays import BoolArray, FloatArray
from learning.encoder import Encoder
from learning.feature_alignment.folds import only_images
from learning.groupings import Groupings
from learning.pixels import pixel_components
from learning.simulation import AttributeCrowd, FeatureCrowd

N_GRIDS, GRID_SIZE, N_ANNOTATORS, NOISE = 300, 24, 30, 0.1
Pictures = list[NDArray[np.uint8]]


def _objects(pictures: Pictures) -> FloatArray:
    features = encoder_sources(Encoder.load(weights()))["objects"](pictures)
    return np.asarray(features, np.float64)


# Sources computed from images; a new one is a line here.
SOURCES: dict[str, Callable[[Pictures], FloatArray]] = {
    "appearance": appearance_features,
    "components": pixel_components,
    "objects": _objects,
}


@dataclass(frozen=True, eq=False)
class World:
    """train: answers that show only some images; seen: other answers about these; unseen: answers
    about the others; truth: the positions that a simulated crowd sees, None if unknown."""

    train: Groupings
    seen: Groupings
    unseen: Groupings
    features: dict[str, FloatArray]
    truth: FloatArray | None = None
    people: Groupings | None = None


def planted(kind: str, n_shown: int, seed: int, n_grids: int = N_GRIDS) -> World:
    """512 random features and a crowd that sees three directions of them.

    "projections": 23 hidden quantities, of which it sees three, projected at random with as much
    noise; "all columns": a random direction of 512 independent columns; "three columns": three of
    these.
    """
    n = n_shown + 400
    features, truth, rng = planted_features(kind, n, seed)
    crowd = FeatureCrowd(truth, N_ANNOTATORS, NOISE, seed)

    def answers(first: int, last: int, n: int) -> Groupings:
        grids = [rng.permutation(np.arange(first, last))[:GRID_SIZE] for _ in range(n)]
        return crowd.answer_grids(np.stack(grids), rng.integers(0, N_ANNOTATORS, n))

    sets = {"planted": features, "noise": np.random.default_rng([seed, 9]).normal(size=(n, 512))}
    return World(
        answers(0, n_shown, n_grids),
        answers(0, n_shown, 100),
        answers(n_shown, n, 150),
        sets,
        truth,
    )


def planted_features(
    kind: str, n: int, seed: int
) -> tuple[FloatArray, FloatArray, np.random.Generator]:
    """(n, 512) features, (n, 3) what the crowd sees, and the generator for the answers."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n, 512))
    if kind == "projections":
        hidden = rng.standard_normal((n, 23))
        features += hidden @ rng.standard_normal((23, 512))
        truth = hidden[:, :3]
    elif kind == "all columns":
        truth = features @ rng.standard_normal((512, 3)) / 512**0.5
    else:
        truth = features[:, rng.permutation(512)[:3]]
    return features, truth, rng


def simulated_people(
    columns: dict[str, list[str]], sets: dict[str, FloatArray], seed: int
) -> World:
    """Annotators who group by the columns, half of the images never shown."""
    crowd = AttributeCrowd.from_table(columns, N_ANNOTATORS, noise=NOISE, random_state=seed)
    rng = np.random.default_rng(seed)
    order = rng.permutation(crowd.n_images)
    shown, never = np.array_split(order, 2)

    def answers(images: NDArray[np.int64], n_grids: int, number: int) -> Groupings:
        grids = np.stack([rng.permutation(images)[:GRID_SIZE] for _ in range(n_grids)])
        who = rng.integers(0, N_ANNOTATORS, n_grids)
        return crowd.answer_grids(grids, who, number)[0]

    noise = {"noise": np.random.default_rng([seed, 9]).normal(size=(crowd.n_images, 20))}
    return World(
        answers(shown, N_GRIDS, 0), answers(shown, 100, 1), answers(never, 150, 2), sets | noise
    )


def faces(folder: Path, seed: int) -> World:
    return simulated_people(*face_columns(folder), seed)


def face_columns(folder: Path) -> tuple[dict[str, list[str]], dict[str, FloatArray]]:
    """What the crowd sees in each face, and its features."""
    rows = read_table(folder / "cmu_faces/items.csv")
    paths = tuple(folder / f"cmu_faces/images/{row['name']}.png" for row in rows)
    sets = {"pca20": np.load(folder / "cmu_faces/pca20.npy").astype(np.float64)}
    return {k: [row[k] for row in rows] for k in ("pose", "eyes")}, sets | _computed(paths)


def emoji(seed: int) -> World:
    return simulated_people(*emoji_columns(), seed)


def emoji_columns() -> tuple[dict[str, list[str]], dict[str, FloatArray]]:
    """What the crowd sees in each emoji, and its features."""
    rows = read_table(EMOJI_FOLDER / "attributes.csv")
    sets = _computed(tuple(EMOJI_FOLDER / row["filename"] for row in rows))
    return {k: [row[k] for row in rows] for k in ("category", "colour", "mood")}, sets


def labelme(folder: Path, seed: int) -> World:
    """Labels of real people as groupings; three in ten grids are held out."""
    answers = load("labelme", folder).groupings
    items = sorted({row["item"] for row in read_table(folder / "labelme_crowd/answers_train.csv")})
    paths = tuple(folder / f"labelme_crowd/thumbs_train/{item}.jpg" for item in items)
    vgg = np.load(folder / "labelme_crowd/vgg_avg_train.npy").astype(np.float64)
    sets = {"vgg": vgg[[int(item) for item in items]]}
    sets |= _computed(paths)
    return _real_people(answers, sets, seed)


def mnist(folder: Path, seed: int) -> World:
    """Digits in grids of 36, grouped by real people; three in ten grids are held out."""
    answers = load("mnist", folder).groupings
    rows = read_table(folder / "semicrowd_mnist/grids.csv")
    items = sorted({row["item"] for row in rows})
    with np.load(folder / "semicrowd_mnist/mnist_train.npz") as stored:
        digits = stored["images"][[int(item) for item in items]]
    return _real_people(answers, _of_digits(digits.tobytes(), len(digits)), seed)


@cache
def _of_digits(pixels: bytes, n: int) -> dict[str, FloatArray]:
    grey = np.frombuffer(pixels, np.uint8).reshape(n, 28, 28)
    pictures = [np.repeat(digit[:, :, None], 3, axis=2) for digit in grey]
    return {name: make(pictures) for name, make in SOURCES.items()}


def _real_people(answers: Groupings, sets: dict[str, FloatArray], seed: int) -> World:
    """Half of the images never shown."""
    noise = np.random.default_rng([seed, 9]).normal(size=(answers.n_images, 20))
    train, test = answers.split(0.3, seed)
    held: BoolArray = np.random.default_rng(seed).random(answers.n_images) < 0.5
    return World(
        only_images(train, ~held),
        only_images(test, ~held),
        only_images(test, held),
        sets | {"noise": noise},
        people=answers,
    )


@cache
def _computed(paths: tuple[Path, ...]) -> dict[str, FloatArray]:
    """Features of every source, computed once for all seeds."""
    pictures = [_picture(path) for path in paths]
    return {name: make(pictures) for name, make in SOURCES.items()}


def read_table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _picture(path: Path) -> NDArray[np.uint8]:
    return np.asarray(Image.open(path).convert("RGB"))
