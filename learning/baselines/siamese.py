"""Siamese embedding: one notion of similarity for all annotators."""

from __future__ import annotations

import torch
from pytorch_metric_learning.distances import (
    LpDistance,
)
from pytorch_metric_learning.losses import (
    ContrastiveLoss,
)
from torch import Tensor

from learning.answers import table_rows
from learning.base import Progress
from learning.baselines.common import EmbeddingBaseline, flat_pairs, train_table
from learning.groupings import Groupings


class SiameseEmbedding(EmbeddingBaseline):
    """Contrastive embedding (CEN eq. 2): same pairs close, different ones at least `margin` apart.

    Parameters: n_dimensions D; margin xi_n; n_epochs, grids_per_step, learning_rate of
    Adam; device "auto", "cpu" or "cuda"; random_state.
    Attributes: embedding_ (N, D); threshold_.
    """

    def __init__(
        self,
        n_dimensions: int = 4,
        margin: float = 1.0,
        n_epochs: int = 40,
        grids_per_step: int = 8,
        learning_rate: float = 1e-2,
        device: str = "auto",
        random_state: int | None = None,
    ) -> None:
        self.n_dimensions = n_dimensions
        self.margin = margin
        self.n_epochs = n_epochs
        self.grids_per_step = grids_per_step
        self.learning_rate = learning_rate
        self.device = device
        self.random_state = random_state

    def _learn(self, groupings: Groupings, progress: Progress | None) -> None:
        contrast = ContrastiveLoss(
            pos_margin=0.0,
            neg_margin=self.margin,
            distance=LpDistance(normalize_embeddings=False),
        )

        def loss(table: Tensor, images: Tensor, labels: Tensor, _: torch.Generator) -> Tensor:
            pairs = (*flat_pairs(images, labels, 1), *flat_pairs(images, labels, 0))
            result: Tensor = contrast(table_rows(table, images.reshape(-1)), indices_tuple=pairs)
            return result

        train_table(self, groupings, loss, progress)
