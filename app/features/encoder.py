"""Features of what images show: where the encoder's weights are, and features computed with it.

By default the encoder is EfficientNet-Lite0, whose weights come with a package. They are converted
to safetensors in the environment when it is installed (`python -m likewise.encoder_weights`); where
that did not happen, by the first process that needs them, if need be into the data folder.
LIKEWISE_ENCODER names another encoder.
"""

import hashlib
import logging
import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from app.core.settings import get_settings

# Imports of learning are local, because only learning jobs need them and they are slow.
if TYPE_CHECKING:
    from learning.encoder import Encoder
    from learning.reduction import UnitComponents

logger = logging.getLogger(__name__)

SETTING = "LIKEWISE_ENCODER"
# Of 1,280 numbers. More do not tell scenes or poses apart better (docs/decisions/0038).
N_COMPONENTS = 64
# Names stored results of earlier ways to compute them.
_FORMAT = "1"


def environment_file() -> Path:
    """The converted weights in the environment that runs this process."""
    from learning.encoder_files import FILE_NAME

    return Path(sys.prefix) / "share" / "likewise" / FILE_NAME


def is_available() -> bool:
    """Whether an encoder can be chosen here: another one is set, or the weights are there."""
    from learning.encoder_files import packaged_file

    if get_settings().encoder:
        return True
    return any(path.is_file() for path in _places()) or packaged_file() is not None


def missing_message() -> str:
    """Say what is missing for the encoder, and how to get it."""
    from learning.encoder_files import INSTALL

    return f"the weights of the image encoder are not installed. {INSTALL}"


def encoder_version() -> str:
    """Return a text that changes when the encoder's features change."""
    from learning.encoder_files import PACKAGE_SHA256

    choice = get_settings().encoder
    if not choice:
        return f"{PACKAGE_SHA256[:16]} {_FORMAT}"
    return f"{choice} {_file_digest(choice)} {_FORMAT}"


def load_encoder() -> "Encoder":
    """Load the encoder of this server; raises ValueError that says what to do if it cannot be
    used."""
    from learning.encoder import Encoder
    from learning.encoder_choice import load_choice

    choice = get_settings().encoder
    try:
        return load_choice(choice) if choice else Encoder.load(weights_file())
    except ValueError as error:
        raise ValueError(f"{SETTING}={choice}: {error}" if choice else str(error)) from error


def weights_file() -> Path:
    """Return the converted weights, converting them if no place has them.

    Raises ValueError if the package is not installed or has another file, OSError if no place can
    be written.
    """
    from learning.encoder_files import packaged_file
    from learning.encoder_weights import convert

    for path in _places():
        if path.is_file():
            return path
    source = packaged_file()
    if source is None:
        raise ValueError(missing_message())
    *others, last = _places()
    for target in others:
        try:
            convert(source, target)
        except OSError as error:
            # An environment is often read-only for the processes that it runs.
            logger.info("%s cannot be written (%s); %s is used", target, error, last)
        else:
            return target
    convert(source, last)
    return last


def object_vectors(images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
    """(N, F_raw) numbers of the encoder for images (H, W, 3) uint8, each independent of the others.

    Raises ValueError if the encoder cannot be used.
    """
    return _loaded(encoder_version()).encode(images)


def object_reduction() -> "UnitComponents":
    """Create what turns the encoder's numbers into features."""
    from learning.reduction import UnitComponents

    return UnitComponents(N_COMPONENTS)


def object_features(images: Iterable[NDArray[np.uint8]]) -> NDArray[np.float32]:
    """(N, F) features of images (H, W, 3) uint8 by what they show, F at most 64.

    Raises ValueError without an image, or if the encoder cannot be used.
    """
    vectors = _loaded(encoder_version()).encode(images)
    if not len(vectors):
        raise ValueError("at least one image is needed")
    return object_reduction().fit_transform(vectors)


@lru_cache(maxsize=1)
def _loaded(version: str) -> "Encoder":
    """Return the encoder of this version. Loading takes longer than encoding some images."""
    return load_encoder()


def _places() -> list[Path]:
    from learning.encoder_files import FILE_NAME

    return [environment_file(), get_settings().data.resolve() / "encoder" / FILE_NAME]


def _file_digest(choice: str) -> str:
    """Return a digest of the file that a choice names, or nothing if it names none."""
    path = Path(choice)
    if not path.is_file():
        path = Path(choice.partition("/")[2])
    if not path.is_file():
        return ""
    stat = path.stat()
    return _digest(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=4)
def _digest(path: Path, size: int, modified: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
