"""How many actions it takes to sort a grid of 24 images, and how long their movements take.

An action is a press of the mouse button or of a key, from the first image to *Submit*; the words
that describe groups are the same in every way and not counted. The ways are those of the
annotators' page: `clicks` (each image, and each group in the list), `strokes` (dragging over
neighbours, a digit on the image under the mouse, R for the rest), `keys` (no mouse at all),
`held keys` (a digit is held for images of the same group in a row). A browser test does them on
a real page (tests/system/test_actions.py).

Time is that of the movements alone, without looking and deciding: keys and buttons as in the
Keystroke-Level Model (Card, Moran and Newell 1980), pointing and dragging by Fitts' law with the
constants that MacKenzie, Sellen and Buxton (1991) measured for the mouse. The left hand presses
digits while the right one has the mouse. Writes `docs/benchmarks/actions.md`.
"""

from __future__ import annotations

import argparse
import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from bench.harness.paths import publish
from bench.harness.tables import table

COLUMNS, ROWS, GROUPS = 6, 4, 4
# Seconds: a key of an average typist; to press or release a mouse button.
KEY, BUTTON = 0.28, 0.1
# Seconds until a held key repeats, as most systems have it, and from image to image on the page.
REPEATS, PACE = 0.5, 0.4
# Seconds, and seconds per bit, to point and to drag with a mouse.
POINT, DRAG = (-0.107, 0.223), (0.135, 0.249)
# An image that is coloured already is passed if it leads to the next one of the group.
LONGEST_DETOUR = 2
HEAD = ("grids", "way", "actions", "seconds")
MOVES = [(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1) if (x, y) != (0, 0)]

Layout = Sequence[int]
Target = int | str


@dataclass(frozen=True)
class Action:
    """A press: of a key, after pointing at `path`, or of the mouse, which drags along `path`.

    A target is the index of an image or the name of a button: "group 2", "submit". A key is held
    for `images` images in a row.
    """

    path: tuple[Target, ...] = ()
    key: str = ""
    images: int = 1


@dataclass(frozen=True)
class Screen:
    """Where things are on a page of 1366 by 768 pixels."""

    tile: float = 149
    gap: float = 8
    left: float = 28
    top: float = 107
    # Centre, width and height.
    first_group: tuple[float, float, float, float] = (1032, 110, 68, 42)
    group_height: float = 60
    submit: tuple[float, float, float, float] = (1166, 728, 352, 48)

    def box(self, target: Target) -> tuple[float, float, float]:
        """Return the centre of a target, and its shorter side."""
        if isinstance(target, int):
            row, column = divmod(target, COLUMNS)
            step = self.tile + self.gap
            middle = self.tile / 2
            return self.left + column * step + middle, self.top + row * step + middle, self.tile
        if target == "submit":
            x, y, *sides = self.submit
            return x, y, min(sides)
        x, y, *sides = self.first_group
        return x, y + (int(target.split()[1]) - 1) * self.group_height, min(sides)


def by_clicks(layout: Layout) -> list[Action]:
    """Return the actions with a click for each image, and for each group but the first."""
    actions = []
    for group in range(GROUPS):
        if group > 0:
            actions.append(Action((f"group {group + 1}",)))
        actions += [Action((image,)) for image in members(layout, group)]
    return [*actions, Action(("submit",))]


def by_strokes(layout: Layout) -> list[Action]:
    """Return the actions with strokes; a digit colours one image and chooses its group."""
    actions = []
    coloured: set[int] = set()
    for group in range(GROUPS):
        images = members(layout, group)
        strokes = sorted(strokes_over(images, coloured), key=len)
        digit = str(group + 1)
        if group == GROUPS - 1:
            actions += [Action((images[0],), digit), Action((), "r")]
            break
        if group > 0:
            actions.append(Action((strokes[0][0],), digit))
            strokes = strokes if len(strokes[0]) > 1 else strokes[1:]
        actions += [Action(tuple(stroke)) for stroke in strokes]
        coloured |= set(images)
    return [*actions, Action(("submit",))]


def by_keys(layout: Layout) -> list[Action]:
    """Return the keys: a digit for each image, R for the last group, submit."""
    *runs, (last, n_last) = runs_of(layout)
    digits = [str(group + 1) for group, n in runs for _ in range(n)]
    end = [str(last + 1), "r"] if n_last > 2 else [str(last + 1)] * n_last
    return [Action((), key) for key in (*digits, *end, "Control+Enter")]


def by_held_keys(layout: Layout) -> list[Action]:
    """Return the keys if a digit is held for as many images in a row as belong to its group."""
    *runs, (last, n_last) = runs_of(layout)
    held = [Action((), str(group + 1), n) for group, n in runs]
    end = [str(last + 1), "r"] if n_last > 1 else [str(last + 1)]
    return [*held, *(Action((), key) for key in (*end, "Control+Enter"))]


def runs_of(layout: Layout) -> list[tuple[int, int]]:
    """Return the groups in reading order, each with how many images in a row are in it."""
    return [(group, len(list(images))) for group, images in groupby(layout)]


WAYS: dict[str, Callable[[Layout], list[Action]]] = {
    "clicks": by_clicks,
    "strokes": by_strokes,
    "keys": by_keys,
    "held keys": by_held_keys,
}


def members(layout: Layout, group: int) -> list[int]:
    """Return the images of a group, in reading order."""
    return [image for image, other in enumerate(layout) if other == group]


def strokes_over(images: Iterable[int], coloured: set[int]) -> list[list[int]]:
    """Cover images with strokes that pass no image of another group without a colour."""
    left = set(images)
    strokes = []
    while left:
        stroke = [min(left)]
        left.remove(stroke[0])
        while leg := nearest(stroke[-1], left, coloured | set(images)):
            stroke += leg
            left -= set(leg)
        strokes.append(stroke)
    return strokes


def nearest(start: int, left: set[int], free: set[int]) -> list[int]:
    """Return the shortest way to an image that is left, over images that may be crossed."""
    ways: deque[list[int]] = deque([[]])
    seen = {start}
    while ways:
        way = ways.popleft()
        for image in neighbours(way[-1] if way else start):
            if image in left:
                return [*way, image]
            if image in free and image not in seen and len(way) < LONGEST_DETOUR:
                seen.add(image)
                ways.append([*way, image])
    return []


def neighbours(image: int) -> list[int]:
    """Return the images around one, straight ones first: their way is the shorter one."""
    row, column = divmod(image, COLUMNS)
    return [
        (row + y) * COLUMNS + column + x
        for x, y in sorted(MOVES, key=lambda move: abs(move[0]) + abs(move[1]))
        if 0 <= row + y < ROWS and 0 <= column + x < COLUMNS
    ]


def seconds(actions: Iterable[Action]) -> float:
    """Return the time that the movements take, from the middle of the first image on."""
    screen = Screen()
    x, y, _ = screen.box(0)
    total = 0.0
    for action in actions:
        for k, target in enumerate(action.path):
            to_x, to_y, width = screen.box(target)
            bits = math.log2(math.hypot(to_x - x, to_y - y) / width + 1)
            start, per_bit = DRAG if k > 0 else POINT
            total += max(0.0, start + per_bit * bits)
            x, y = to_x, to_y
        total += KEY if action.key else 2 * BUTTON
        total += KEY if "+" in action.key else 0
        total += REPEATS + PACE * (action.images - 2) if action.images > 1 else 0
    return total


def scattered(rng: np.random.Generator) -> list[int]:
    """Place six images of each of four groups at random, as the page does."""
    return named(rng.permutation(np.repeat(np.arange(GROUPS), COLUMNS * ROWS // GROUPS)).tolist())


def clumped(rng: np.random.Generator, swaps: int = 60) -> list[int]:
    """Place them so that neighbours are often of the same group."""
    layout = scattered(rng)
    for _ in range(swaps):
        a, b = rng.integers(len(layout), size=2)
        other = list(layout)
        other[a], other[b] = layout[b], layout[a]
        if touching(other) > touching(layout):
            layout = other
    return named(layout)


def named(layout: Sequence[int]) -> list[int]:
    """Number groups as people do, by their first images."""
    order = list(dict.fromkeys(layout))
    return [order.index(group) for group in layout]


def touching(layout: Layout) -> int:
    """Count pairs of neighbours in the same group."""
    return sum(
        layout[image] == layout[other]
        for image in range(len(layout))
        for other in neighbours(image)
    )


ARRANGEMENTS: dict[str, Callable[[np.random.Generator], list[int]]] = {
    "clumped": clumped,
    "scattered": scattered,
}


ABOUT = """# Actions for a grid of 24 images

`python -m bench.actions`: {n:,} grids of each arrangement, with four groups of six images.
*Actions* are presses of the mouse button and of keys from the first image to *Submit*; words for
groups are the same in every way and not counted. *Seconds* are those of the movements alone,
without looking and deciding, **as models predict them, not as measured with people**: keys
(0.28 s) and buttons (0.1 s each way) by the Keystroke-Level Model (Card, Moran and Newell 1980);
pointing (-0.107 s + 0.223 s per bit) and dragging (0.135 s + 0.249 s per bit, for each leg of a
stroke) by Fitts' law with the mouse of MacKenzie, Sellen and Buxton (1991), on a page of
1366 × 768 pixels.

*Clicks*: each image is clicked, and each group but the first. *Strokes*: the mouse is dragged
over neighbours, a digit colours the image under the mouse and chooses its group, R puts the rest
into the last one. *Keys*: a digit colours the first image without a group and leads on to the
next one, R is pressed if three or more of one group are left, Ctrl+Enter submits; before the
first grid, Tab leads to the images. *Held keys*: a digit is held for images of its group in a
row ({repeats} s until a key repeats, then {pace} s from image to image, the page's own pace). It
saves presses, not time. In *clumped* grids neighbours are often of one group; *scattered* ones
are at random.

{table}

Median (nine of ten grids are between these).

A browser test carries such plans out on a real page and counts
(`tests/system/test_actions.py`).
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--grids", type=int, default=1000)
    publish("actions.md", report(parser.parse_args().grids))


def report(n: int) -> str:
    """Return the document."""
    rows = []
    for name, arrange in ARRANGEMENTS.items():
        rng = np.random.default_rng(0)
        layouts = [arrange(rng) for _ in range(n)]
        for way, plan in WAYS.items():
            plans = [plan(layout) for layout in layouts]
            n_actions = spread([len(actions) for actions in plans], 0)
            rows.append([name, way, n_actions, spread([seconds(actions) for actions in plans], 1)])
    return ABOUT.format(n=n, repeats=REPEATS, pace=PACE, table="\n".join(table(HEAD, rows)))


def spread(values: Sequence[float], digits: int) -> str:
    """Return the median, and between what nine of ten are."""
    low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
    return f"{middle:.{digits}f} ({low:.{digits}f} – {high:.{digits}f})"


if __name__ == "__main__":
    main()
