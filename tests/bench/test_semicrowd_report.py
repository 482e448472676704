"""Facts about how the benchmark of semi-crowdsourced clustering is run and told."""

from pathlib import Path

import numpy as np

from bench.harness.tables import spread
from bench.semicrowd import data, parts
from bench.semicrowd.report import write_report
from bench.semicrowd.size import clouds, grids


def test_a_part_that_was_measured_is_told_with_its_plot(tmp_path: Path) -> None:
    rows = [
        row
        for method in ("k-means", "Dawid–Skene, spectral, neighbours")
        for seed in (0, 1)
        for row in parts.pinwheel(method, seed)
    ]
    write_report({"pinwheel": rows}, tmp_path)
    report = (tmp_path / "semicrowd.md").read_text()
    k_means = spread(row["accuracy"] for row in rows if row["method"] == "k-means")
    assert f"| k-means | 2 | {k_means} |" in report
    assert "CMU faces" not in report
    assert [path.name for path in tmp_path.glob("*.svg")] == ["semicrowd_pinwheel.svg"]
    assert len(rows[0]["labels"]) == 500
    assert "labels" not in rows[1]


def test_pairs_of_a_part_of_the_digits_are_of_the_same_digits() -> None:
    whole = data.Collection(np.arange(40.0)[:, None], np.arange(40) % 10)
    rng = np.random.default_rng(0)
    pairs = data.two_coin_pairs(whole.classes, [0.9], [0.9], 45, rng, np.arange(20, 30))
    some, fewer = data.first_annotated(whole, pairs, 15)
    assert some.features[:, 0].tolist() == [0, 1, 2, 3, 4, *range(20, 30)]
    assert some.features[fewer.i, 0].tolist() == pairs.i.tolist()
    assert some.features[fewer.j, 0].tolist() == pairs.j.tolist()
    assert (fewer.n_images, len(fewer)) == (15, 45)


def test_the_made_up_collection_has_grids_of_some_of_its_images() -> None:
    rng = np.random.default_rng(0)
    items = clouds(3_000, rng)
    assert items.features.shape == (3_000, 64)
    assert set(items.classes.tolist()) == set(range(12))
    pairs = grids(items.classes, 2_000, rng)
    assert 2_000 <= len(pairs) < 2_200
    right = pairs.same == (items.classes[pairs.i] == items.classes[pairs.j])
    assert 0.85 < right.mean() < 0.99
