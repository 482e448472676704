"""Arrays that a model's files contain, one file for each class of them."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save


@dataclass(frozen=True, eq=False)
class StoredArrays:
    """Inherited by dataclasses whose fields are arrays.

    contents: what they are, for messages.
    """

    contents: ClassVar[str]

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def _check(self) -> None:
        """Raise ValueError if the arrays don't belong together."""

    def to_bytes(self) -> bytes:
        return save(
            {
                column.name: np.ascontiguousarray(getattr(self, column.name))
                for column in fields(self)
            }
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what `to_bytes` wrote. Raises ValueError for anything else."""
        try:
            arrays: dict[str, Any] = load(data)
            stored = cls(**{column.name: arrays[column.name] for column in fields(cls)})
        except (SafetensorError, KeyError) as error:
            raise ValueError(f"not a file of {cls.contents}: {error}") from error
        stored._check()
        return stored

    def _check_columns(
        self,
        shape: tuple[int, ...],
        kinds: Mapping[str, str],
        shapes: Mapping[str, tuple[int, ...]] | None = None,
    ) -> None:
        """Raise ValueError for a column of another shape than `shape`, or than its own in `shapes`,
        or of another kind of number than its own in `kinds`; the others are floating-point."""
        for column in fields(self):
            name = column.name
            array = getattr(self, name)
            expected = (shapes or {}).get(name, shape)
            if array.shape != expected or array.dtype.kind != kinds.get(name, "f"):
                raise ValueError(f"{name} is {array.dtype} of shape {array.shape}")
