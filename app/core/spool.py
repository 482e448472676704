"""Downloads that run at the speed of the database, however slow the client is.

The content is first written to an unnamed file as fast as it can be generated, and sent from there
while the file grows. So a slow client holds a file, but not a database connection or a thread that
others need. Each account can read a few files at a time, and a few are generated at a time.
"""

import os
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from uuid import UUID

import anyio
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from app.core.database import DOWNLOAD_CONNECTIONS
from app.core.errors import LikewiseError, NoRoom

AT_ONCE = 4
PIECE_BYTES = 2**16
# Room to leave on the disk of temporary files, which others need too.
LEAST_ROOM = 256 * 2**20
# Pause between two checks for more data; no thread is held in the meantime.
SHORTEST_LOOK, LONGEST_LOOK = 0.005, 0.2
_making = threading.BoundedSemaphore(DOWNLOAD_CONNECTIONS)
_of_account: Counter[UUID] = Counter()
_lock = threading.RLock()


class TooManyDownloads(LikewiseError):
    """The account is downloading as many files as it is allowed."""

    status = 429
    code = "too_many_downloads"


class _Spool:
    """A file that one thread fills while another reads it."""

    def __init__(self, account_id: UUID, pieces: Callable[[], Iterator[bytes]]) -> None:
        self._account_id, self._pieces = account_id, pieces
        # The file has no name, so nothing is left behind however the process ends.
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  # closed by the last user
        # The lock is reentrant, because garbage collection may close one response while another one
        # is being closed.
        self._lock = threading.RLock()
        self._written = 0
        self._complete = self._left = False
        self._error: BaseException | None = None
        threading.Thread(target=self._fill, name="download", daemon=True).start()

    async def read(self) -> AsyncIterator[bytes]:
        """Yield the pieces as they arrive; raises the error of the thread that generates them."""
        place, look = 0, SHORTEST_LOOK
        while True:
            # The order matters: once the file is complete, everything written before is all there
            # is.
            complete, known = self._complete, self._written
            if known > place:
                piece = os.pread(self._file.fileno(), min(PIECE_BYTES, known - place), place)
                place, look = place + len(piece), SHORTEST_LOOK
                yield piece
            elif complete:
                if self._error is not None:
                    raise self._error
                return
            else:
                await anyio.sleep(look)
                look = min(2 * look, LONGEST_LOOK)

    def leave(self) -> None:
        """Note that nobody reads it any more; further calls do nothing."""
        with self._lock:
            if self._left:
                return
            self._left = True
            self._end_when_over()

    def _fill(self) -> None:
        try:
            with _making:
                for piece in self._pieces() if not self._left else ():
                    _require_room()
                    self._file.write(piece)
                    self._file.flush()
                    self._written += len(piece)
                    if self._left:
                        break
        except BaseException as error:
            # The error is raised in the reader, so that the client gets it.
            self._error = error
        with self._lock:
            self._complete = True
            self._end_when_over()

    def _end_when_over(self) -> None:
        """End the download once it is neither read nor generated any more. Otherwise someone who
        opens and closes downloads repeatedly could keep any number of threads waiting."""
        if self._left and self._complete:
            self._file.close()
            _end(self._account_id)


class Download(StreamingResponse):
    """A response that sends what `pieces` generates in its own thread.

    Raises TooManyDownloads and NoRoom.
    """

    def __init__(
        self,
        account_id: UUID,
        pieces: Callable[[], Iterator[bytes]],
        media_type: str,
        headers: Mapping[str, str],
    ) -> None:
        _require_room()
        _begin(account_id)
        try:
            self._spool = _Spool(account_id, pieces)
        except BaseException:
            _end(account_id)
            raise
        super().__init__(self._spool.read(), media_type=media_type, headers=headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._spool.leave()

    def __del__(self) -> None:
        # The response was never sent, because something failed on the way.
        if hasattr(self, "_spool"):
            self._spool.leave()


def _require_room() -> None:
    if shutil.disk_usage(tempfile.gettempdir()).free < LEAST_ROOM:
        raise NoRoom(
            f"The server has less than {LEAST_ROOM >> 20} MB of temporary space left, which "
            "is too little for a download. Ask the administrator to free some space, then "
            "try again."
        )


def _begin(account_id: UUID) -> None:
    with _lock:
        if _of_account[account_id] >= AT_ONCE:
            raise TooManyDownloads(
                f"Your account is already downloading {AT_ONCE} files. Wait until one of "
                "them has finished."
            )
        _of_account[account_id] += 1


def _end(account_id: UUID) -> None:
    with _lock:
        _of_account[account_id] -= 1
        if not _of_account[account_id]:
            del _of_account[account_id]
