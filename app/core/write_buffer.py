"""A file that is read while a library writes it."""

import io
from typing import Any


class Drain(io.RawIOBase):
    """A write-only file object that collects what a library writes, until `taken` returns it. It
    cannot seek."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._written = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._pieces.append(piece)
        self._written += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._written

    def taken(self) -> bytes:
        """Return what was written since the last call."""
        data = b"".join(self._pieces)
        self._pieces.clear()
        return data
