"""ZIP files: foreign ones, whose list of members is checked before it is read, and our own,
generated while they are sent, in constant memory.

`zipfile` writes into a drain, which the reader of the stream empties continuously. It cannot go
back to earlier members, so it writes their sizes after their data. Only the list of members is kept
in memory, 360 bytes each.
"""

import hashlib
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO, cast

from app.core.write_buffer import Drain

# An entry of the list of members: its signature, and the lengths of name, extra field and comment.
_ENTRY, _ENTRY_MARK = struct.Struct("<4s24xHHH12x"), b"PK\x01\x02"
# The end of the list: its signature and the length of the list. Large files have another one before
# it.
_END, _END_MARK = struct.Struct("<4s8xI6x"), b"PK\x05\x06"
_END64, _END64_MARK = struct.Struct("<4s36xQ8x"), b"PK\x06\x06"
_LOCATOR, _LOCATOR_MARK = struct.Struct("<4s16x"), b"PK\x06\x07"
_LONGEST_END = 22 + 65_535
# Maximum bytes of the list per member, on average.
_MOST_LISTED = 4_096
_LONGEST_REASON = 200

# Errors that reading a member of a damaged or crafted ZIP file raises.
UNREADABLE = (
    zipfile.BadZipFile, NotImplementedError, OSError, ValueError, EOFError, struct.error,
    zlib.error, lzma.LZMAError,
)  # fmt: skip


def unreadable_reason(error: Exception) -> str:
    """Return what one of UNREADABLE says, for a message: `zipfile` quotes whole headers, of up to
    64 KB, and says nothing about a premature end."""
    return str(error)[:_LONGEST_REASON] or "it ends too early"


@dataclass(frozen=True)
class Member:
    """A file in a ZIP: SHA-256 in hex, and bytes before packing."""

    name: str
    sha256: str
    size: int


class UnusableList(zipfile.BadZipFile):
    """The list of members is longer than anyone needs, or has one without a name."""


def opened(file: IO[bytes], most_members: int) -> zipfile.ZipFile:
    """Open the ZIP file after checking its list of members: `zipfile` creates an object for each of
    them, half a kilobyte for the 46 bytes of an entry.

    Raises UnusableList, zipfile.BadZipFile.
    """
    start, size = _directory(file)
    n_members = place = 0
    while place + _ENTRY.size <= size:
        file.seek(start + place)
        mark, name, extra, comment = _ENTRY.unpack(file.read(_ENTRY.size))
        if mark != _ENTRY_MARK:
            break
        n_members += 1
        place += _ENTRY.size + name + extra + comment
        if n_members > most_members:
            raise UnusableList(f"it lists more than {most_members} files")
    if size > _MOST_LISTED * (n_members + 1):
        raise UnusableList("its list of files is far too long for the number of files")
    watched = _Watched(file, start, size)
    archive = zipfile.ZipFile(cast(IO[bytes], watched))
    watched.is_open = True
    # `zipfile` itself cannot tell whether these are folders.
    if not all(archive.namelist()):
        raise UnusableList("it lists a file without a name")
    return archive


class _Watched(io.RawIOBase):
    """Lets `zipfile` read no other list of members than the checked one, because its versions look
    for the list in different places."""

    def __init__(self, file: IO[bytes], start: int, size: int) -> None:
        self._file, self._list, self.is_open = file, (start, size), False

    def read(self, size: int = -1) -> bytes:
        place = self._file.tell()
        data = self._file.read(size)
        if not self.is_open and len(data) > _LONGEST_END and (place, size) != self._list:
            raise zipfile.BadZipFile("it has two lists of files")
        return data

    def seek(self, place: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(place, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True


def _directory(file: IO[bytes]) -> tuple[int, int]:
    """Return position and length of the list of members, in the way `zipfile` finds them."""
    length = file.seek(0, io.SEEK_END)
    file.seek(max(0, length - _LONGEST_END))
    tail = file.read(_LONGEST_END)
    at = tail.rfind(_END_MARK)
    if at < 0 or at + _END.size > len(tail):
        raise zipfile.BadZipFile("it has no list of files")
    end = length - len(tail) + at
    _, size = _END.unpack_from(tail, at)
    large_end = end - _LOCATOR.size - _END64.size
    if large_end >= 0:
        file.seek(large_end)
        mark, large = _END64.unpack(file.read(_END64.size))
        if file.read(_LOCATOR.size)[:4] == _LOCATOR_MARK:
            if mark != _END64_MARK:
                raise zipfile.BadZipFile("the end of its list of files is damaged")
            end, size = large_end, large
    start = end - size
    if start < 0:
        raise zipfile.BadZipFile("its list of files begins before the file")
    return start, size


class ZipStream:
    """Writes a ZIP file: `yield from` its methods, one after the other, and `end` last."""

    def __init__(self) -> None:
        self._drain = Drain()
        self._archive = zipfile.ZipFile(cast(IO[bytes], self._drain), "w")
        self._now = datetime.now(UTC).timetuple()[:6]

    def add(
        self, name: str, pieces: Iterable[bytes], *, pack: bool = True
    ) -> Generator[bytes, None, Member]:
        """Yield the bytes of one more member. `pack` compresses it, which images do not need."""
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
        """Yield the list of members, without which no program opens the file."""
        self._archive.close()
        yield self._drain.taken()
