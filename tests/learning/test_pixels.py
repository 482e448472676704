"""Images as few pixels."""

import numpy as np
import pytest

from learning.pixels import pixel_components, small_pixels


def halves(low: int, high: int) -> np.ndarray:
    """An image 40 × 60: one grey on the left, another on the right."""
    image = np.full((40, 60, 3), low, np.uint8)
    image[:, 30:] = high
    return image


def test_a_small_pixel_is_the_mean_of_those_it_stands_for() -> None:
    (pixels,) = small_pixels([halves(0, 255)], 2)
    assert pixels.shape == (2, 2, 3)
    assert pixels[:, 0].max() == 0
    assert pixels[:, 1].min() == 1
    whole = small_pixels([halves(0, 255)], 1)
    assert abs(whole.item(0) - 0.5) < 0.01


def test_grey_pixels_have_no_colour_axis() -> None:
    pixels = small_pixels([halves(10, 20), halves(200, 20)], 28, colour=False)
    assert pixels.shape == (2, 28, 28)
    assert pixels.dtype == np.float32


def test_components_keep_what_parts_the_images() -> None:
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 2, 40)
    images = [halves(*((50, 200) if kind else (200, 50))) for kind in kinds]
    noisy = [
        np.clip(image + rng.normal(0, 5, image.shape), 0, 255).astype(np.uint8) for image in images
    ]
    components = pixel_components(noisy)
    assert components.shape[0] == 40
    assert components.shape[1] <= 40
    first = components[:, 0]
    assert first[kinds == 0].max() < first[kinds == 1].min() or (
        first[kinds == 1].max() < first[kinds == 0].min()
    )


def test_no_image_has_no_features() -> None:
    with pytest.raises(ValueError, match="at least one image"):
        small_pixels([])
    assert pixel_components([halves(0, 1)]).shape == (1, 1)
