"""A vision network that turns images into features: what they show rather than their pixels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn

from learning.devices import pick_device
from learning.encoder_network import N_FEATURES, EfficientNetLite
from learning.encoder_weights import read_weights

# Larger batches are no faster on a processor, and need more memory.
_BATCH_ON_CPU, _BATCH_ON_GPU = 8, 128
_MOST_BATCH = 4_096


@dataclass(frozen=True)
class Preparation:
    """How a network expects its images: squares of `side` pixels, minus `mean`, divided by
    `deviation` (of red, green, blue, on the scale 0 to 255).

    The whole image is squeezed into the square. A crop of the centre, usual for labelling photos
    of one thing, would never see what is at the edge (measured: docs/decisions/0038).
    """

    side: int
    mean: tuple[float, float, float]
    deviation: tuple[float, float, float]

    def squares(self, images: Iterable[NDArray[np.uint8]]) -> NDArray[np.uint8]:
        """(B, side, side, 3) of images of any size."""
        size = (self.side, self.side)
        resized = (
            Image.fromarray(image).resize(size, Image.Resampling.BICUBIC) for image in images
        )
        return np.stack([np.asarray(image) for image in resized])


# Scaled as in training: efficientnet_lite_builder.py of the paper's code.
LITE0 = Preparation(224, (127.0,) * 3, (128.0,) * 3)


class Encoder:
    """A network with the preparation of its images, on a device.

    network: (B, 3, side, side) to (B, F); n_features: F.
    """

    def __init__(
        self, network: nn.Module, preparation: Preparation, n_features: int, device: str = "auto"
    ) -> None:
        """Raises ValueError for a device that is not available."""
        self.device = pick_device(device)
        self.preparation, self.n_features = preparation, n_features
        # Convolutions of few channels are a third faster if channels are stored last.
        self._network = network.eval().to(self.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._mean, self._deviation = (
            torch.tensor(values, device=self.device)[:, None, None]
            for values in (preparation.mean, preparation.deviation)
        )

    @classmethod
    def load(cls, path: Path, device: str = "auto") -> Encoder:
        """EfficientNet-Lite0 with converted weights (learning/encoder_weights.py).

        Raises ValueError, with what to do, if the file is missing, damaged, or of another network.
        """
        network = EfficientNetLite()
        network.load_state_dict(read_weights(path))
        return cls(network, LITE0, N_FEATURES, device)

    def encode(
        self, images: Iterable[NDArray[np.uint8]], batch_size: int | None = None
    ) -> NDArray[np.float32]:
        """(N, F) features of images (H, W, 3) uint8; (0, F) without any. See `encode_batches`."""
        batches = list(self.encode_batches(images, batch_size))
        return np.concatenate([np.zeros((0, self.n_features), np.float32), *batches])

    def encode_batches(
        self, images: Iterable[NDArray[np.uint8]], batch_size: int | None = None
    ) -> Iterator[NDArray[np.float32]]:
        """Yield (B, F) features of the next `batch_size` images until there are none; the last
        batch can be shorter. Images are read as they are needed, so that memory does not grow with
        their number, and a caller can store each batch and later go on behind it.

        Raises ValueError for an image of another shape or type, an unusable batch size, or a
        network that returns something other than (B, F) finite numbers.
        """
        if batch_size is None:
            batch_size = _BATCH_ON_CPU if self.device.type == "cpu" else _BATCH_ON_GPU
        if not 1 <= batch_size <= _MOST_BATCH:
            raise ValueError(f"batch_size must be 1 to {_MOST_BATCH}; got {batch_size}")
        n_before, rest = 0, iter(images)
        while batch := list(islice(rest, batch_size)):
            for k, image in enumerate(batch, n_before):
                _check_image(image, k)
            yield self._features(self.preparation.squares(batch))
            n_before += len(batch)

    def _features(self, squares: NDArray[np.uint8]) -> NDArray[np.float32]:
        with torch.inference_mode():
            # Seen as (B, 3, side, side), this memory already has channels last.
            pixels = torch.from_numpy(squares).to(self.device).permute(0, 3, 1, 2)
            output: Tensor = self._network((pixels.float() - self._mean) / self._deviation)
        if output.shape != (len(squares), self.n_features):
            raise ValueError(
                f"the network returned the shape {tuple(output.shape)} for {len(squares)} images; "
                f"it must be ({len(squares)}, {self.n_features})"
            )
        features = output.float().cpu().numpy()
        if not np.isfinite(features).all():
            raise ValueError("the network returned numbers that are not finite")
        return features


def _check_image(image: NDArray[np.uint8], number: int) -> None:
    fits = image.ndim == 3 and image.shape[2] == 3 and image.size and image.dtype == np.uint8
    if not fits:
        raise ValueError(
            f"image {number} must be an array (H, W, 3) of uint8; got {image.dtype} {image.shape}"
        )
