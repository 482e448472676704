"""The images that a file of answers names, as positions in the collection."""

from collections.abc import Iterable
from pathlib import PurePosixPath

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.annotation.importing.lines import shown
from app.annotation.importing.problems import BadLine
from app.campaigns.models import Campaign
from app.collections.models import Image

_SEVERAL = -1


class UnknownNames(Exception):
    """The campaign has no images with these `names`, which are shown in the message."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(", ".join(names))
        self.names = names


class ImageNames:
    """Finds images by file name, with or without its extension, or by position.

    names: (file name, position) of each image of the collection.
    n_images: the campaign's number of images; images at later positions were added to the
        collection after its start.
    """

    def __init__(
        self, names: Iterable[tuple[str, int]], n_images: int, *, by_position: bool
    ) -> None:
        self.n_images, self.by_position = n_images, by_position
        self._exact: dict[str, int] = {}
        self._stems: dict[str, int] = {}
        for name, position in names:
            for known, key in ((self._exact, name), (self._stems, PurePosixPath(name).stem)):
                known[key] = _SEVERAL if key in known else position

    def positions_of(self, images: list[str | int]) -> list[int]:
        """Return the positions of images. Raises UnknownNames, and BadLine for ambiguous names,
        repeated images, and numbers instead of names."""
        find = self._by_position if self.by_position else self._by_name
        matches = [find(image) for image in images]
        unknown = [shown(image) for image, at in zip(images, matches, strict=True) if at is None]
        if unknown:
            raise UnknownNames(unknown)
        positions = [at for at in matches if at is not None]
        if len(set(positions)) < len(positions):
            twice = next(at for k, at in enumerate(positions) if at in positions[:k])
            raise BadLine(f'"images" names {shown(images[positions.index(twice)])} twice.')
        return positions

    def _by_position(self, image: str | int) -> int | None:
        if not isinstance(image, int):
            raise BadLine(
                f'"images" holds the name {shown(image)}. With --by position, it must hold whole '
                "numbers from 0."
            )
        return image if 0 <= image < self.n_images else None

    def _by_name(self, image: str | int) -> int | None:
        if not isinstance(image, str):
            raise BadLine(
                f'"images" holds the number {image}. Use file names, or use --by position if the '
                "numbers are positions in the collection."
            )
        position = self._exact.get(image, self._stems.get(image))
        if position == _SEVERAL:
            raise BadLine(
                f"The collection has several images called {shown(image)}. Use --by position."
            )
        if position is not None and position >= self.n_images:
            raise BadLine(
                f"The image {shown(image)} was added to the collection after the campaign "
                "started. Admit new images to the campaign first."
            )
        return position


def image_names(session: Session, campaign: Campaign, *, by_position: bool) -> ImageNames:
    """Return the image names of the campaign's collection."""
    query = select(Image.filename, Image.position)
    rows = session.execute(query.where(Image.collection_id == campaign.collection_id))
    names = [(name, position) for name, position in rows]
    return ImageNames(names, campaign.n_images, by_position=by_position)
