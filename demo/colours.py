"""The 300 colours of the CrowdSter paper's first experiment: uniform random solid RGB tiles."""

import colorsys
import csv
from pathlib import Path

import numpy as np
from PIL import Image

COLUMNS = ("filename", "hue", "lightness", "feature_0", "feature_1", "feature_2")
TILE = 64
GREY_CHROMA = 24 / 255
# Upper bounds of the named hues in degrees; above the last one, the hue is red again.
HUES = (
    (15, "red"),
    (45, "orange"),
    (70, "yellow"),
    (165, "green"),
    (195, "cyan"),
    (255, "blue"),
    (290, "purple"),
    (345, "pink"),
)

Colour = tuple[int, int, int]


def write_colours(folder: Path, n: int = 300, seed: int = 0) -> Path:
    """Write `n` differently coloured PNG tiles and their `attributes.csv`; returns `folder`.

    The same `n` and `seed` give the same colours. Features are red, green, blue in [0, 1].
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "attributes.csv").open("w", encoding="utf-8", newline="") as table:
        rows = csv.writer(table, lineterminator="\n")
        rows.writerow(COLUMNS)
        for index, colour in enumerate(random_colours(n, seed)):
            filename = f"colour-{index:03d}.png"
            Image.new("RGB", (TILE, TILE), colour).save(folder / filename)
            features = [f"{channel / 255:.6f}" for channel in colour]
            rows.writerow([filename, hue_name(colour), lightness_name(colour), *features])
    return folder


def random_colours(n: int, seed: int) -> list[Colour]:
    """`n` different colours, uniformly distributed over the RGB cube."""
    if not 0 <= n <= 2**24:
        raise ValueError(f"n must be between 0 and 2**24, the number of RGB colours, but is {n}")
    random = np.random.default_rng(seed)
    # The dictionary is an ordered set, so a colour that is drawn twice keeps its first position.
    drawn: dict[Colour, None] = {}
    while len(drawn) < n:
        red, green, blue = random.integers(0, 256, size=3).tolist()
        drawn[red, green, blue] = None
    return list(drawn)


def hue_name(colour: Colour) -> str:
    """The name of the colour's hue, or 'grey' if it has hardly any."""
    red, green, blue = (channel / 255 for channel in colour)
    if max(red, green, blue) - min(red, green, blue) < GREY_CHROMA:
        return "grey"
    degrees = 360 * colorsys.rgb_to_hsv(red, green, blue)[0]
    return next((name for bound, name in HUES if degrees < bound), "red")


def lightness_name(colour: Colour) -> str:
    """'dark', 'medium' or 'light' by CIE lightness (0 black, 100 white)."""
    red, green, blue = (_linear(channel / 255) for channel in colour)
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    lightness = 116 * luminance ** (1 / 3) - 16
    return "dark" if lightness < 42 else "light" if lightness > 64 else "medium"


def _linear(channel: float) -> float:
    """Light intensity of one sRGB channel."""
    return channel / 12.92 if channel <= 0.04045 else float(((channel + 0.055) / 1.055) ** 2.4)
