"""Copies of very long images, which are magnified to be looked at."""

import io

import PIL.Image
import pytest

from app.archive.errors import DamagedArchive
from app.archive.pictures import check_webp
from app.collections.images import prepare_image


def a_file(width: int, height: int) -> bytes:
    buffer = io.BytesIO()
    PIL.Image.new("RGB", (width, height), "teal").save(buffer, "PNG")
    return buffer.getvalue()


def size_of(webp: bytes) -> tuple[int, int]:
    with PIL.Image.open(io.BytesIO(webp)) as picture:
        return picture.size


@pytest.mark.parametrize(
    ("original", "large", "thumb"),
    [
        ((4000, 3000), (1024, 768), (256, 192)),
        ((4000, 1000), (1024, 256), (256, 64)),
        ((4000, 500), (2048, 256), (256, 32)),
        ((500, 4000), (256, 2048), (32, 256)),
        ((2001, 400), (1281, 256), (256, 51)),
        ((6000, 80), (4096, 55), (256, 4)),
        ((30_000, 450), (4096, 61), (256, 4)),
        ((300, 20), (300, 20), (256, 17)),
    ],
)
@pytest.mark.usefixtures("environment")
def test_a_large_copy_keeps_the_short_side_of_a_long_image(
    original: tuple[int, int], large: tuple[int, int], thumb: tuple[int, int]
) -> None:
    prepared = prepare_image(a_file(*original))
    assert (prepared.width, prepared.height) == original
    assert size_of(prepared.encoded["large"]) == large
    assert size_of(prepared.encoded["thumb"]) == thumb
    for size, data in prepared.encoded.items():
        check_webp("a.webp", data, size)


@pytest.mark.parametrize(("width", "height"), [(1025, 1024), (1100, 300), (4097, 50)])
def test_an_archive_has_no_larger_copies(width: int, height: int) -> None:
    buffer = io.BytesIO()
    PIL.Image.new("RGB", (width, height), "teal").save(buffer, "WEBP")
    with pytest.raises(DamagedArchive, match="too large for large"):
        check_webp("a.webp", buffer.getvalue(), "large")
