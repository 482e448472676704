"""Which images to ask about when there is money for a part: covers compared on real photographs.

`python -m bench.cover --data FOLDER`, with labelme_crowd/ and cmu_faces/ in FOLDER. The class of
some images is known, as if people had been asked about them; the classes of all others are
predicted by the three nearest ones' votes. Writes `docs/benchmarks/cover.md`, except the section by
`bench.wide_tables`.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from bench.harness.paths import BENCHMARKS, publish
from bench.harness.sections import section_of
from bench.harness.tables import spread, table
from bench.wide_tables import HEADING
from learning.arrays import FloatArray, IntArray
from learning.coverage import cover

ASKED = (50, 100, 200)
SEEDS = 10
DIMENSIONS = 64
FACES = ("person", "pose", "eyes")
SPLITS = ("train", "valid", "test")
ABOUT = """# Images to ask about

`python -m bench.cover`: a campaign has money to ask about some of the images. The class of these
is known then, and each other image gets the class that the three nearest ones vote for, weighted
by distance. The figures are the share of images, among those that nobody was asked about, that
get their true class: mean ± standard deviation over {seeds} seeds. *Scenes*: {scenes:,} photographs
of eight kinds of scene (LabelMe), features of VGG-16, averaged. *Faces*: {faces:,} pictures of 20
people (CMU), 20 principal components of their pixels. *Most frequent*: what is right without
asking for anything but the most frequent class.

*Representative* is what the product does (`learning.coverage`): the images nearest to the centres
of k-means. *k-centre* (Gonzalez 1985) takes the image farthest from all that were taken.

{table}
"""

Data = tuple[FloatArray, list[tuple[str, IntArray]]]


def at_random(features: FloatArray, n: int, seed: int) -> IntArray:
    chosen = np.random.default_rng(seed).choice(len(features), n, replace=False)
    return np.asarray(chosen, np.int64)


def k_centre(features: FloatArray, n: int, seed: int) -> IntArray:
    """Greedy k-centre from a random first image."""
    chosen = [int(np.random.default_rng(seed).integers(len(features)))]
    distance = np.full(len(features), np.inf)
    while len(chosen) < n:
        newest = features[chosen[-1]]
        distance = np.minimum(distance, ((features - newest) ** 2).sum(axis=1))
        chosen.append(int(distance.argmax()))
    return np.array(chosen)


WAYS: dict[str, Callable[[FloatArray, int, int], IntArray]] = {
    "random": at_random,
    "k-centre": k_centre,
    "representative": cover,
}


def scenes(folder: Path) -> Data:
    parts = [np.load(folder / f"labelme_crowd/vgg_avg_{split}.npy") for split in SPLITS]
    with (folder / "labelme_crowd/items.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    by_split = [row["class"] for split in SPLITS for row in rows if row["split"] == split]
    return reduced(np.concatenate(parts)), [("scene", numbered(by_split))]


def faces(folder: Path) -> Data:
    with (folder / "cmu_faces/items.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    classes = [(name, numbered([row[name] for row in rows])) for name in FACES]
    return reduced(np.load(folder / "cmu_faces/pca20.npy")), classes


def numbered(names: list[str]) -> IntArray:
    return np.asarray(np.unique(names, return_inverse=True)[1], np.int64)


def reduced(features: FloatArray) -> FloatArray:
    n = min(DIMENSIONS, features.shape[1])
    return np.asarray(PCA(n, random_state=0).fit_transform(features), np.float64)


def predicted(features: FloatArray, classes: IntArray, asked: IntArray) -> float:
    """Share of the images not asked about that get their class from those that were."""
    others = np.setdiff1d(np.arange(len(features)), asked)
    votes = KNeighborsClassifier(3, weights="distance").fit(features[asked], classes[asked])
    return float(votes.score(features[others], classes[others]))


def farness(features: FloatArray, asked: IntArray) -> float:
    """Mean distance to the nearest image asked about, in standard deviations of the features."""
    return float(cdist(features, features[asked]).min(axis=1).mean() / features.std())


def rows_of(features: FloatArray, classes: list[tuple[str, IntArray]]) -> list[list[str]]:
    rows = []
    for n in ASKED:
        covers = {name: [way(features, n, seed) for seed in range(SEEDS)]
                  for name, way in WAYS.items()}  # fmt: skip
        apart = [spread((farness(features, asked) for asked in all_), 2)
                 for all_ in covers.values()]  # fmt: skip
        rows.append(["distance to the nearest", str(n), "", *apart])
        for what, truth in classes:
            right = [spread(predicted(features, truth, asked) for asked in all_)
                     for all_ in covers.values()]  # fmt: skip
            frequent = np.bincount(truth).max() / len(truth)
            rows.append([what, str(n), f"{frequent:.3f}", *right])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    folder = parser.parse_args().data
    photographs, portraits = scenes(folder), faces(folder)
    head = ("", "asked about", "most frequent", *WAYS)
    body = rows_of(*photographs) + rows_of(*portraits)
    sizes = {"scenes": len(photographs[0]), "faces": len(portraits[0])}
    text = ABOUT.format(seeds=SEEDS, table="\n".join(table(head, body)), **sizes)
    wide = section_of((BENCHMARKS / "cover.md").read_text(), HEADING)
    publish("cover.md", f"{text}\n{wide}")


if __name__ == "__main__":
    main()
