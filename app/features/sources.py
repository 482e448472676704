"""The register of features: the names that a strategy's setting can have, and how each is
computed."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.features.custom import SETTING, custom_address, load_custom
from app.features.encoder import (
    encoder_version,
    is_available,
    missing_message,
    object_features,
)

FeatureArray = NDArray[np.floating[Any]]
Compute = Callable[[Iterable[NDArray[np.uint8]]], FeatureArray]
TABLE, CUSTOM, OBJECTS = "features", "custom", "objects"


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
# Offered only where the encoder's weights are.
SHOWN_OBJECTS = Source(
    OBJECTS,
    "things that images show",
    "What a neural network sees in them, trained on photographs of 1,000 kinds of animals, plants, "
    "things and scenes (ImageNet): 64 numbers. For photographs. Less for drawings, scans and "
    "symbols; colours, faces and text count for little.",
    object_features,
)
BY_NAME = {source.name: source for source in BUILT_IN}


def source_names() -> list[str]:
    """Return the names that can be chosen on this server."""
    return [*_built_in(), *([CUSTOM] if custom_address() else [])]


def _built_in() -> dict[str, Source]:
    """Return the built-in sources that this machine can compute, by name."""
    return {**BY_NAME, **({OBJECTS: SHOWN_OBJECTS} if is_available() else {})}


def get_source(name: str) -> Source:
    """Return a source by name; raises ValueError for an unknown one, or a custom function that is
    missing."""
    if name == CUSTOM:
        custom = load_custom()
        version = f"{custom.address} {custom.digest}"
        return Source(CUSTOM, custom.address, "", custom.compute, version)
    check_source(name)
    if name == OBJECTS:
        return replace(SHOWN_OBJECTS, version=encoder_version())
    return BY_NAME[name]


def check_source(name: str) -> str:
    """Return the name; raises ValueError if it cannot be chosen here. A custom function is not
    loaded for this, because that is slow and only learning jobs need it."""
    if name == CUSTOM and not custom_address():
        raise ValueError(f"this server has no custom feature function ({SETTING}); {_choices()}")
    if name == OBJECTS and not is_available():
        raise ValueError(f"{missing_message()}; otherwise {_choices()}")
    if name not in (CUSTOM, OBJECTS, *BY_NAME):
        raise ValueError(f"there are no features named {name!r}; {_choices()}")
    return name


def _choices() -> str:
    return f"choose one of: {', '.join(_built_in())}"


def titles() -> dict[str, str]:
    """Return the titles of all features that this server offers, by name."""
    named = {name: source.title for name, source in _built_in().items()}
    return {**named, **({CUSTOM: custom_address()} if custom_address() else {})}


def offered(*others: str) -> Callable[[dict[str, Any]], None]:
    """Return a hook for a setting's JSON schema: it may be any source of this server, or one of
    `others`."""

    def tell(schema: dict[str, Any]) -> None:
        schema["enum"] = [*others, *source_names()]
        schema["labels"] = titles()

    return tell
