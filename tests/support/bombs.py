"""Files made to hurt whoever decodes or unpacks them, each with what is to become of it."""

import io
import struct
import zlib
from collections.abc import Callable

import numpy as np
import PIL.Image

from testbed.builders import a_png, a_zip

SCRIPT = b"<script>alert(1)</script><?php system($_GET[0]); ?>"
TAKEN = "taken"
# File name, bytes, and TAKEN or the code that it is refused with.
Case = tuple[str, bytes, str]
CASES: dict[str, Callable[[], Case]] = {}


def case(make: Callable[[], Case]) -> Callable[[], Case]:
    CASES[make.__name__] = make
    return make


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def a_flat_png(
    width: int,
    height: int,
    depth: int = 8,
    colours: int = 2,
    extra: bytes = b"",
    pixels: bytes = b"",
) -> bytes:
    """Black, and tiny for its size; extra: chunks before the pixels."""
    channels = {0: 1, 2: 3, 6: 4}[colours]
    if not pixels:
        row = 1 + (width * depth * channels + 7) // 8
        pixels = chunk(b"IDAT", packed_zeros(row * height))
    head = struct.pack(">IIBBBBB", width, height, depth, colours, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra + pixels + chunk(b"IEND", b"")


def packed_zeros(n: int) -> bytes:
    packer, piece = zlib.compressobj(1), bytes(1_000_000)
    whole = b"".join(packer.compress(piece) for _ in range(n // len(piece)))
    return whole + packer.compress(bytes(n % len(piece))) + packer.flush()


def saved(picture: PIL.Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


def a_jpeg() -> bytes:
    return saved(PIL.Image.open(io.BytesIO(a_png(1))), "JPEG")


def an_animation(kind: str, n: int) -> bytes:
    frames = [PIL.Image.new("RGB", (8, 8), (k % 256, k // 256, 0)) for k in range(n)]
    options = {"method": 0} if kind == "WEBP" else {}
    return saved(frames[0], kind, save_all=True, append_images=frames[1:], **options)


# --- pixels -----------------------------------------------------------------------------------


@case
def four_hundred_million_pixels_in_ten_kilobytes() -> Case:
    return "flood.png", a_flat_png(20_000, 20_000, depth=1, colours=0), "too_many_pixels"


@case
def a_png_that_only_claims_its_size() -> Case:
    return (
        "claim.png",
        a_flat_png(2**31 - 1, 2**31 - 1, pixels=chunk(b"IDAT", b"")),
        "too_many_pixels",
    )


@case
def the_largest_png_of_sixteen_bits() -> Case:
    return "largest.png", a_flat_png(8_000, 5_000, depth=16, colours=6), TAKEN


@case
def a_png_one_pixel_wide() -> Case:
    return "wide.png", a_flat_png(1, 40_000_000, colours=0), "too_many_pixels"


@case
def the_largest_webp() -> Case:
    return "largest.webp", saved(PIL.Image.new("RGBA", (4300, 3200)), "WEBP", method=0), TAKEN


@case
def a_webp_of_forty_million_pixels() -> Case:
    flood = PIL.Image.new("RGB", (8_000, 5_000))
    return "flood.webp", saved(flood, "WEBP", lossless=True, method=0), "too_many_pixels"


@case
def the_largest_tiff_in_one_strip() -> Case:
    picture = PIL.Image.new("RGBA", (6_000, 4_000))
    data = saved(picture, "TIFF", compression="tiff_lzw", tiffinfo={278: 4_000})
    return "strip.tiff", data, TAKEN


@case
def a_tiff_of_forty_million_pixels() -> Case:
    picture = PIL.Image.new("1", (8_000, 5_000))
    return "fax.tiff", saved(picture, "TIFF", compression="group4"), "too_many_pixels"


@case
def a_gif_whose_frame_is_larger_than_it() -> Case:
    data = bytearray(saved(PIL.Image.new("L", (16, 16)), "GIF"))
    start = data.index(b",", 13 + 3 * 2 ** ((data[10] & 7) + 1))
    data[start + 5 : start + 9] = b"\xff\xff\xff\xff"
    return "frame.gif", bytes(data), "too_many_pixels"


@case
def a_jpeg_drawn_a_hundred_times_over() -> Case:
    data = saved(PIL.Image.new("L", (6_300, 6_300)), "JPEG", progressive=True)
    last = data.rindex(b"\xff\xda")
    return "scans.jpg", data[:last] + data[last:-2] * 100 + b"\xff\xd9", "overloaded"


@case
def a_jpeg_drawn_again_behind_what_looks_like_its_end() -> Case:
    data = saved(PIL.Image.new("L", (6_300, 6_300)), "JPEG", progressive=True)
    last = data.rindex(b"\xff\xda")
    remark = b"\xff\xfe" + struct.pack(">H", 4) + b"\xff\xd9"
    drawn = remark + b"\xff\x01" + data[last:-2]
    return "behind.jpg", data[:last] + drawn * 100 + b"\xff\xd9", "overloaded"


@case
def a_picture_with_a_film_behind_it() -> Case:
    """As phones make them; by chance a film holds all that a JPEG does."""
    film = np.random.default_rng(0).bytes(4_000_000)
    return "motion.jpg", a_jpeg() + film, TAKEN


# --- frames -----------------------------------------------------------------------------------


@case
def a_gif_of_ten_thousand_frames() -> Case:
    data = saved(PIL.Image.new("L", (16, 16)), "GIF")
    start = 13 + 3 * 2 ** ((data[10] & 7) + 1)
    return "frames.gif", data[:start] + data[start:-1] * 10_000 + b";", TAKEN


@case
def a_png_of_ten_thousand_frames() -> Case:
    control = chunk(b"acTL", struct.pack(">II", 10_001, 0))
    frame = struct.pack(">IIIIHHBB", 16, 16, 0, 0, 1, 10, 0, 0)
    lines = packed_zeros(16 * 49)
    pixels = chunk(b"IDAT", lines)
    frames = b"".join(
        chunk(b"fcTL", struct.pack(">I", 2 * k) + frame)
        + chunk(b"fdAT", struct.pack(">I", 2 * k + 1) + lines)
        for k in range(10_000)
    )
    return "frames.png", a_flat_png(16, 16, extra=control, pixels=pixels + frames), "overloaded"


@case
def a_webp_of_two_thousand_frames() -> Case:
    return "frames.webp", an_animation("WEBP", 2_000), TAKEN


@case
def a_tiff_of_two_hundred_pages() -> Case:
    return "pages.tiff", an_animation("TIFF", 200), TAKEN


# --- what stands beside the pixels --------------------------------------------------------------


def bomb(n: int) -> bytes:
    """n bytes of one letter, packed a thousandfold."""
    packer = zlib.compressobj(9)
    piece = b"A" * 1_000_000
    return b"".join(packer.compress(piece) for _ in range(n // len(piece))) + packer.flush()


@case
def a_colour_profile_of_a_hundred_megabytes() -> Case:
    extra = chunk(b"iCCP", b"x\0\0" + bomb(100_000_000))
    return "profile.png", a_flat_png(16, 16, extra=extra), "not_an_image"


@case
def a_thousand_colour_profiles() -> Case:
    extra = chunk(b"iCCP", b"x\0\0" + bomb(1_000_000)) * 1_000
    return "profiles.png", a_flat_png(16, 16, extra=extra), "overloaded"


@case
def a_text_of_a_hundred_megabytes() -> Case:
    extra = chunk(b"zTXt", b"x\0\0" + bomb(100_000_000))
    return "text.png", a_flat_png(16, 16, extra=extra), "not_an_image"


@case
def texts_of_a_gigabyte_together() -> Case:
    extra = chunk(b"iTXt", b"x\0\1\0\0\0" + bomb(1_000_000)) * 900
    return "texts.png", a_flat_png(16, 16, extra=extra), "not_an_image"


@case
def a_million_texts() -> Case:
    return "many.png", a_flat_png(16, 16, extra=chunk(b"tEXt", b"x\0y") * 1_000_000), "overloaded"


@case
def pixels_in_a_million_parts() -> Case:
    packed = zlib.compress(np.random.default_rng(0).bytes(1_000_000))
    parts = b"".join(chunk(b"IDAT", packed[k : k + 1]) for k in range(len(packed)))
    return "parts.png", a_flat_png(577, 577, pixels=parts), "overloaded"


@case
def four_million_markers() -> Case:
    data = a_jpeg()
    return "markers.jpg", data[:2] + b"\xff\xfe\0\2" * 4_000_000 + data[2:], "overloaded"


@case
def a_million_comments() -> Case:
    data = saved(PIL.Image.new("L", (16, 16)), "GIF")
    start = 13 + 3 * 2 ** ((data[10] & 7) + 1)
    return "comments.gif", data[:start] + b"!\xfe\1x\0" * 1_000_000 + data[start:], "overloaded"


def tags(n: int, size: int) -> bytes:
    """A TIFF file with n tags that all point at the same bytes."""
    own = [(256, 16), (257, 16), (258, 8), (259, 1), (262, 1), (273, 0), (278, 16), (279, 256)]
    entries = [(tag, 4, 1, value) for tag, value in own]
    behind = 8 + 2 + 12 * (len(own) + n) + 4
    entries += [(1_000 + k, 1, size, behind) for k in range(n)]
    packed = b"".join(struct.pack("<HHII", *entry) for entry in entries)
    head = b"II*\0" + struct.pack("<IH", 8, len(entries))
    return head + packed + bytes(4) + bytes(size)


@case
def two_hundred_tags_of_five_megabytes() -> Case:
    return "tags.tiff", tags(200, 5_000_000), "overloaded"


@case
def exif_data_of_many_tags() -> Case:
    blocks = [tags(100, 5_000_000)[k : k + 65_000] for k in range(0, 5_000_000, 65_000)]
    packed = [b"Exif\0\0" + block for block in blocks]
    head = b"".join(b"\xff\xe1" + struct.pack(">H", 2 + len(block)) + block for block in packed)
    data = a_jpeg()
    return "exif.jpg", data[:2] + head + data[2:], "overloaded"


@case
def exif_data_that_is_no_exif_data() -> Case:
    """Found by mutation: rewriting such data made the whole upload fail."""
    entry = struct.pack("<HHII", 0x0112, 3, 1, 6) + struct.pack("<HHII", 0x010E, 9, 9, 0xFFFFFFFF)
    exif = b"Exif\0\0II*\0" + struct.pack("<IH", 8, 2) + entry
    return "odd.webp", saved(PIL.Image.new("RGB", (9, 5)), "WEBP", exif=exif), TAKEN


# --- other than they seem ------------------------------------------------------------------------


@case
def a_png_that_ends_in_a_page() -> Case:
    return "page.png", a_png(1) + SCRIPT, TAKEN


@case
def a_png_with_scripts_in_its_texts() -> Case:
    extra = chunk(b"tEXt", b"Comment\0" + SCRIPT)
    return "texts.png", a_flat_png(16, 16, extra=extra), TAKEN


@case
def a_gif_that_is_a_program() -> Case:
    return (
        "program.gif",
        saved(PIL.Image.new("L", (16, 16)), "GIF") + a_zip([("A.class", SCRIPT)]),
        TAKEN,
    )


@case
def a_jpeg_with_a_program_in_its_comment() -> Case:
    data = a_jpeg()
    comment = b"\xff\xfe" + struct.pack(">H", 2 + len(SCRIPT)) + SCRIPT
    return "shell.php.jpg", data[:2] + comment + data[2:], TAKEN


@case
def a_jpeg_with_a_page_in_its_exif_data() -> Case:
    exif = PIL.Image.Exif()
    exif[0x010E], exif[0x0112] = SCRIPT.decode(), 6
    return "exif.jpg", saved(PIL.Image.new("RGB", (9, 5)), "JPEG", exif=exif), TAKEN


@case
def a_page_by_the_name_of_an_image() -> Case:
    return "avatar.png", b"<html><body>" + SCRIPT, "not_an_image"


@case
def a_drawing() -> Case:
    return (
        "drawing.svg",
        b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
        "not_an_image",
    )


@case
def a_drawing_by_the_name_of_a_png() -> Case:
    data = b"<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'>" + SCRIPT + b"</svg>"
    return "drawing.png", data, "not_an_image"


@case
def half_a_png() -> Case:
    data = a_png(1, (64, 64))
    return "half.png", data[: len(data) // 2], "damaged_image"


@case
def half_a_webp() -> Case:
    data = saved(PIL.Image.open(io.BytesIO(a_png(1, (64, 64)))), "WEBP")
    return "half.webp", data[: len(data) // 2], "not_an_image"
