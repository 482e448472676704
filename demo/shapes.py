"""Shapes on coloured grounds, where what a picture shows differs from how it looks.

People sort these by shape, but visual features mostly capture the ground.
"""

import csv
from collections.abc import Callable
from math import cos, pi, sin
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

TILE = 64
GROUNDS = {"sand": (196, 172, 128), "sea": (84, 124, 168), "moss": (96, 132, 84)}
Point = tuple[float, float]
Colour = tuple[int, int, int]


def write_shapes(folder: Path, n: int = 5_000, seed: int = 0) -> Path:
    """Write `n` PNG tiles and their `attributes.csv` (filename, shape, ground); returns `folder`.

    Shape, ground, position, size, rotation and ink of every tile are drawn independently.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    with (folder / "attributes.csv").open("w", encoding="utf-8", newline="") as table:
        rows = csv.writer(table, lineterminator="\n")
        rows.writerow(("filename", "shape", "ground"))
        for index in range(n):
            shape, ground = str(rng.choice(list(SHAPES))), str(rng.choice(list(GROUNDS)))
            filename = f"shape-{index:05d}.png"
            draw_tile(shape, ground, rng).save(folder / filename)
            rows.writerow((filename, shape, ground))
    return folder


def draw_tile(shape: str, ground: str, rng: np.random.Generator) -> Image.Image:
    """Draw a tile with noise like that of a photograph."""
    tile = Image.new("RGB", (TILE, TILE), GROUNDS[ground])
    centre = (float(rng.uniform(28, 36)), float(rng.uniform(28, 36)))
    radius, turn = float(rng.uniform(17, 23)), float(rng.uniform(-0.25, 0.25))
    ink = tuple(int(level) for level in rng.integers(10, 80, 3))
    SHAPES[shape](ImageDraw.Draw(tile), centre, radius, turn, (ink[0], ink[1], ink[2]))
    noisy = np.asarray(tile, np.float64) + rng.normal(0, 8, (TILE, TILE, 3))
    return Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8))


Draw = Callable[[ImageDraw.ImageDraw, Point, float, float, Colour], None]


def _polygon(corners: int, inner: float = 1.0) -> Draw:
    """A regular polygon; every other corner at `inner` of the radius."""

    def draw(
        canvas: ImageDraw.ImageDraw, centre: Point, radius: float, turn: float, ink: Colour
    ) -> None:
        points = []
        for corner in range(corners):
            far = radius * (inner if corner % 2 else 1.0)
            angle = turn - pi / 2 + 2 * pi * corner / corners
            points.append((centre[0] + far * cos(angle), centre[1] + far * sin(angle)))
        canvas.polygon(points, fill=ink)

    return draw


def _round(filled: bool) -> Draw:
    def draw(
        canvas: ImageDraw.ImageDraw, centre: Point, radius: float, turn: float, ink: Colour
    ) -> None:
        x, y = centre
        box = (x - radius, y - radius, x + radius, y + radius)
        if filled:
            canvas.ellipse(box, fill=ink)
        else:
            canvas.ellipse(box, outline=ink, width=6)

    return draw


def _bar(upright: bool) -> Draw:
    def draw(
        canvas: ImageDraw.ImageDraw, centre: Point, radius: float, turn: float, ink: Colour
    ) -> None:
        angle = turn + (pi / 2 if upright else 0)
        along = (radius * cos(angle), radius * sin(angle))
        ends = [(centre[0] - along[0], centre[1] - along[1])]
        ends.append((centre[0] + along[0], centre[1] + along[1]))
        canvas.line(ends, fill=ink, width=9)

    return draw


SHAPES: dict[str, Draw] = {
    "disc": _round(True),
    "ring": _round(False),
    "triangle": _polygon(3),
    "star": _polygon(10, 0.45),
    "pillar": _bar(True),
    "beam": _bar(False),
}
