"""Disks that are full, as whoever writes to them sees it."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class SmallDisk:
    """A disk of its own below `folder`."""

    folder: Path

    def fill(self) -> None:
        """To the last byte."""
        for size in (2**16, 512, 1):
            try:
                with self._ballast.open("ab", buffering=0) as file:
                    while True:
                        file.write(b"x" * size)
            except OSError as error:
                print(f"filled: {error}")

    def make_room(self) -> None:
        self._ballast.unlink()

    @property
    def _ballast(self) -> Path:
        return self.folder / "ballast"


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[SmallDisk]:
    """Mounted for a while, and open to all users; skips the test where mounting is refused."""
    folder.mkdir(parents=True, exist_ok=True)
    options = ["-t", "tmpfs", "-o", f"size={size},mode=0777", "tmpfs"]
    mounted = subprocess.run(["mount", *options, str(folder)], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"a disk cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield SmallDisk(folder)
    finally:
        # Whoever has files open there keeps it until the end.
        subprocess.run(["umount", "-l", str(folder)], check=True)
