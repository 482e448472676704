"""The register of features: the names that a strategy's setting can have, and how each is
computed."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import ValidationInfo

from app.features.custom import SETTING, custom_address, load_custom
from app.features.encoder import (
    encoder_version,
    is_available,
    missing_message,
    object_features,
    object_reduction,
    object_vectors,
)

if TYPE_CHECKING:
    from learning.linear_reduction import LinearReduction

FeatureArray = NDArray[np.floating[Any]]
Compute = Callable[[Iterable[NDArray[np.uint8]]], FeatureArray]
Encode = Callable[[Sequence[NDArray[np.uint8]]], FeatureArray]
TABLE, CUSTOM, OBJECTS, NOTHING = "features", "custom", "objects", "nothing"
APPEARANCE = "appearance"
# Marks settings in a form's schema that also offer the feature sets of the campaign's collection.
OFFERS_SETS = "feature_sets"
# The key of a validation's context with the names of a collection's feature sets.
KNOWN_SETS = "feature_sets"
LONGEST_NAME = 100


class Reduction(Protocol):
    """Turns encodings (N, F_raw) into features (N, F); learned from the images of a campaign, and
    the same for images that come later."""

    def fit(self, X: ArrayLike) -> Self: ...

    def fit_transform(self, X: ArrayLike) -> FeatureArray: ...

    def transform(self, X: ArrayLike) -> FeatureArray: ...

    def as_linear(self) -> "LinearReduction": ...


@dataclass(frozen=True)
class Source:
    """A source of features. name: stored in settings; title: shown to people; about: what the
    features describe and what not.

    compute: turns images (H, W, 3) uint8, one after the other, into (N, F) or (N, H, W[, C]); None
    for features from the collection's table. version: distinguishes stored results of different
    ways to compute them.

    encode: turns a batch of images into (B, F_raw), each image independent of the others, so that
    a collection is encoded in parts, and new images later; None if only all images together have
    features. reduction: creates what turns encodings into features; None if they are the features.
    shape: of one image's features, if they are not a row of numbers.
    """

    name: str
    title: str
    about: str
    compute: Compute | None = None
    version: str = ""
    encode: Encode | None = None
    reduction: Callable[[], Reduction] | None = None
    shape: tuple[int, ...] | None = None

    @property
    def version_hash(self) -> str:
        """Return the version as it is stored with a feature set; empty if there is none."""
        return hashlib.sha256(self.version.encode()).hexdigest()[:16] if self.version else ""


def _appearance(images: Iterable[NDArray[np.uint8]]) -> FeatureArray:
    # This import and those below are local, because only learning jobs need them and they are slow.
    from learning.appearance import appearance_features

    return appearance_features(images)


def _appearance_vectors(images: Sequence[NDArray[np.uint8]]) -> FeatureArray:
    from learning.appearance import appearance_vectors

    return appearance_vectors(images)


def _appearance_reduction() -> Reduction:
    from learning.appearance import AppearanceReduction

    return AppearanceReduction()


def _components(images: Iterable[NDArray[np.uint8]]) -> FeatureArray:
    from learning.pixels import pixel_components

    return pixel_components(images)


def _component_reduction() -> Reduction:
    from learning.pixels import ComponentReduction

    return ComponentReduction()


def _pixels(images: Iterable[NDArray[np.uint8]]) -> FeatureArray:
    from learning.pixels import small_pixels

    return small_pixels(images, 16)


def _grey(images: Iterable[NDArray[np.uint8]]) -> FeatureArray:
    from learning.pixels import small_pixels

    return small_pixels(images, 28, colour=False)


def _in_rows(compute: Compute) -> Encode:
    """Return an encoding whose small pictures are rows of numbers."""

    def encode(images: Sequence[NDArray[np.uint8]]) -> FeatureArray:
        return compute(images).reshape(len(images), -1)

    return encode


BUILT_IN = (
    Source(
        APPEARANCE,
        "colours and edges",
        "Colours on a coarse raster and directions of edges: 40 numbers. They describe what "
        "images look like from a distance, not what they show.",
        _appearance,
        encode=_appearance_vectors,
        reduction=_appearance_reduction,
    ),
    Source(
        "components",
        "main components of small pixels",
        "50 principal components of 16 × 16 colour pixels. For images with the same pose "
        "and framing: faces, scans, signs.",
        _components,
        encode=_in_rows(_pixels),
        reduction=_component_reduction,
    ),
    Source(
        "pixels",
        "small pixels, colour",
        "The values of 16 × 16 colour pixels.",
        _pixels,
        encode=_in_rows(_pixels),
        shape=(16, 16, 3),
    ),
    Source(
        "grey",
        "small pixels, grey",
        "The values of 28 × 28 grey pixels. For handwriting, symbols, drawings.",
        _grey,
        encode=_in_rows(_grey),
        shape=(28, 28),
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
    encode=object_vectors,
    reduction=object_reduction,
)
BY_NAME = {source.name: source for source in BUILT_IN}


# Names that no feature set of a collection may have.
RESERVED = (*BY_NAME, OBJECTS, CUSTOM, NOTHING)


def source_names() -> list[str]:
    """Return the names that can be chosen on this server."""
    return [*_built_in(), *([CUSTOM] if custom_address() else [])]


def _built_in() -> dict[str, Source]:
    """Return the built-in sources that this machine can compute, by name, the most useful first."""
    return {**({OBJECTS: SHOWN_OBJECTS} if is_available() else {}), **BY_NAME}


def abouts() -> dict[str, str]:
    """Return what the built-in features of this server describe, by name."""
    return {name: source.about for name, source in _built_in().items()}


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


def source_version(name: str) -> str:
    """Return the version of a source; empty if this server does not have it, or it has none."""
    try:
        return get_source(name).version_hash
    except ValueError:
        return ""


def check_source(name: str) -> str:
    """Return the name; raises ValueError if it cannot be chosen here. A custom function is not
    loaded for this, because that is slow and only learning jobs need it."""
    return _checked(name, ())


def checked_features(name: str, sets: Collection[str]) -> str:
    """Return the name of a source, or of one of these feature sets. Raises ValueError."""
    return _checked(name, sets)


def default_features() -> str:
    """Return the source of features that suits most images on this server."""
    return OBJECTS if is_available() else APPEARANCE


def check_features(name: str, info: ValidationInfo) -> str:
    """Return the name of a source, or of a feature set of the campaign's collection.

    The names of its sets are in the validation's context (KNOWN_SETS). Without one, as in a
    learning job, the name was checked before. Raises ValueError for an unknown name.
    """
    if info.context is None:
        return name
    return _checked(name, info.context.get(KNOWN_SETS, ()))


def check_features_or_nothing(name: str, info: ValidationInfo) -> str:
    return name if name == NOTHING else check_features(name, info)


def _checked(name: str, sets: Collection[str]) -> str:
    if name in sets:
        return name
    if name == CUSTOM and not custom_address():
        raise ValueError(
            f"this server has no custom feature function ({SETTING}); {_choices(sets)}"
        )
    if name == OBJECTS and not is_available():
        raise ValueError(f"{missing_message()}; otherwise {_choices(sets)}")
    if name not in (CUSTOM, OBJECTS, *BY_NAME):
        raise ValueError(f"there are no features named {name!r}; {_choices(sets)}")
    return name


def _choices(sets: Collection[str]) -> str:
    return f"choose one of: {', '.join([*_built_in(), *sets])}"


def titles() -> dict[str, str]:
    """Return the titles of all features that this server offers, by name."""
    named = {name: source.title for name, source in _built_in().items()}
    return {**named, **({CUSTOM: custom_address()} if custom_address() else {})}


def objects_or(other: str) -> Callable[[], str]:
    """Return a function that returns the default of a setting: things that images show, or `other`
    on a server without the encoder."""
    return lambda: OBJECTS if is_available() else other


def offered(
    *others: str, default: Callable[[], str] | None = None
) -> Callable[[dict[str, Any]], None]:
    """Return a hook for a setting's JSON schema: it may be any source of this server, or one of
    `others`. default: of this server, if it depends on it."""

    def tell(schema: dict[str, Any]) -> None:
        if default is not None:
            schema["default"] = default()
        schema["enum"] = [*others, *source_names()]
        schema["labels"] = titles()
        schema[OFFERS_SETS] = True

    return tell


def with_sets(schema: dict[str, Any], sets: Sequence[str]) -> dict[str, Any]:
    """Return the schema of a form whose choices of features also have these feature sets."""
    for field in schema["properties"].values():
        if field.get(OFFERS_SETS):
            field["enum"] = [*field["enum"], *sets]
    return schema
