"""A file that is read while it is written, by whoever wrote it."""

import io
from typing import Any


class Drain(io.RawIOBase):
    """Takes what a library writes into a file, for `taken` to give on. It cannot seek."""

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
        """What was written since the last time."""
        data = b"".join(self._pieces)
        self._pieces.clear()
        return data
