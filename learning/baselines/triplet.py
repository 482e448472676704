"""Triplet embedding: "A is more similar to B than to C", for all annotators."""

from __future__ import annotations

import torch
from pytorch_metric_learning.distances import (
    LpDistance,
)
from pytorch_metric_learning.losses import (
    TripletMarginLoss,
)
from torch import Tensor

from learning.answers import table_rows
from learning.base import Progress
from learning.baselines.common import EmbeddingBaseline, random_triplets, train_table
from learning.groupings import Groupings


class TripletEmbedding(EmbeddingBaseline):
    """Triplet margin embedding: A and B from one group, C from another (CEN section 4.2).

    Each same pair of a grid, with either image as the anchor, gets a random negative per epoch.

    Parameters: n_dimensions D; margin; n_epochs, grids_per_step, learning_rate of Adam;
    device "auto", "cpu" or "cuda"; random_state.
    Attributes: embedding_ (N, D); threshold_.
    """

    def __init__(
        self,
        n_dimensions: int = 4,
        margin: float = 0.2,
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
        order = TripletMarginLoss(
            margin=self.margin, distance=LpDistance(normalize_embeddings=False)
        )

        def loss(
            table: Tensor, images: Tensor, labels: Tensor, generator: torch.Generator
        ) -> Tensor | None:
            triplets = random_triplets(images, labels, generator)
            if not len(triplets):
                return None
            result: Tensor = order(
                table_rows(table, images.reshape(-1)), indices_tuple=tuple(triplets.T)
            )
            return result

        train_table(self, groupings, loss, progress)
