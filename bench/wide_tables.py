"""Time and memory of learning from a wide table: 50,000 images with 4,096 columns.

`python -m bench.wide_tables` measures each part in a process of its own and replaces a section of
`docs/benchmarks/cover.md`.
"""

from __future__ import annotations

import argparse
import json
import time
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from bench.harness.processes import measured_alone, peak_gib
from bench.harness.sections import publish_section
from bench.harness.tables import Row, table
from learning.coverage import cover
from learning.feature_alignment import FeatureAlignment
from learning.feature_map import feature_map
from learning.groupings import Groupings

HEADING = "Wide tables"
N, WIDTH, HIDDEN = 50_000, 4_096, 40
ASKED = 400
N_GRIDS, GRID_SIZE, N_ANNOTATORS = 1_000, 24, 50
PARTS = {
    "cover": f"`cover` of {ASKED}",
    "map": "`feature_map`",
    "fit": "`FeatureAlignment.fit`, until the first map is fitted",
}
ABOUT = """\
`python -m bench.wide_tables`: {n:,} images with {width:,} columns in single precision
({table:.2f} GiB), {hidden} hidden quantities and noise. {grids:,} grids of {size} for alignments.
Each part ran in a process of its own on one core; the memory is the largest resident memory in
excess of that before, which has the table and the libraries.

{rows}

With copies of the whole table in double precision, the same took 6.11 GiB for `cover` until k-means
began, 3.05 GiB for `feature_map`, and 1.05 GiB for `FeatureAlignment.fit`.
"""


def wide_table() -> NDArray[np.float32]:
    rng = np.random.default_rng(0)
    values = rng.standard_normal((N, WIDTH), np.float32)
    loadings = rng.standard_normal((HIDDEN, WIDTH), np.float32)
    for start in range(0, N, 1_000):
        values[start : start + 1_000] += rng.standard_normal((1_000, HIDDEN), np.float32) @ loadings
    return values


def answers(values: NDArray[np.float32]) -> Groupings:
    """Of annotators that put images into four groups by a direction of the table."""
    rng = np.random.default_rng(1)
    seen = values[:, :256].mean(axis=1)
    cuts = np.quantile(seen, [0.25, 0.5, 0.75])
    images = np.stack([rng.choice(N, GRID_SIZE, replace=False) for _ in range(N_GRIDS)])
    groups = np.searchsorted(cuts, seen[images])
    annotators = rng.integers(0, N_ANNOTATORS, N_GRIDS)
    return Groupings(images, groups, annotators, N, N_ANNOTATORS)


class _Enough(Exception):
    """The first map is fitted: all others need the same memory."""


def _stop(*_: object) -> None:
    raise _Enough


def measured(part: str) -> Row:
    values = wide_table()
    given = answers(values)
    before, began = peak_gib(), time.perf_counter()
    with threadpool_limits(1):
        if part == "cover":
            cover(values, ASKED)
        elif part == "map":
            feature_map(values)
        else:
            with suppress(_Enough):
                FeatureAlignment().fit(values, given, progress=_stop)
    seconds = time.perf_counter() - began
    return {"part": part, "more": peak_gib() - before, "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=PARTS)
    part = parser.parse_args().part
    if part:
        print(json.dumps(measured(part)))
        return
    rows = [measured_alone("bench.wide_tables", part) for part in PARTS]
    body = [[PARTS[row["part"]], f"{row['more']:.2f}", f"{row['seconds']:.0f}"] for row in rows]
    head = ("what", "more memory, GiB", "seconds")
    text = ABOUT.format(
        n=N, width=WIDTH, table=N * WIDTH * 4 / 2**30, hidden=HIDDEN, grids=N_GRIDS,
        size=GRID_SIZE, rows="\n".join(table(head, body)),
    )  # fmt: skip
    publish_section("cover.md", HEADING, text)


if __name__ == "__main__":
    main()
