"""ZIP files made while they are sent, in memory that does not grow with what they hold.

`zipfile` writes into a drain, which the reader of the stream empties all the time. It cannot go
back to earlier members, so it tells their sizes after their data. Only the list of members is kept,
360 bytes each.
"""

import hashlib
import zipfile
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO, cast

from app.core.drain import Drain


@dataclass(frozen=True)
class Member:
    """A file in a ZIP: SHA-256 in hex, and bytes before packing."""

    name: str
    sha256: str
    size: int


class ZipStream:
    """`yield from` its methods, one after the other, makes the file; `end` comes last."""

    def __init__(self) -> None:
        self._drain = Drain()
        self._archive = zipfile.ZipFile(cast(IO[bytes], self._drain), "w")
        self._now = datetime.now(UTC).timetuple()[:6]

    def add(
        self, name: str, pieces: Iterable[bytes], *, pack: bool = True
    ) -> Generator[bytes, None, Member]:
        """The bytes of one more member; `pack` deflates it, which images do not need."""
        entry = zipfile.ZipInfo(name, self._now)
        entry.compress_type = zipfile.ZIP_DEFLATED if pack else zipfile.ZIP_STORED
        entry.external_attr = 0o644 << 16
        digest, size = hashlib.sha256(), 0
        with self._archive.open(entry, "w", force_zip64=True) as file:
            for piece in pieces:
                file.write(piece)
                digest.update(piece)
                size += len(piece)
                if data := self._drain.taken():
                    yield data
        yield self._drain.taken()
        return Member(name, digest.hexdigest(), size)

    def end(self) -> Iterator[bytes]:
        """The list of members, without which no program opens the file."""
        self._archive.close()
        yield self._drain.taken()
