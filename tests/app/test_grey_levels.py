"""Pictures with more than 256 grey levels are shown from their lowest value to their highest."""

import io
import struct
import tracemalloc
from typing import Any

import numpy as np
import PIL.Image
import pytest
from fastapi.testclient import TestClient
from numpy.typing import NDArray

from app.collections.decoding import RejectedImage, decode
from app.collections.grey_levels import STRIP_PIXELS
from app.collections.images import prepare_image
from testbed.builders import a_png, an_account, sign_in
from tests.app.test_collections import a_collection_id, upload

RAMP = np.linspace(0, 1, 64).reshape(8, 8)
GREYS = np.rint(255 * RAMP).astype(int)
PIXELS = 40_000_000


def a_file(values: NDArray[Any], format_name: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    PIL.Image.fromarray(values).save(buffer, format_name, **options)
    return buffer.getvalue()


def patched(tiff: bytes, tag: int, value: int) -> bytes:
    """A little-endian TIFF with another value of a tag, which has one number of two bytes."""
    at = tiff.index(struct.pack("<HHI", tag, 3, 1)) + 8
    return tiff[:at] + struct.pack("<H", value) + tiff[at + 2 :]


def shown(data: bytes, edge: int = 1024) -> NDArray[Any]:
    pixels, _ = decode(data, PIXELS, lambda width, height: edge)
    return np.asarray(pixels)


@pytest.mark.parametrize(
    "data",
    [
        # 12 bits of 16, as microscopes write them; all of this was dark, or white.
        a_file((4095 * RAMP).astype(np.uint16), "PNG"),
        a_file((300 + 60_000 * RAMP).astype(np.uint16), "PNG"),
        a_file((4095 * RAMP).astype(np.uint16), "TIFF"),
        a_file((4095 * RAMP).astype(">u2"), "TIFF"),
        a_file((-5000 + 9000 * RAMP).astype(np.int32), "TIFF"),
        a_file(RAMP.astype(np.float32), "TIFF"),
        a_file((-1e6 + 3e6 * RAMP).astype(np.float32), "TIFF"),
        # 339: the sample format, 1 for values without a sign.
        patched(a_file((4_000_000_000 * RAMP).astype(np.uint32).view(np.int32), "TIFF"), 339, 1),
        # 262: the photometric interpretation, 0 where the lowest value is white.
        patched(a_file((4095 * (1 - RAMP)).astype(np.uint16), "TIFF"), 262, 0),
    ],
    ids=["png12", "png16", "tiff16", "tiff16big", "int32", "unit", "float", "uint32", "white0"],
)
def test_the_range_of_a_picture_is_shown_in_8_bits(data: bytes) -> None:
    red, green, blue = np.moveaxis(shown(data).astype(int), -1, 0)
    assert np.abs(red - GREYS).max() <= 1
    assert (red == green).all()
    assert (red == blue).all()


def test_a_large_picture_has_one_range_for_all_its_strips() -> None:
    values = np.linspace(1000, 2000, 3000 * 2500).reshape(3000, 2500).astype(np.uint16)
    pixels = shown(a_file(values, "PNG"), edge=256)
    assert pixels.shape == (600, 500, 3)
    rows = pixels[:, :, 0].mean(axis=1)
    assert rows[0] < 2
    assert rows[-1] > 253
    assert (np.diff(rows) >= 0).all()


def test_the_transparent_value_of_a_16_bit_picture_stays_transparent() -> None:
    values = (1000 + 1000 * RAMP).astype(np.uint16)
    values[0, 0] = 65_535
    pixels = shown(a_file(values, "PNG", transparency=65_535))
    assert pixels.shape == (8, 8, 4)
    assert pixels[0, 0, 3] == 0
    assert (pixels.reshape(-1, 4)[1:, 3] == 255).all()
    assert pixels[7, 7, 0] == 255


def test_pictures_of_8_bits_keep_their_values() -> None:
    dark = (100 * RAMP).astype(np.uint8)
    assert (shown(a_file(dark, "PNG"))[:, :, 0] == dark).all()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.full((8, 8), 700, np.uint16), "same value"),
        (np.where(RAMP > 0.5, np.nan, RAMP).astype(np.float32), "not a number"),
        (np.where(RAMP > 0.5, np.inf, RAMP).astype(np.float32), "infinite"),
    ],
    ids=["constant", "nan", "infinite"],
)
def test_a_picture_without_a_range_is_refused_by_name(
    client: TestClient, values: NDArray[Any], words: str
) -> None:
    sign_in(client, an_account())
    file = a_file(values, "TIFF")
    with pytest.raises(RejectedImage, match=words):
        prepare_image(file)
    report = upload(client, a_collection_id(client), ("scan.tif", file), ("good.png", a_png(5)))
    (rejected,) = report["rejected"]
    assert (rejected["filename"], rejected["code"]) == ("scan.tif", "no_range")
    assert words in rejected["reason"]
    assert [file["filename"] for file in report["added"]] == ["good.png"]


def test_a_picture_that_is_not_made_smaller_needs_little_more_than_its_own_memory() -> None:
    """Numbers of 64 bits stand for its values only a strip at a time."""
    side = 2200
    values = np.arange(side * side, dtype=np.uint32).reshape(side, side) // 100
    data = a_file(values.astype(np.uint16), "PNG")
    shown(a_file((4095 * RAMP).astype(np.uint16), "PNG"))
    tracemalloc.start()
    try:
        pixels = shown(data, edge=side)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert pixels.shape[:2] == (side, side)
    assert most < 30 * STRIP_PIXELS + pixels.nbytes
