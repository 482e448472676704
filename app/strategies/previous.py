"""The model a campaign had before, to go on from."""

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
    """artifact_key: storage prefix of its files; notes: what its strategy left for later."""

    version: int
    n_answers: int
    notes: dict[str, Any]
    artifact_key: str

    def load(self, kind: type[Kind]) -> Kind | None:
        """The estimator; None when its files are gone or of another kind, for a campaign can
        always be learned from its answers alone."""
        try:
            with tempfile.TemporaryDirectory() as folder:
                for name in FILES:
                    data = get_object(f"{self.artifact_key}/model/{name}")
                    (Path(folder) / name).write_bytes(data)
                return kind.load(folder)
        except Exception:
            # Storage and formats have errors of their own: none of them is worth a failed job.
            logger.warning("cannot continue from model %d", self.version, exc_info=True)
            return None
