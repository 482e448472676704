"""Features aligned with a campaign's answers, and places of new images."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise.client.errors import TrainingFailed
from likewise.client.objects import read
from likewise.client.transport import Transport

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The server takes twice as many vectors, and requests of 16 MB; a number has about 20 characters.
_VECTORS_AT_ONCE, _NUMBERS_AT_ONCE, _IMAGES_AT_ONCE = 500, 700_000, 20


@dataclass(frozen=True)
class Alignment:
    """A feature set aligned with a campaign's answers.

    used: whether the features predict what annotators put together; figures: how well, for
    held-out grids, as the API describes them; None until it is done.
    """

    id: str
    features: str
    state: str
    progress: float
    error: str | None
    usable: bool
    used: bool | None
    takes_images: bool
    n_answers: int
    n_images: int
    model_version: int | None
    figures: dict[str, Any] | None


@dataclass(frozen=True)
class NearestImage:
    """An image of the collection near a new one. deviation: of the distance; probability: that a
    typical annotator puts the two together; asked: whether answers are about it."""

    image: int
    filename: str
    sha256: str
    distance: float
    deviation: float
    probability: float | None
    asked: bool


@dataclass(frozen=True)
class NewPlace:
    """A new image in the campaign's space. name: of its file, or the number of its vector;
    position, deviation: (K,) coordinates and standard deviations; x, y: on the campaign's map;
    attributes, cluster: as the API describes them."""

    name: str
    position: list[float]
    deviation: list[float]
    x: float
    y: float
    attributes: list[dict[str, Any]]
    cluster: dict[str, Any] | None
    neighbours: list[NearestImage]

    @classmethod
    def of(cls, data: dict[str, Any]) -> "NewPlace":
        near = [read(NearestImage, neighbour) for neighbour in data["neighbours"]]
        return read(cls, data, neighbours=near)


class CampaignAlignments:
    """What a campaign does with features of images."""

    id: str
    _transport: Transport

    @property
    def _path(self) -> str:
        return f"/campaigns/{self.id}"

    def alignments(self) -> list[Alignment]:
        """The feature sets that were aligned with the answers, with their figures."""
        return [read(Alignment, data) for data in self._alignments()["items"]]

    def align(
        self, *features: str, timeout: float | None = None, poll: float = 2.0
    ) -> list[Alignment]:
        """Align feature sets of the collection, or features that the server computes, with the
        answers, and wait until that is done.

        timeout: in seconds; None waits for ever. Raises TimeoutError, TrainingFailed.
        """
        self._transport.post(f"{self._path}/alignments", {"features": list(features)})
        deadline = time.monotonic() + timeout if timeout is not None else None
        while True:
            by_name = {item.features: item for item in self.alignments()}
            chosen = [by_name[name] for name in features]
            for item in chosen:
                if item.state == "failed":
                    raise TrainingFailed(item.error or "The alignment failed.")
            if all(item.state == "done" for item in chosen):
                return chosen
            if deadline is not None and time.monotonic() + poll > deadline:
                raise TimeoutError(f"The features are not aligned after {timeout:g} seconds.")
            time.sleep(poll)

    def download_alignment(self, features: str, path: str | Path) -> Path:
        """Save an alignment to a folder or path, which is returned; docs/learned_alignment.md has
        a loader. Raises KeyError if the features were not aligned."""
        given, file = Path(path), "alignment.safetensors"
        target = given / file if given.is_dir() else given
        self._transport.download(f"{self._alignment_path(features)}/{file}", target)
        return target

    def place_vectors(
        self, features: str, vectors: "Sequence[Sequence[float]] | NDArray[Any]", k: int = 10
    ) -> list[NewPlace]:
        """Place new images by their vectors (M, F), some at a time, with the k nearest images of
        the collection. Raises KeyError if the features were not aligned."""
        rows = [[float(number) for number in row] for row in vectors]
        address = f"{self._alignment_path(features)}/places"
        places: list[NewPlace] = []
        widest = max(map(len, rows), default=0)
        at_once = max(1, min(_VECTORS_AT_ONCE, _NUMBERS_AT_ONCE // max(1, widest)))
        for start in range(0, len(rows), at_once):
            body = {"vectors": rows[start : start + at_once], "k": k}
            places += map(NewPlace.of, self._transport.post(address, body)["items"])
        return places

    def place_images(
        self, features: str, paths: Iterable[str | Path], k: int = 10
    ) -> list[NewPlace]:
        """Place new images, with features that the server computes. Raises KeyError if these were
        not aligned."""
        files = [Path(path) for path in paths]
        address = f"{self._alignment_path(features)}/image-places"
        places: list[NewPlace] = []
        for start in range(0, len(files), _IMAGES_AT_ONCE):
            some = files[start : start + _IMAGES_AT_ONCE]
            parts = [("files", (path.name, path.read_bytes())) for path in some]
            reply = self._transport.post(address, files=parts, data={"k": k})
            places += map(NewPlace.of, reply["items"])
        return places

    def _alignments(self) -> dict[str, Any]:
        listed: dict[str, Any] = self._transport.get(f"{self._path}/alignments")
        return listed

    def _alignment_path(self, features: str) -> str:
        ids = {item.features: item.id for item in self.alignments()}
        return f"{self._path}/alignments/{ids[features]}"
