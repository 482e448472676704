"""Custom features by a function of the server's administrator:
LIKEWISE_FEATURES=module:function."""

import hashlib
import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.settings import get_settings

SETTING = "LIKEWISE_FEATURES"
MOST_FEATURES = 4_096


@dataclass(frozen=True)
class CustomFeatures:
    """A function that turns images (H, W, 3) uint8, one after the other, into (N, F) numbers.

    address: module:function; digest: of the module's source, so that features of an older version
    are not used for a newer one.
    """

    address: str
    digest: str
    function: Callable[[Iterable[NDArray[np.uint8]]], Any]

    def compute(self, images: Iterable[NDArray[np.uint8]]) -> NDArray[np.float64]:
        """Compute (N, F) features; raises ValueError that says what is wrong with them."""
        counted = _Counted(images)
        try:
            features = np.asarray(self.function(counted), np.float64)
        except Exception as error:
            if counted.broken is not None:
                raise counted.broken from None
            # Whatever a foreign function raises, trying again would not help.
            raise ValueError(
                f"{SETTING}={self.address} failed after {counted.n} images: "
                f"{type(error).__name__}: {error}"
            ) from error
        if counted.broken is not None:
            # The function took the error for the end, so these are features of only some of the
            # images.
            raise counted.broken
        # An image that the function never read has no features either.
        counted.n += sum(1 for _ in counted.rest)
        self._check(features, counted.n)
        return features

    def _check(self, features: NDArray[np.float64], n_images: int) -> None:
        wrong = ""
        if features.ndim != 2 or len(features) != n_images or not features.size:
            wrong = (
                f"an array of shape {features.shape} for {n_images} images; "
                "the shape must be (N, F)"
            )
        elif features.shape[1] > MOST_FEATURES:
            wrong = f"{features.shape[1]} numbers per image; at most {MOST_FEATURES} are allowed"
        elif not np.isfinite(features).all():
            row = int(np.flatnonzero(~np.isfinite(features).all(axis=1))[0])
            wrong = f"numbers that are not finite, first for image {row}"
        if wrong:
            raise ValueError(f"{SETTING}={self.address} returned {wrong}.")


class _Counted:
    """Yields images unchanged, counts them, and keeps the error if reading them failed."""

    def __init__(self, images: Iterable[NDArray[np.uint8]]) -> None:
        self.rest: Iterator[NDArray[np.uint8]] = iter(images)
        self.n = 0
        self.broken: Exception | None = None

    def __iter__(self) -> Iterator[NDArray[np.uint8]]:
        try:
            for image in self.rest:
                self.n += 1
                yield image
        except Exception as error:
            # This is not the function's fault: storage, for example, may be back later.
            self.broken = error
            raise


def custom_address() -> str:
    """Return module:function, or nothing if no function is set."""
    return get_settings().features


def load_custom(address: str | None = None) -> CustomFeatures:
    """Return the function that the setting names; raises ValueError if it does not exist."""
    address = custom_address() if address is None else address
    if not address:
        raise ValueError(
            f"This server has no custom feature function. Set {SETTING}=module:function, or "
            "choose other features."
        )
    module_name, _, name = address.partition(":")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        # This also covers errors of the module while it is imported: whatever they are, the setting
        # is wrong.
        raise ValueError(
            f"{SETTING}={address}: the module {module_name} cannot be imported "
            f"({type(error).__name__}: {error}). It must be on the PYTHONPATH of all "
            "processes."
        ) from error
    function = getattr(module, name, None)
    if not callable(function):
        raise ValueError(f"{SETTING}={address}: {module_name} has no function {name!r}.")
    return CustomFeatures(address, _digest(module), function)


def _digest(module: Any) -> str:
    """Return a digest of the module's source if there is one, and of its version otherwise."""
    file = inspect.getsourcefile(module) if hasattr(module, "__file__") else None
    data = Path(file).read_bytes() if file else str(getattr(module, "__version__", "")).encode()
    return hashlib.sha256(data).hexdigest()[:16]
