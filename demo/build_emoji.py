"""Draw the demo emoji and measure their attributes; only needed to change the selection.

This needs the npm package @iconify-json/noto (its `icons.json`) and the Python package resvg-py,
which the application does not need, and Pillow and NumPy. Use a separate environment:

    npm pack @iconify-json/noto@1.2.9 && tar -xzf iconify-json-noto-1.2.9.tgz
    pip install resvg-py pillow numpy
    python demo/build_emoji.py package/icons.json

`emoji_selection.csv` lists the icons and the attributes that cannot be measured: category, origin,
setting and mood. This overwrites the images and `attributes.csv` in `emoji/images/`.
"""

import argparse
import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

HERE = Path(__file__).parent
SELECTION = HERE / "emoji_selection.csv"
IMAGES = HERE / "emoji" / "images"
COLUMNS = (
    "filename",
    "category",
    "origin",
    "setting",
    "mood",
    "colour",
    "lightness",
    "shape",
)
SIZE = 128
WEBP_QUALITY = 90

# Names of Oklab hues by their upper bound in degrees, for colours that are neither grey nor brown.
HUES = (
    (10, "pink-purple"),
    (42, "red"),
    (72, "orange"),
    (115, "yellow"),
    (180, "green"),
    (282, "blue"),
    (360, "pink-purple"),
)
# Black, grey and white pixels count less, because windows, teeth and outlines are not the subject.
NEUTRAL_WEIGHT = 0.5

Floats = NDArray[np.float64]


def main() -> None:
    """Build the emoji from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("icons", type=Path, help="icons.json of the npm package")
    build(json.loads(parser.parse_args().icons.read_text(encoding="utf-8")))


def build(icons: dict[str, Any]) -> None:
    """Write all images and `attributes.csv`."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    for old in IMAGES.iterdir():
        old.unlink()
    with (
        SELECTION.open(encoding="utf-8", newline="") as selection,
        (IMAGES / "attributes.csv").open("w", encoding="utf-8", newline="") as table,
    ):
        writer = csv.DictWriter(table, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for chosen in csv.DictReader(selection):
            icon = chosen.pop("icon")
            drawn = draw(icons, icon)
            filename = f"{icon}.webp"
            on_white = Image.alpha_composite(Image.new("RGBA", drawn.size, "white"), drawn)
            on_white.convert("RGB").save(IMAGES / filename, quality=WEBP_QUALITY, method=6)
            writer.writerow({"filename": filename} | chosen | measure(drawn))


def draw(icons: dict[str, Any], icon: str) -> Image.Image:
    """Draw an icon as an RGBA image of SIZE × SIZE pixels."""
    from resvg_py import svg_to_bytes  # type: ignore[import-not-found]

    entry = icons["icons"][icon]
    width, height = (entry.get(side, icons[side]) for side in ("width", "height"))
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="0 0 {width} {height}" width="{SIZE}" height="{SIZE}">{entry["body"]}</svg>'
    )
    return Image.open(io.BytesIO(bytes(svg_to_bytes(svg_string=svg)))).convert("RGBA")


def measure(drawn: Image.Image) -> dict[str, str]:
    """The attributes that are measured from the pixels."""
    pixels = np.asarray(drawn, dtype=np.float64) / 255
    mask = pixels[..., 3] > 0.5
    lab = oklab(pixels[mask][:, :3])
    return {
        "colour": dominant_colour(lab),
        "lightness": lightness(lab),
        "shape": shape(mask),
    }


def oklab(rgb: Floats) -> Floats:
    """Oklab coordinates of (N, 3) sRGB pixels in [0, 1]."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_lms = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    to_lab = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    lab: Floats = np.cbrt(linear @ to_lms.T) @ to_lab.T
    return lab


def dominant_colour(lab: Floats) -> str:
    """The colour name that most pixels have."""
    light, a, b = lab.T
    chroma = np.hypot(a, b)
    hue = np.degrees(np.arctan2(b, a)) % 360
    names = np.array([name for _, name in HUES])[
        np.searchsorted([bound for bound, _ in HUES], hue, side="right")
    ]
    names = np.where((hue < 25) & (light > 0.7), "pink-purple", names)
    warm = (hue >= 15) & (hue < 105)
    dull = (light < 0.5) | (chroma < 0.1)
    brown = warm & dull & (light < 0.82) | (hue >= 42) & (hue < 80) & (light < 0.62)
    names = np.where(brown, "brown", names)
    neutral = (chroma < 0.035) | (light < 0.2)
    names = np.where(neutral, "black-white", names)
    values, inverse = np.unique(names, return_inverse=True)
    votes = np.bincount(inverse, weights=np.where(neutral, NEUTRAL_WEIGHT, 1.0))
    return str(values[votes.argmax()])


def lightness(lab: Floats) -> str:
    """'dark', 'medium' or 'light', by the mean of the pixels."""
    mean = float(lab[:, 0].mean())
    return "dark" if mean < 0.62 else "light" if mean > 0.76 else "medium"


def shape(mask: NDArray[np.bool_]) -> str:
    """The outline: elongated (tall, wide, slanted), round, square or irregular."""
    rows, columns = np.nonzero(mask)
    spread, axes = np.linalg.eigh(np.cov(np.stack([columns, rows])))
    if math.sqrt(spread[1] / spread[0]) > 1.4:
        degrees = math.degrees(math.atan2(abs(axes[1, 1]), abs(axes[0, 1])))
        return "wide" if degrees < 25 else "tall" if degrees > 65 else "slanted"
    height, width = int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1
    centre = (rows.min() + height / 2, columns.min() + width / 2)
    radius = np.hypot(rows + 0.5 - centre[0], columns + 0.5 - centre[1]).max()
    if len(rows) > 0.8 * math.pi * radius**2:
        return "round"
    return "square" if len(rows) > 0.75 * height * width else "irregular"


if __name__ == "__main__":
    main()
