"""Collections and uploads to them."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from likewise.client.objects import FeatureSet, Image, UploadReport, read
from likewise.client.transport import Transport

MOST_FILES = 20
MOST_BYTES = 16 * 2**20
SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".zip", ".csv")
Paths = str | Path | Iterable[str | Path]


class Collection:
    """A set of images."""

    def __init__(self, transport: Transport, data: dict[str, Any]) -> None:
        self._transport = transport
        self.id: str = data["id"]
        self.name: str = data["name"]
        self.n_images: int = data["n_images"]

    def __repr__(self) -> str:
        return f"<Collection {self.name!r}, {self.n_images} images>"

    @property
    def _path(self) -> str:
        return f"/collections/{self.id}"

    def images(self) -> Iterator[Image]:
        """All images in order of position."""
        for data in self._transport.pages(f"{self._path}/images", limit=1000):
            yield read(Image, data)

    def upload(
        self, what: Paths, progress: Callable[[int, int], None] | None = None
    ) -> UploadReport:
        """Add files or a folder's files: images, ZIP files of images, and CSV tables.

        Images that are already in the collection are not sent again, so call this again to resume
        an interrupted upload. `progress` is called with (files done, total number of files).

        The collection keeps the first name of files with the same content. Tables can use all of
        their names. Files of the same name in several folders are listed with their folders in the
        report; in the collection they have the same name, so a table that describes them needs a
        column `sha256`.
        """
        files = _files(what)
        called = _names_in_report(files)
        stored = self.images() if self.n_images else iter(())
        known = {image.sha256: image.filename for image in stored}
        report = UploadReport(n_images=self.n_images)
        aliases: dict[str, str] = {}
        done = 0
        for batch in _batches(files):
            fresh: list[tuple[Path, bytes]] = []
            for path in batch:
                data = path.read_bytes()
                name = known.get(hashlib.sha256(data).hexdigest())
                if name is None:
                    fresh.append((path, data))
                else:
                    report.present.append(called[path])
                    if name != path.name == called[path]:
                        aliases.setdefault(path.name, name)
            if fresh:
                self._send(fresh, report, called, aliases)
            done += len(batch)
            if progress is not None:
                progress(done, len(files))
        self.n_images = report.n_images
        return report

    def feature_sets(self) -> list[FeatureSet]:
        """The feature sets, oldest first, with their progress."""
        reply = self._transport.get(f"{self._path}/feature-sets")
        return [read(FeatureSet, data) for data in reply["items"]]

    def upload_features(
        self, path: str | Path, name: str, names: Iterable[str] | None = None
    ) -> FeatureSet:
        """Upload a table of vectors (.csv, .npy, .npz, .safetensors) as a feature set.

        names: file names of the rows of an array, if they are not in the order of the images.
        """
        path = Path(path)
        parts: list[tuple[str, Any]] = [("file", (path.name, path.read_bytes()))]
        if names is not None:
            parts.append(("names", ("names.txt", "\n".join(names).encode())))
        reply = self._transport.post(f"{self._path}/feature-sets", files=parts, data={"name": name})
        return read(FeatureSet, reply)

    def compute_features(self, source: str) -> FeatureSet:
        """Ask the server to compute the features of a source, such as "appearance"; it does so in
        the background (see `feature_sets`)."""
        body = {"source": source}
        return read(FeatureSet, self._transport.post(f"{self._path}/feature-sets/compute", body))

    def delete_features(self, name: str) -> None:
        """Delete a feature set. Raises KeyError if there is none with this name."""
        ids = {feature_set.name: feature_set.id for feature_set in self.feature_sets()}
        self._transport.request("DELETE", f"{self._path}/feature-sets/{ids[name]}")

    def _send(
        self,
        files: list[tuple[Path, bytes]],
        report: UploadReport,
        called: dict[Path, str],
        aliases: dict[str, str],
    ) -> None:
        """Send a batch and note what became of it. aliases: other names of images, by name."""
        sent = [("files", (path.name, data)) for path, data in files]
        form = _aliases_used(aliases, files[0][1]) if _is_table(files[0][0]) else {}
        reply = self._transport.post(f"{self._path}/files", files=sent, data=form)
        names = {path.name: called[path] for path, _ in files}

        def by_name(part: str, value: str) -> dict[str, Any]:
            return {
                names.get(file["filename"], file["filename"]): file[value] for file in reply[part]
            }

        several = {path.name for path, name in called.items() if name != path.name}
        for file in reply["duplicates"]:
            if file["filename"] in several:
                # A table that names it may mean another image.
                continue
            aliases.setdefault(file["filename"], file["same_as"])
        report.added |= by_name("added", "position")
        report.duplicates |= by_name("duplicates", "same_as")
        report.rejected |= by_name("rejected", "reason")
        report.partly_used |= by_name("partly_used", "reason")
        report.attributes, report.n_images = reply["attributes"], reply["n_images"]


def _aliases_used(aliases: dict[str, str], table: bytes) -> dict[str, str]:
    """Return the form's field with the names that a table may use: servers limit its size."""
    used = {name: kept for name, kept in aliases.items() if name.encode() in table}
    return {"aliases": json.dumps(used)} if used else {}


def _files(what: Paths) -> list[Path]:
    """All files, and the usable files of folders, tables last. Raises FileNotFoundError."""
    given = [what] if isinstance(what, str | Path) else list(what)
    files: list[Path] = []
    for path in map(Path, given):
        if path.is_dir():
            inside = sorted(path for path in path.rglob("*") if path.suffix.lower() in SUFFIXES)
            files += [path for path in inside if path.is_file()]
        elif path.is_file():
            files.append(path)
        else:
            raise FileNotFoundError(f"The file or folder {path} does not exist.")
    # Tables last, so that the images they describe are there.
    return sorted(files, key=_is_table)


def _is_table(path: Path) -> bool:
    return path.suffix.lower() == ".csv"


def _names_in_report(files: list[Path]) -> dict[Path, str]:
    """Return what each file is called in the report: its name, with its folders if there are
    several files of that name."""
    counts = Counter(path.name for path in files)
    return {path: path.name if counts[path.name] == 1 else path.as_posix() for path in files}


def _batches(files: list[Path]) -> Iterator[list[Path]]:
    """Yield batches of bounded size, one per request. A ZIP file or table is sent alone."""
    batch: list[Path] = []
    size = 0
    for path in files:
        # Responses name files without their folders.
        is_named_twice = any(path.name == other.name for other in batch)
        alone = path.suffix.lower() in (".zip", ".csv")
        bytes_ = path.stat().st_size
        is_full = len(batch) >= MOST_FILES or size + bytes_ > MOST_BYTES
        if batch and (alone or is_named_twice or is_full):
            yield batch
            batch, size = [], 0
        batch.append(path)
        size += bytes_
        if alone:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
