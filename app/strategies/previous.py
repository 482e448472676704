"""A campaign's previous model, from which a training can continue."""

import logging
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from app.core.storage import get_object

if TYPE_CHECKING:
    from learning.base import Estimator

logger = logging.getLogger(__name__)
Kind = TypeVar("Kind", bound="Estimator")
FILES = ("arrays.safetensors", "model.json")


@dataclass(frozen=True)
class PreviousModel:
    """The previous model. `artifact_key` is the storage prefix of its files, and `notes` are what
    its strategy stored for later."""

    version: int
    n_answers: int
    notes: dict[str, Any]
    artifact_key: str

    def load(self, kind: type[Kind]) -> Kind | None:
        """Return the estimator, or None if its files are missing or of another kind, because a
        model can always be trained from the answers alone."""
        try:
            with tempfile.TemporaryDirectory() as folder:
                for name in FILES:
                    data = get_object(f"{self.artifact_key}/model/{name}")
                    (Path(folder) / name).write_bytes(data)
                return kind.load(folder)
        except Exception:
            # Storage and file formats raise errors of their own, and none of them should make the
            # job fail.
            logger.warning("cannot continue from model %d", self.version, exc_info=True)
            return None
