"""The register of features: the names that a strategy's setting can have, and how each is
computed."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.features.custom import SETTING, custom_address, load_custom

FeatureArray = NDArray[np.floating[Any]]
Compute = Callable[[Iterable[NDArray[np.uint8]]], FeatureArray]
TABLE, CUSTOM = "features", "custom"


@dataclass(frozen=True)
class Source:
    """A source of features. name: stored in settings; title: shown to people; about: what the
    features describe and what not.

    compute: turns images (H, W, 3) uint8, one after the other, into (N, F) or (N, H, W[, C]); None
    for features from the collection's table. version: distinguishes stored results of different
    ways to compute them.
    """

    name: str
    title: str
    about: str
    compute: Compute | None = None
    version: str = ""


def _appearance(images: Iterable[NDArray[np.uint8]]) -> FeatureArray:
    # This import and those below are local, because only learning jobs need them and they are slow.
    from learning.appearance import appearance_features

    return appearance_features(images)


def _components(images: Iterable[NDArray[np.uint8]]) -> FeatureArray:
    from learning.pixels import pixel_components

    return pixel_components(images)


def _pixels(images: Iterable[NDArray[np.uint8]]) -> FeatureArray:
    from learning.pixels import small_pixels

    return small_pixels(images, 16)


def _grey(images: Iterable[NDArray[np.uint8]]) -> FeatureArray:
    from learning.pixels import small_pixels

    return small_pixels(images, 28, colour=False)


BUILT_IN = (
    Source(
        "appearance",
        "colours and edges",
        "Colours on a coarse raster and directions of edges: 40 numbers. They describe what "
        "images look like from a distance, not what they show.",
        _appearance,
    ),
    Source(
        "components",
        "main components of small pixels",
        "50 principal components of 16 × 16 colour pixels. For images with the same pose "
        "and framing: faces, scans, signs.",
        _components,
    ),
    Source(
        "pixels",
        "small pixels, colour",
        "The values of 16 × 16 colour pixels.",
        _pixels,
    ),
    Source(
        "grey",
        "small pixels, grey",
        "The values of 28 × 28 grey pixels. For handwriting, symbols, drawings.",
        _grey,
    ),
    Source(
        TABLE,
        "features from the table",
        "Columns feature_0, feature_1, … of the collection's table: your own vectors, for "
        "instance from a neural network trained on such images.",
    ),
)
BY_NAME = {source.name: source for source in BUILT_IN}


def source_names() -> list[str]:
    """Return the names that can be chosen on this server."""
    return [*BY_NAME, *([CUSTOM] if custom_address() else [])]


def get_source(name: str) -> Source:
    """Return a source by name; raises ValueError for an unknown one, or a custom function that is
    missing."""
    if name == CUSTOM:
        custom = load_custom()
        version = f"{custom.address} {custom.digest}"
        return Source(CUSTOM, custom.address, "", custom.compute, version)
    check_source(name)
    return BY_NAME[name]


def check_source(name: str) -> str:
    """Return the name; raises ValueError if it cannot be chosen here. A custom function is not
    loaded for this, because that is slow and only learning jobs need it."""
    if name == CUSTOM and not custom_address():
        raise ValueError(
            f"this server has no custom feature function ({SETTING}); choose one of: "
            f"{', '.join(BY_NAME)}"
        )
    if name != CUSTOM and name not in BY_NAME:
        raise ValueError(
            f"there are no features named {name!r}; choose one of: {', '.join(BY_NAME)}"
        )
    return name


def titles() -> dict[str, str]:
    """Return the titles of all features that this server offers, by name."""
    named = {name: source.title for name, source in BY_NAME.items()}
    return {**named, **({CUSTOM: custom_address()} if custom_address() else {})}


def offered(*others: str) -> Callable[[dict[str, Any]], None]:
    """Return a hook for a setting's JSON schema: it may be any source of this server, or one of
    `others`."""

    def tell(schema: dict[str, Any]) -> None:
        schema["enum"] = [*others, *source_names()]
        schema["labels"] = titles()

    return tell
