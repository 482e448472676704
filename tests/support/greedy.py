"""An account that takes all it can get, in a process of its own: `python -m tests.support.greedy`.

It uploads, downloads slowly, follows progress and asks for pages, far more at once than it may,
until its standard input ends; then it prints how often it was answered how.
"""

import argparse
import io
import json
import os
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import httpx
from PIL import Image as Pillow

from testbed.builders import a_zip

UPLOADING, DOWNLOADING, FOLLOWING, ASKING = 6, 12, 60, 30
# Of each upload: what takes a while to decode, and is little to send.
PICTURES, EDGE = 8, 1_500
READ_BYTES, READ_PAUSE = 4_096, 0.25
SOON = 0.2


@cache
def _picture() -> bytes:
    buffer = io.BytesIO()
    Pillow.linear_gradient("L").resize((EDGE, EDGE)).save(buffer, "PNG")
    return buffer.getvalue()


def pictures() -> bytes:
    """A ZIP of pictures that no collection has yet: what follows a PNG's end is not looked at."""
    names = [f"{random.randbytes(8).hex()}.png" for _ in range(PICTURES)]
    return a_zip([(name, _picture() + name.encode()) for name in names])


class Greedy:
    """Threads that do one thing over and over, and what they were answered.

    campaigns: its own, one of them with a model; collection: its own
    """

    def __init__(self, base_url: str, token: str, campaigns: list[str], collection: str) -> None:
        self._base_url = base_url
        self._headers = {"Authorization": f"Bearer {token}"}
        self._campaigns, self._collection = campaigns, collection
        self._over = threading.Event()
        self.answered: dict[str, Counter[str]] = {}

    def run(self) -> None:
        """Until standard input ends."""
        threads = [
            threading.Thread(target=self._again_and_again, args=(name, do), daemon=True)
            for name, do, n in (
                ("upload", self._upload, UPLOADING),
                ("download", self._download, DOWNLOADING),
                ("follow", self._follow, FOLLOWING),
                ("ask", self._ask, ASKING),
            )
            for _ in range(n)
        ]
        for thread in threads:
            thread.start()
        sys.stdin.read()
        self._over.set()

    def _again_and_again(self, name: str, do: Callable[[httpx.Client], Iterator[int]]) -> None:
        answered = self.answered.setdefault(name, Counter())
        with httpx.Client(base_url=self._base_url, headers=self._headers, timeout=120) as http:
            while not self._over.is_set():
                try:
                    # Counted when the reply begins: that of a page that is followed has no end.
                    for status in do(http):
                        answered[str(status)] += 1
                except httpx.TransportError as error:
                    answered[type(error).__name__] += 1
                time.sleep(SOON)

    def _upload(self, http: httpx.Client) -> Iterator[int]:
        file = {"files": ("pictures.zip", pictures())}
        yield http.post(f"/api/v1/collections/{self._collection}/files", files=file).status_code

    def _download(self, http: httpx.Client) -> Iterator[int]:
        path = f"/api/v1/campaigns/{self._campaigns[0]}/export/archive.zip"
        with http.stream("GET", path) as reply:
            yield reply.status_code
            for _ in reply.iter_raw(READ_BYTES):
                if self._over.wait(READ_PAUSE):
                    break

    def _follow(self, http: httpx.Client) -> Iterator[int]:
        with http.stream("GET", f"/api/v1/campaigns/{self._campaigns[0]}/events") as reply:
            yield reply.status_code
            for _ in reply.iter_raw():
                if self._over.is_set():
                    break

    def _ask(self, http: httpx.Client) -> Iterator[int]:
        campaign = f"/api/v1/campaigns/{random.choice(self._campaigns)}"
        paths = (
            "", "/answers", "/annotators", "/models/1/insight", "/models/1/map", "/map/images",
            "/export/answers.csv",
        )  # fmt: skip
        yield http.get(campaign + random.choice(paths)).status_code


def _give_way() -> None:
    """Take only what the server leaves of the cores, nearly as if this ran on another machine.

    Linux shares the cores among sessions first, so that the niceness of a session of its own counts
    as well (see app/core/priority.py).
    """
    os.nice(19)
    session = Path("/proc/self/autogroup")
    if session.exists():
        session.write_text("19")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base_url")
    parser.add_argument("token")
    parser.add_argument("collection")
    parser.add_argument("campaigns", nargs="+")
    options = parser.parse_args()
    _give_way()
    _picture()
    greedy = Greedy(options.base_url, options.token, options.campaigns, options.collection)
    greedy.run()
    print(json.dumps(greedy.answered))


if __name__ == "__main__":
    main()
