"""Images for tests of the encoder, drawn from a seed."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

_SIDE = 224


def reference_images() -> list[NDArray[np.uint8]]:
    """The images whose features by the original package are stored in
    tests/learning/encoder_reference.safetensors: already as large as the network wants them."""
    rng = np.random.default_rng(20260)
    rows, columns = np.mgrid[:_SIDE, :_SIDE]
    waves = [
        127.5 + 127.5 * np.sin(columns / (5 + k) + rows / (9 + 2 * k) * (k - 1)) for k in range(3)
    ]
    smooth = rng.integers(0, 256, (7, 7, 3)).repeat(32, axis=0).repeat(32, axis=1)
    noise = rng.integers(0, 256, (_SIDE, _SIDE, 3))
    return [np.asarray(image, np.uint8) for image in (np.stack(waves, axis=2), smooth, noise)]


def scenes(n: int, seed: int = 0) -> list[NDArray[np.uint8]]:
    """n different drawings of coloured shapes on a textured ground, 120 to 200 pixels wide."""
    rng = np.random.default_rng(seed)
    return [_scene(rng) for _ in range(n)]


def _scene(rng: np.random.Generator) -> NDArray[np.uint8]:
    height, width = rng.integers(120, 200, 2)
    coarse = rng.integers(60, 196, (6, 6, 3), dtype=np.uint8)
    ground = Image.fromarray(coarse).resize((int(width), int(height)), Image.Resampling.BICUBIC)
    image = np.asarray(ground).copy()
    rows, columns = np.mgrid[:height, :width]
    for _ in range(rng.integers(3, 7)):
        centre, size = rng.uniform(0.15, 0.85, 2) * (height, width), rng.uniform(10, 40)
        down, across = np.abs(rows - centre[0]), np.abs(columns - centre[1])
        power = rng.choice([1.0, 2.0, 8.0])
        inside = (down / size) ** power + (across / (size * rng.uniform(0.5, 1.5))) ** power < 1
        stripes = (rows * rng.integers(0, 2) + columns) // rng.integers(3, 12) % 2 == 0
        image[inside & stripes] = rng.integers(0, 256, 3)
        image[inside & ~stripes] = rng.integers(0, 256, 3)
    return image


def distorted_crop(image: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
    """A part of 60 to 80 % of each side, mirrored or not, with other light and colours."""
    height, width = image.shape[:2]
    part_h, part_w = (int(side * rng.uniform(0.6, 0.8)) for side in (height, width))
    top, left = rng.integers(0, height - part_h), rng.integers(0, width - part_w)
    part = image[top : top + part_h, left : left + part_w].astype(float)
    if rng.integers(2):
        part = part[:, ::-1]
    shaded = 127 + (part - 127) * rng.uniform(0.7, 1.3) + rng.uniform(-30, 30, 3)
    return np.asarray(np.clip(shaded, 0, 255), np.uint8)
