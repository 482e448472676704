"""Measures the image encoder: time, memory, and what its features tell apart.

`python -m bench.encoder --data FOLDER` needs folders `labelme_crowd` and `cmu_faces` in FOLDER
(photographs of eight kinds of scenes; faces of 20 people in four poses). Writes
`docs/benchmarks/encoder.md`, except the section by `bench.encoder_large`.
"""

import argparse
import csv
import os
import resource
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

# One core: torch and numpy read this when they are loaded.
os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from bench.encoder_large import HEADING
from bench.harness.paths import BENCHMARKS, publish
from bench.harness.sections import section_of
from learning.appearance import appearance_features
from learning.encoder import Encoder
from learning.encoder_files import packaged_file
from learning.encoder_weights import convert
from learning.pixels import pixel_components, small_pixels
from learning.reduction import UnitComponents

NEIGHBOURS = 5
COMPONENTS = 64
TIMED, LONG = 200, 2_000
Images = list[NDArray[np.uint8]]
Table = NDArray[np.floating]
HEAD = """# The image encoder

`python -m bench.encoder --data FOLDER`: EfficientNet-Lite0 (decision 38) on one core.

## Time and memory

{timed} photographs, already decoded, squeezed and encoded in batches of 8 by one thread:
**{ms:.0f} ms of processor time per image**. {long:,} images, read one after the other, raised the
largest memory of the process by {memory:.0f} MiB after the first {timed}.

## What features tell apart

The share of images whose {k} nearest neighbours (cosine) by majority have the same value; chance is
the share of the most frequent value. Faces' pose, expression and eyes are judged by neighbours of
**other people** only: the same face is nearest otherwise, whatever its pose. No feature was fitted
to these values. `objects` are {components} components of the encoder's 1,280 numbers, as campaigns
use them.

| what | images | chance | {names} |
|---|---|---|{dashes}|
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    data: Path = parser.parse_args().data
    encoder = Encoder.load(weights(), "cpu")
    scenes, kinds = _scenes(data / "labelme_crowd")
    faces, values = _faces(data / "cmu_faces")
    milliseconds, memory = _cost(encoder, scenes)
    named = sources(encoder)
    columns = {name: (compute(scenes), compute(faces)) for name, compute in named.items()}
    lines = [_line("kind of scene", kinds, [of_scenes for of_scenes, _ in columns.values()])]
    of_faces = [table for _, table in columns.values()]
    lines.append(_line("person", values["person"], of_faces))
    for name in ("pose", "expression", "eyes"):
        lines.append(_line(name, values[name], of_faces, values["person"]))
    head = HEAD.format(
        timed=TIMED, ms=milliseconds, long=LONG, memory=memory, k=NEIGHBOURS,
        components=COMPONENTS, names=" | ".join(f"`{name}`" for name in named),
        dashes="|".join("---" for _ in named),
    )  # fmt: skip
    before = (BENCHMARKS / "encoder.md").read_text()
    publish("encoder.md", head + "".join(lines) + "\n" + section_of(before, HEADING))


def weights() -> Path:
    source = packaged_file()
    if source is None:
        raise SystemExit("the package with the encoder's weights is not installed")
    target = Path("build") / "encoder.safetensors"
    convert(source, target)
    return target


def sources(encoder: Encoder) -> dict[str, Callable[[Images], Table]]:
    def objects(images: Images) -> Table:
        features = encoder.encode(images)
        return UnitComponents(COMPONENTS).fit_transform(features)

    def pixels(images: Images) -> Table:
        small = small_pixels(images, 16)
        return small.reshape(len(small), -1)

    return {
        "appearance": appearance_features,
        "components": pixel_components,
        "pixels": pixels,
        "objects": objects,
    }


def _cost(encoder: Encoder, images: Images) -> tuple[float, float]:
    """Milliseconds of processor time per image, and MiB of memory that more images need."""
    encoder.encode(images[:8])
    started = time.process_time()
    encoder.encode(images[k % len(images)] for k in range(TIMED))
    milliseconds = 1_000 * (time.process_time() - started) / TIMED
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in encoder.encode_batches(images[k % len(images)] for k in range(LONG)):
        pass
    return milliseconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1_024


def _line(
    name: str, values: list[str], tables: list[Table], strangers: list[str] | None = None
) -> str:
    chance = max(Counter(values).values()) / len(values)
    shares = " | ".join(f"{_share_right(table, values, strangers):.3f}" for table in tables)
    return f"| {name} | {len(values)} | {chance:.3f} | {shares} |\n"


def _share_right(table: Table, values: list[str], strangers: list[str] | None) -> float:
    unit = table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-12)
    similar = unit @ unit.T
    np.fill_diagonal(similar, -np.inf)
    if strangers is not None:
        names = np.array(strangers)
        similar[names[:, None] == names[None]] = -np.inf
    nearest = np.argsort(-similar, axis=1, kind="stable")[:, :NEIGHBOURS]
    guesses = [Counter(values[k] for k in row).most_common(1)[0][0] for row in nearest]
    return float(np.mean([guess == value for guess, value in zip(guesses, values, strict=True)]))


def _scenes(folder: Path) -> tuple[Images, list[str]]:
    with (folder / "items.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["split"] == "valid"]
    images = [_pixels(folder / "thumbs_valid" / f"{row['item']}.jpg") for row in rows]
    return images, [row["class_name"] for row in rows]


def _faces(folder: Path) -> tuple[Images, dict[str, list[str]]]:
    with (folder / "items.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    images = [_pixels(folder / "images" / f"{row['name']}.png") for row in rows]
    names = ("person", "pose", "expression", "eyes")
    return images, {name: [row[name] for row in rows] for name in names}


def _pixels(path: Path) -> NDArray[np.uint8]:
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB"))


if __name__ == "__main__":
    main()
