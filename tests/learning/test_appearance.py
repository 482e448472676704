"""Facts about what images look like in numbers."""

import numpy as np
import pytest

from learning.appearance import appearance_features
from learning.arrays import FloatArray


def stripes(upright: bool, colour: tuple[int, int, int], seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    lines = (np.arange(80) // 8 % 2)[None, :] * np.ones((60, 1))
    shown = lines if upright else lines[:, :60].T.repeat(2, axis=1)[:60, :80]
    image = shown[..., None] * np.array(colour) + rng.integers(0, 30, (*shown.shape, 3))
    bounded: np.ndarray = np.clip(image, 0, 255)
    return bounded.astype(np.uint8)


def gap(table: FloatArray, image: int, other: int) -> float:
    return float(np.linalg.norm(table[image] - table[other]))


def test_colours_and_edges_tell_images_apart() -> None:
    red, blue = (255, 20, 20), (20, 20, 255)
    table = appearance_features(
        [
            stripes(True, red, 0),
            stripes(True, red, 1),
            stripes(True, blue, 2),
            stripes(False, red, 3),
        ]
    )
    assert gap(table, 0, 1) < 0.5 * min(gap(table, 0, 2), gap(table, 0, 3))


def test_sizes_may_differ_and_one_image_is_enough() -> None:
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 256, (h, 40, 3), dtype=np.uint8) for h in (20, 90)]
    assert np.isfinite(appearance_features(images)).all()
    assert appearance_features(images[:1]).shape[0] == 1
    with pytest.raises(ValueError, match="at least one image"):
        appearance_features([])
