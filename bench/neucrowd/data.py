"""The voted items, simulated as in the paper or read from a folder of data.

`--data FOLDER` names a folder with any of
    neucrowd/hotel_{train,valid,test}.csv    columns truth, votes for yes of 7, 300 features
    labelme_crowd/answers_train.csv    columns item, worker, label 0..7
    labelme_crowd/items.csv            columns split, item, ..., class
    labelme_crowd/vgg_avg_{train,test}.npy    (N, 512) features
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import truncnorm
from sklearn.datasets import make_classification

from learning.arrays import FloatArray, IntArray
from learning.votes import MISSING, Votes

N_TRAIN, N_TEST, N_FEATURES = 1_000, 500, 1_200
# A worker's probability of mislabelling: mean, deviation, minimum, maximum (section 4.1).
_MISLABELLING = (0.1, 0.1, 0.01, 0.5)
SCENES = {
    "coast against open country": (5, 7),
    "inside city against street": (1, 3),
}


@dataclass(frozen=True, eq=False)
class Question:
    """features: (n, D); votes: (n, d); known: (n,) the truth, to evaluate the votes, unless only
    their majority is known; unseen features (m, D), their truth (m,)."""

    features: FloatArray
    votes: Votes
    unseen: FloatArray
    truth: IntArray
    known: IntArray | None = None


def synthetic(workers: int, seed: int, n_informative: int = N_FEATURES) -> Question:
    """Syn1 (7 workers) and Syn2 (11), section 4.1: 800 + 200 items to learn from, 500 unseen.

    The paper does not say how many of the 1,200 features are informative. In the authors' own
    `syn_valid` every feature deviates by about 20, as `make_classification` gives if all of them
    are. Only then does logistic regression reach the paper's figures.
    """
    rng = np.random.default_rng([seed, workers, n_informative])
    features, truth = make_classification(
        N_TRAIN + N_TEST,
        N_FEATURES,
        n_informative=n_informative,
        n_redundant=0 if n_informative == N_FEATURES else n_informative,
        n_clusters_per_class=2,
        flip_y=0.0,
        random_state=int(rng.integers(2**31)),
    )
    votes = simulated_votes(truth[:N_TRAIN], workers, rng)
    return Question(features[:N_TRAIN], votes, features[N_TRAIN:], truth[N_TRAIN:], truth[:N_TRAIN])


def simulated_votes(truth: IntArray, workers: int, rng: np.random.Generator) -> Votes:
    """(n, workers) votes of workers who each have a probability of mislabelling."""
    mean, deviation, least, most = _MISLABELLING
    wrong = truncnorm.rvs(
        (least - mean) / deviation,
        (most - mean) / deviation,
        loc=mean,
        scale=deviation,
        size=workers,
        random_state=rng,
    )
    mistaken = rng.random((len(truth), workers)) < wrong
    return np.where(mistaken, 1 - truth[:, None], truth[:, None]).astype(np.int8)


def hotel(folder: Path) -> Question:
    """447 + 112 comments to learn from, 140 unseen. Only the number of yes votes of seven workers
    is public, so who voted is random, and the truth of the unseen ones is their majority."""
    train, valid, test = _hotel_tables(folder)
    return _hotel_question(np.vstack([train, valid]), test)


def hotel_resplit(folder: Path, seed: int) -> Question:
    """The same 699 comments with another 140 unseen ones for each seed."""
    rows = np.random.default_rng([seed, 6]).permutation(np.vstack(_hotel_tables(folder)))
    return _hotel_question(rows[:-140], rows[-140:])


def _hotel_tables(folder: Path) -> list[FloatArray]:
    return [
        np.loadtxt(folder / "neucrowd" / f"hotel_{name}.csv", delimiter=",", skiprows=1)
        for name in ("train", "valid", "test")
    ]


def _hotel_question(learned: FloatArray, unseen: FloatArray) -> Question:
    votes = np.random.default_rng(0).permuted(np.arange(7) < learned[:, 1:2], axis=1)
    truth = unseen[:, 0].astype(np.int64)
    return Question(learned[:, 2:], votes.astype(np.int8), unseen[:, 2:], truth)


def scenes(folder: Path, question: str) -> Question:
    """LabelMe (Rodrigues and Pereira 2018): scenes of two kinds with labels by 59 people on
    Mechanical Turk, one to three each; labels of a third kind do not count as votes."""
    no, yes = SCENES[question]
    kinds = {split: _classes(folder, split) for split in ("train", "test")}
    features = {split: _vgg(folder, split) for split in kinds}
    votes = _scene_votes(folder, len(kinds["train"]), no, yes)
    asked = np.isin(kinds["train"], (no, yes))
    unseen = np.isin(kinds["test"], (no, yes))
    return Question(
        features["train"][asked],
        votes[asked],
        features["test"][unseen],
        (kinds["test"][unseen] == yes).astype(np.int64),
        (kinds["train"][asked] == yes).astype(np.int64),
    )


def _vgg(folder: Path, split: str) -> FloatArray:
    stored = np.load(folder / "labelme_crowd" / f"vgg_avg_{split}.npy")
    return np.asarray(stored, np.float64)


def _classes(folder: Path, split: str) -> IntArray:
    with (folder / "labelme_crowd" / "items.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["split"] == split]
    kinds = np.full(len(rows), -1)
    for row in rows:
        kinds[int(row["item"])] = int(row["class"])
    return kinds


def _scene_votes(folder: Path, n_items: int, no: int, yes: int) -> Votes:
    with (folder / "labelme_crowd" / "answers_train.csv").open(newline="") as file:
        answers = [tuple(map(int, row.values())) for row in csv.DictReader(file)]
    votes = np.full((n_items, max(worker for _, worker, _ in answers) + 1), MISSING, np.int8)
    for item, worker, label in answers:
        if label in (no, yes):
            votes[item, worker] = int(label == yes)
    return votes
