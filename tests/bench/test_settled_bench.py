"""What the benchmark of settled neighbours measures, and how it reports it."""

from pathlib import Path

import numpy as np
import pytest

from bench.settled import fits
from bench.settled.coverage import outcome
from bench.settled.report import report
from bench.settled.stops import LOOKS, NoiseLook, Stop, careful_crowd
from bench.settled.worlds import N_BINS, groups_by, random_grids, simulated
from learning.arrays import FloatArray
from learning.groupings import Groupings


def test_annotators_put_near_images_together() -> None:
    rng = np.random.default_rng(0)
    member = rng.permuted(np.tile(np.arange(N_BINS), (20, 3)), axis=1)
    points = np.eye(N_BINS)[member] + 0.01 * rng.normal(size=(20, 12, N_BINS))
    groups = groups_by(points, rng)
    same, true = (rows[:, :, None] == rows[:, None] for rows in (groups, member))
    assert (same == true).all()


def test_noise_says_nothing_of_the_images_and_halves_are_as_large() -> None:
    crowd = careful_crowd("scdc", 0, noise=1.0)
    grids = random_grids(crowd, 200, np.random.default_rng(0))
    first, second = (crowd.answers(grids, turn) for turn in (0, 1))
    assert (first.groups == second.groups).mean() == pytest.approx(1 / N_BINS, abs=0.05)
    world = simulated("cen", 3)
    assert len(world.first) == len(world.second)
    assert (world.first.images != world.second.images).any()


def test_what_is_kept_is_told_as_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def positions(answers: Groupings, features: FloatArray | None, seed: int) -> FloatArray:
        calls.append(len(answers))
        return np.arange(float(answers.n_images))[:, None]

    monkeypatch.setitem(fits.LEARN, "crowdster", positions)
    world = simulated("crowdster", 4)
    rows = [outcome("crowdster", world, 2, tmp_path) for _ in range(2)]
    # The same answers are learned from once: four halves and both wholes.
    assert len(calls) == 6
    kept = [row for row in rows if row is not None]
    assert [row.share for row in kept] == [1.0, 1.0]
    stops = [Stop(0, LOOKS // 2, 0.9), Stop(1, LOOKS // 2, 0.1), Stop(2, None, float("nan"))]
    noise = [NoiseLook(0.31, 0.502, False), NoiseLook(0.87, 0.49, True)]
    text = report({("crowdster", "real"): kept}, {"crowdster": stops}, {"scdc": noise})
    assert "| crowdster | real | 2 | 100% | 0% | 100% |" in text
    assert "| crowdster | 3 | 2 | 1 | 0.50 | 33% |" in text
    assert "| scdc | 2 | 1 | 0.87 | 0.50 |" in text
