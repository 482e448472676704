"""Facts about the benchmark of real crowds and of the foreign simulator."""

import csv
import gzip
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from bench.harness.measures import matched_mcc
from bench.harness.tables import Row
from bench.real_crowds import __main__ as command
from bench.real_crowds import data
from bench.real_crowds.gaps import gap
from bench.real_crowds.jobs import Job, jobs, measure, stored
from bench.real_crowds.measures import (
    answered_images,
    class_measures,
    common_threshold,
    pair_measures,
)
from bench.real_crowds.methods import BASELINES, DEFAULT, METHODS, PRODUCT, Places
from bench.real_crowds.report import comparison, write_report
from bench.real_crowds.triplets import OrdinalEmbedding
from learning.groupings import Groupings, from_answers
from learning.simulation.foreign_crowd import NOISE_KINDS
from learning.simulation.foreign_crowd_scenes import FOREIGN_SCENES

FAST = "Bayesian crowd clustering, K=2"


def write_csv(path: Path, head: str, rows: Sequence[tuple[object, ...]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(head.split(","))
        writer.writerows(rows)


def a_folder_of_bluebirds(folder: Path) -> Path:
    """Eight workers who label forty birds, mostly rightly."""
    rng = np.random.default_rng(0)
    truth = np.arange(40) % 2
    right = rng.random((8, 40)) < 0.9
    answers = [
        (f"bird{i:02}", f"w{w}", int(truth[i] if right[w, i] else 1 - truth[i]))
        for w in range(8)
        for i in range(40)
    ]
    write_csv(folder / "crowd_truth/bluebirds_answer.csv", "question,worker,answer", answers)
    named = [(f"bird{i:02}", int(truth[i])) for i in range(40)]
    write_csv(folder / "crowd_truth/bluebirds_truth.csv", "question,truth", named)
    return folder


def test_groups_of_jsonl_and_ranges_of_classes_are_read(tmp_path: Path) -> None:
    (tmp_path / "birds_dogs").mkdir()
    row = {"annotator": 7, "images": [0, 60, 341], "groups": [1, 0, 1], "seconds": 2.0}
    with gzip.open(tmp_path / "birds_dogs/birds_grid3_choice.jsonl.gz", "wt") as file:
        file.write(json.dumps(row) + "\n")
    crowd = data.load("birds_grid3_choice", tmp_path)
    assert data.available(tmp_path) == ["birds_grid3_choice"]
    # Images are numbered in the order of their names: 0, 341, 60.
    assert crowd.truth.tolist() == [0, 5, 1]
    assert crowd.groupings.images.tolist() == [[0, 2, 1]]
    assert crowd.groupings.groups.tolist() == [[1, 0, 1]]


def test_an_item_shown_twice_in_a_grid_counts_once_with_its_first_group(tmp_path: Path) -> None:
    rows = [(0, 3, 0, 50, 1, 9), (0, 3, 1, 40, 0, 8), (0, 3, 2, 50, 0, 9)]
    head = "grid,worker,position,item,group,true_label"
    write_csv(tmp_path / "semicrowd_mnist/grids.csv", head, rows)
    crowd = data.load("mnist", tmp_path)
    grid = dict(zip(crowd.groupings.images[0], crowd.groupings.groups[0], strict=True))
    # Sorted names: item 40 is image 0, item 50 image 1; label 8 is class 0, label 9 class 1.
    assert grid == {0: 0, 1: 1}
    assert crowd.truth.tolist() == [0, 1]


def test_labels_of_a_worker_become_grids_of_at_most_24(tmp_path: Path) -> None:
    crowd = data.load("bluebirds", a_folder_of_bluebirds(tmp_path))
    answers = crowd.groupings
    sizes = (answers.images >= 0).sum(axis=1)
    assert sorted(sizes.tolist()) == [16] * 8 + [24] * 8
    assert crowd.truth.tolist() == [0, 1] * 20
    labels: dict[tuple[int, int], set[int]] = {}
    for images, groups, who in zip(answers.images, answers.groups, answers.annotators, strict=True):
        for image in images[images >= 0].tolist():
            labels.setdefault((int(who), image), set()).add(int(groups[images == image][0]))
    assert len(labels) == 8 * 40
    assert len({tuple(sorted(row)) for row in answers.images.tolist()}) == len(answers)


def test_an_item_without_a_true_label_is_no_image_of_a_class(tmp_path: Path) -> None:
    rows = [("a", "w", 0), ("b", "w", 1)]
    write_csv(tmp_path / "crowd_truth/dogs4_answer.csv", "question,worker,answer", rows)
    write_csv(tmp_path / "crowd_truth/dogs4_truth.csv", "question,truth", [("b", 3)])
    assert data.load("dogs4", tmp_path).truth.tolist() == [-1, 0]


def a_line_of_images() -> tuple[Groupings, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    """Images 0 to 29 on a line, grouped when they are at most 5.5 apart from the grid's
    first or not."""
    rng = np.random.default_rng(1)
    grids = [rng.permutation(30)[:2] for _ in range(400)]
    groups = [[0, int(abs(int(grid[0]) - int(grid[1])) > 5.5)] for grid in grids]
    places = np.arange(30, dtype=np.float64)[:, None]
    return from_answers(grids, groups, np.zeros(400, int), 30, 1), places


def test_the_common_threshold_is_where_held_out_pairs_part() -> None:
    answers, places = a_line_of_images()
    seen: list[int] = []

    def method(train: Groupings, seed: int, calibrate: bool) -> Places:
        assert not calibrate
        seen.append(len(train))
        return Places(places)

    threshold = common_threshold(method, answers, 0)
    assert 5.0 < threshold < 6.0
    assert len(seen) == 2
    assert all(0.8 * 400 < n < 0.9 * 400 for n in seen)
    measures = pair_measures(Places(places), answers, threshold)
    assert measures["accuracy"] == measures["auc"] == measures["balanced_accuracy"] == 1.0
    assert "own_accuracy" not in measures


def test_classes_apart_score_one_and_one_place_for_all_scores_chance() -> None:
    truth = np.repeat([0, 1, 2, -1], 40)
    everyone = np.ones(160, np.bool_)
    apart = truth[:, None] + 0.01 * np.random.default_rng(0).standard_normal((160, 2))
    assert class_measures(apart, truth, everyone, 0) == {"ami": 1.0, "mcc": 1.0, "purity": 1.0}
    collapsed = class_measures(1e-9 * apart[:, :0] @ np.zeros((0, 2)), truth, everyone, 0)
    # Classes are ranges of the images: neighbours in their order must not count.
    assert collapsed["purity"] == pytest.approx(1 / 3, abs=0.12)
    assert collapsed["ami"] == pytest.approx(0.0, abs=0.05)


def test_matched_clusters_may_have_any_number() -> None:
    classes = np.array([0, 0, 1, 1, 2, 2])
    assert matched_mcc(classes, (classes + 1) % 3) == 1.0


def test_images_of_leftovers_alone_are_not_answered() -> None:
    answers = from_answers([[0, 1], [2, 3]], [[0, 0], [-1, -1]], [0, 0], 5, 1)
    assert answered_images(answers).tolist() == [True, True, False, False, False]


def test_an_ordinal_embedding_separates_what_is_never_together() -> None:
    pytest.importorskip("cblearn")
    scene = FOREIGN_SCENES["lazy"](0)
    careful = [name == "careful" for name in scene.annotator_type]
    answers = scene.groupings.subset(np.array(careful)[scene.groupings.annotators])
    places = OrdinalEmbedding(2, random_state=0).fit(answers).embedding_
    assert places.shape == (240, 2)
    answered = answered_images(answers)
    assert class_measures(places, scene.classes, answered, 0)["purity"] > 0.6


def a_row(**values: object) -> Row:
    row = vars(Job("splits", "mnist", FAST, "", 0, 1.0, 0))
    return {**row, **values}


def test_a_row_replaces_the_one_about_the_same(tmp_path: Path) -> None:
    store = stored(tmp_path / "new" / "rows.json")
    assert store.rows() == []
    store.add(a_row(auc=0.5))
    store.add(a_row(auc=0.1234567, split=1))
    store.add(a_row(auc=0.75))
    stored(store.path).add(a_row(auc=0.25, label="other"))
    assert [row["auc"] for row in store.rows()] == [0.75, 0.12346, 0.25]


def test_a_gap_is_paired_against_the_best_complete_baseline() -> None:
    def rows(method: str, aucs: list[float]) -> list[Row]:
        return [a_row(method=method, split=s, seed=s, auc=auc) for s, auc in enumerate(aucs)]

    best, incomplete, other = BASELINES[:3]
    measured = [
        *rows(DEFAULT, [0.80, 0.90, 0.70]),
        *rows(best, [0.79, 0.88, 0.70]),
        *rows(incomplete, [0.99]),
        *rows(other, [0.5, 0.5, 0.5]),
    ]
    measured_gap = gap(measured, DEFAULT, "auc")
    assert measured_gap is not None
    assert (measured_gap.baseline, measured_gap.verdict) == (best, "ahead")
    assert measured_gap.difference == pytest.approx(0.01)
    assert measured_gap.error == pytest.approx(0.01 / np.sqrt(3))
    behind = gap([*measured, *rows(incomplete, [0.9, 0.95, 0.9])], DEFAULT, "auc")
    assert behind is not None
    assert (behind.baseline, behind.verdict) == (incomplete, "behind")


def test_losses_are_in_the_report(tmp_path: Path) -> None:
    rows = []
    for split in range(2):
        for method, value, label in ((DEFAULT, 0.7, "product"), (FAST, 0.8 + split / 100, "")):
            figures = dict.fromkeys(
                ("accuracy", "auc", "ami", "mcc", "purity", "balanced_accuracy"), value
            )
            rows.append(
                a_row(
                    method=method, split=split, seed=split, label=label, majority_rate=0.6,
                    seconds=1.0, **figures,
                )
            )  # fmt: skip
    path = tmp_path / "report.md"
    write_report(rows, "product", path)
    assert "| mnist | AUC | 0.700 ± 0.000 | " + FAST + " | -0.105 ± 0.005 | **behind** |" in (
        path.read_text()
    )
    assert comparison(rows, "another version", ["mnist"])[-1] == "Not measured."


def test_a_foreign_scene_is_measured_with_its_true_classes() -> None:
    row = measure(Job("foreign", "one_annotator", FAST, "", 1, 1.0, 1), None)
    assert row["auc"] > 0.6
    assert len(row["mcc"]) == 2
    assert 0.0 < row["class_mcc"] <= 1.0


def test_noise_is_measured_of_the_product_alone() -> None:
    noise = list(jobs("noise", NOISE_KINDS, METHODS, 5, "mine"))
    assert {job.method for job in noise} == set(PRODUCT)
    assert {job.label for job in noise} == {"mine"}
    assert len({(job.data, job.seed) for job in noise}) >= 20


def test_a_run_goes_on_where_it_was_and_writes_its_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, results = a_folder_of_bluebirds(tmp_path), tmp_path / "out" / "rows.json"
    arguments = ["bench", "--data", str(folder), "--results", str(results), "--methods", "K=[24]$"]
    monkeypatch.setattr(sys, "argv", [*arguments, "--parts", "splits", "report", "--splits", "2"])
    command.main()
    assert "4/4 splits bluebirds 1 1 1 " in capsys.readouterr().out
    rows = stored(results).rows()
    assert {(row["method"], row["split"]) for row in rows} == {
        (f"Bayesian crowd clustering, K={k}", split) for k in (2, 4) for split in (0, 1)
    }
    assert all({"accuracy", "own_accuracy", "purity", "auc"} <= row.keys() for row in rows)
    monkeypatch.setattr(sys, "argv", [*arguments, "--parts", "splits", "--splits", "3"])
    command.main()
    assert "2/2 splits bluebirds 2 1 2 " in capsys.readouterr().out
    assert stored(results).rows()[:4] == rows
    report = results.with_suffix(".md").read_text()
    assert "2 splits, majority rate" in report


def test_real_answers_need_their_folder(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench", "--parts", "splits"])
    with pytest.raises(SystemExit):
        command.main()
    assert "--data is needed" in capsys.readouterr().err
