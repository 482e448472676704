"""Labels of several classes from few votes: `python -m bench.classes [PART ...] --data FOLDER`.

`--data FOLDER` names a folder with labelme_crowd/ (see bench/neucrowd/data.py). Without it, only
the simulated crowds are measured.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bench.harness.command import parsed, parts_parser
from bench.harness.paths import BENCHMARKS
from bench.harness.store import RowFile
from bench.harness.tables import Row, distinct, mean_sd, of, seeds, table
from learning.aggregation import METHODS
from learning.arrays import FloatArray, IntArray
from learning.class_ballots import class_votes_of
from learning.class_labels import CrowdClasses
from learning.class_vote_model import hear_classes
from learning.class_votes import aggregate_classes, class_counts
from learning.groupings import Groupings
from learning.simulation import ClassCrowd
from learning.votes import MISSING, Votes

PARTS = ("votes1", "votes2", "votes3", "labelme")
N_ITEMS, N_UNSEEN, N_CLASSES, N_FEATURES, N_PEOPLE, NOISE = 400, 400, 4, 16, 7, 0.25
NAMES = {
    "majority": "Majority",
    "dawid_skene": "Dawid–Skene",
    "glad": "GLAD",
    "shrunk": "Our vote model, without a classifier",
    "ours": "**Ours**: vote model and classifier",
}
STORED = RowFile(BENCHMARKS / "classes.json", ("part", "method", "seed"), digits=4)
REPORT = BENCHMARKS / "classes.md"


@dataclass(frozen=True, eq=False)
class Question:
    """features (n, D), votes (n, d) and truth (n,) of voted items; unseen (m, D) features and their
    truth."""

    features: FloatArray
    votes: Votes
    truth: IntArray
    unseen: FloatArray
    unseen_truth: IntArray
    n_classes: int


def simulated(per_item: int, seed: int) -> Question:
    """Seven people with a mean error of a quarter, most of which confuses pairs of classes; each
    item has `per_item` votes. Features overlap: the best classifier errs too."""
    rng = np.random.default_rng([seed, 26])
    truth = rng.integers(N_CLASSES, size=N_ITEMS + N_UNSEEN)
    centres = rng.normal(0, 0.7, (N_CLASSES, N_FEATURES))
    features = centres[truth] + rng.normal(size=(len(truth), N_FEATURES))
    crowd = ClassCrowd.of_people(truth[:N_ITEMS], N_CLASSES, N_PEOPLE, NOISE, random_state=seed)
    votes = np.full((N_ITEMS, N_PEOPLE), MISSING, np.int8)
    for item in range(N_ITEMS):
        for person in rng.permutation(N_PEOPLE)[:per_item].tolist():
            votes[item, person] = crowd.answer(person, [item]).groups[0]
    seen, unseen = features[:N_ITEMS], features[N_ITEMS:]
    return Question(seen, votes, truth[:N_ITEMS], unseen, truth[N_ITEMS:], N_CLASSES)


def labelme(folder: Path) -> Question:
    """1,000 photographs of 8 kinds of scenes with one to three labels by 59 people each (Rodrigues
    and Pereira 2018); 1,188 others are unseen."""
    root = folder / "labelme_crowd"
    with (root / "answers_train.csv").open() as file:
        answers = [[int(row[name]) for name in ("item", "worker", "label")]
                   for row in csv.DictReader(file)]  # fmt: skip
    with (root / "items.csv").open() as file:
        items = [row for row in csv.DictReader(file)]
    truth = {
        split: np.array([int(row["class"]) for row in items if row["split"] == split])
        for split in ("train", "test")
    }
    item, worker, label = np.array(answers).T
    people, who = np.unique(worker, return_inverse=True)
    groupings = Groupings(item[:, None], label[:, None], who, len(truth["train"]), len(people))
    features = {split: np.load(root / f"vgg_avg_{split}.npy").astype(np.float64) for split in truth}
    return Question(
        features["train"], class_votes_of(groupings), truth["train"], features["test"],
        truth["test"], 8,
    )  # fmt: skip


def question(part: str, folder: Path | None, seed: int) -> Question | None:
    if part != "labelme":
        return simulated(int(part.removeprefix("votes")), seed)
    return None if folder is None else labelme(folder)


def measured(asked: Question, seed: int) -> Iterator[Row]:
    """The share of right labels of voted items (`right`) and of unseen ones (`unseen`, by a
    logistic regression on the labels, or by our classifier), and how many were expected."""
    even = np.full((len(asked.truth), asked.n_classes), 1 / asked.n_classes)
    for method in (*METHODS, "shrunk"):
        start = time.process_time()
        if method == "shrunk":
            chances = hear_classes(asked.votes, even).probability
        else:
            chances = aggregate_classes(asked.votes, asked.n_classes, method).probability
        line = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=2_000))
        line.fit(asked.features, _decided(chances, asked.votes))
        unseen = line.predict(asked.unseen)
        yield _row(method, seed, asked, chances, unseen, time.process_time() - start)
    start = time.process_time()
    model = CrowdClasses(asked.n_classes, random_state=seed).fit(asked.features, asked.votes)
    predicted = model.predict_proba(asked.unseen).argmax(axis=1)
    seconds = time.process_time() - start
    yield _row("ours", seed, asked, model.probability_, predicted, seconds)


def _decided(chances: FloatArray, votes: Votes) -> IntArray:
    """Ties go to the class that has most votes in all."""
    usual = class_counts(votes, chances.shape[1]).sum(axis=0)
    return np.asarray((chances + 1e-9 * usual / usual.max()).argmax(axis=1), np.int64)


def _row(
    method: str, seed: int, asked: Question, chances: FloatArray, unseen: IntArray, seconds: float
) -> Row:
    chosen = _decided(chances, asked.votes)
    return {
        "method": method,
        "seed": seed,
        "right": float((chosen == asked.truth).mean()),
        "expected": float(chances.max(axis=1).mean()),
        "unseen": float((unseen == asked.unseen_truth).mean()),
        "seconds": seconds,
    }


def report(rows: list[Row]) -> list[str]:
    lines = [
        "# Classes, measured",
        "",
        "`python -m bench.classes --data FOLDER`; mean ± sd over seeds.",
        "",
        "- *right*: the share of right labels of the items with votes",
        "- *expected*: the share that the method's own probabilities say",
        "- *unseen*: the share of right labels of other items, by our classifier, or by logistic",
        "  regression on the method's labels",
        "- *fit*: core seconds, on a machine that did other work too",
    ]
    for part in distinct(rows, "part"):
        own = of(rows, part=part)
        lines += ["", f"## {_title(part)}", "", _about(part), ""]
        body = [
            [
                name,
                mean_sd(of(own, method=method), "right"),
                mean_sd(of(own, method=method), "expected"),
                mean_sd(of(own, method=method), "unseen"),
                mean_sd(of(own, method=method), "seconds", 1),
            ]
            for method, name in NAMES.items()
        ]
        lines += table([f"method ({seeds(own)})", "right", "expected", "unseen", "fit"], body)
    return lines


def _title(part: str) -> str:
    if part == "labelme":
        return "LabelMe: 8 kinds of scenes, real people"
    n = part.removeprefix("votes")
    return f"Simulated: {n} vote{'s' if n != '1' else ''} on each of {N_ITEMS} items"


def _about(part: str) -> str:
    if part == "labelme":
        return (
            "1,000 photographs with one to three labels each by 59 people, of which 74 % are right "
            "(Rodrigues and Pereira 2018); VGG16 features; 1,188 unseen photographs. All methods "
            "expect more right labels than there are: many people mistake the same photographs, "
            "which none of the models knows. Known answers (gold grids) show it in a campaign."
        )
    return (
        f"{N_PEOPLE} simulated people with a mean error of {NOISE:.0%}, most of which confuses "
        f"pairs of the {N_CLASSES} classes; {N_FEATURES} features that overlap."
    )


def main() -> None:
    parser = parts_parser(__doc__, PARTS, seeds=5)
    parser.add_argument("--data", type=Path, help="folder of data")
    options = parsed(parser, PARTS)
    for part in options.parts:
        for seed in range(options.seeds):
            asked = question(part, options.data, seed)
            if asked is None:
                continue
            for row in measured(asked, seed):
                print(part, row, flush=True)
                STORED.add({"part": part, **row})
    REPORT.write_text("\n".join(report(STORED.rows())) + "\n")


if __name__ == "__main__":
    main()
