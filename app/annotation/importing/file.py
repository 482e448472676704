"""The lines of a file of answers, plain or compressed with gzip, within limits."""

import gzip
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from app.annotation.importing.problems import BadAnswerFile

# An answer of 100 images with words for all groups takes about 60 kB.
MOST_LINE_BYTES = 2**20
MOST_BYTES = 2**29
MOST_LINES = 200_000
_GZIP = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield (number from 1, content) of each line that is not blank. gzip is recognised by its
    content.

    `file` must be seekable and is read from its beginning. At most MOST_LINE_BYTES are held at a
    time, so that neither an endless line nor a gzip bomb fills the memory. Raises BadAnswerFile.
    """
    unpacked = gzip.GzipFile(fileobj=file) if _is_packed(file) else file
    size, number, n_answers = 0, 0, 0
    while line := _next_line(unpacked):
        number, size = number + 1, size + len(line)
        if len(line) > MOST_LINE_BYTES:
            raise BadAnswerFile(
                f"Nothing was imported. Line {number:,} is longer than {MOST_LINE_BYTES:,} bytes. "
                "The file must have one JSON object per line."
            )
        if size > MOST_BYTES:
            raise BadAnswerFile(
                f"Nothing was imported. The file is larger than {MOST_BYTES // 2**20} MiB. Split "
                "it and import the parts one by one."
            )
        content = line.removeprefix(_BYTE_ORDER_MARK).strip()
        if not content:
            continue
        n_answers += 1
        if n_answers > MOST_LINES:
            raise BadAnswerFile(
                f"Nothing was imported. The file has more than {MOST_LINES:,} answers. Split it "
                "and import the parts one by one."
            )
        yield number, content
    if not n_answers:
        raise BadAnswerFile("Nothing was imported. The file is empty.")


def _is_packed(file: BinaryIO) -> bool:
    file.seek(0)
    head = file.read(len(_GZIP))
    file.seek(0)
    return head == _GZIP


def _next_line(file: BinaryIO | gzip.GzipFile) -> bytes:
    try:
        return file.readline(MOST_LINE_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise BadAnswerFile(
            f"Nothing was imported. The file is damaged or incomplete ({error})."
        ) from error
