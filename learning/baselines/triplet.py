"""Triplet embedding: "A is more like B than like C", whoever says so."""

from __future__ import annotations

from typing import Self

import torch
from pytorch_metric_learning.distances import (  # type: ignore[import-untyped, unused-ignore]
    LpDistance,
)
from pytorch_metric_learning.losses import (  # type: ignore[import-untyped, unused-ignore]
    TripletMarginLoss,
)

from learning.base import Progress
from learning.baselines.common import (
    EmbeddingBaseline,
    GridBatches,
    check_training,
    random_triplets,
)
from learning.devices import pick_device
from learning.groupings import Groupings


class TripletEmbedding(EmbeddingBaseline):
    """Triplet margin embedding: A and B from one group, C from another (CEN section 4.2).

    Each same pair of a grid, anchored at either image, meets a random negative each epoch.

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

    def fit(self, groupings: Groupings, progress: Progress | None = None) -> Self:
        """Learn from all answers; raises ValueError for answers without a pair."""
        check_training(self)
        device, generator = pick_device(self.device), self._generator()
        data = GridBatches.of(groupings, device)
        start = torch.randn((groupings.n_images, self.n_dimensions), generator=generator)
        table = (0.1 * start).to(device).requires_grad_()
        adam = torch.optim.Adam([table], lr=self.learning_rate, fused=True)
        order = TripletMarginLoss(
            margin=self.margin, distance=LpDistance(normalize_embeddings=False)
        )
        for epoch in range(self.n_epochs):
            for rows in data.steps(self.grids_per_step, generator):
                images = data.images[rows]
                triplets = random_triplets(images, data.labels[rows], generator)
                if not len(triplets):
                    continue
                adam.zero_grad(set_to_none=True)
                order(table[images.reshape(-1)], indices_tuple=tuple(triplets.T)).backward()
                adam.step()
            if progress is not None:
                progress(epoch + 1, self.n_epochs, {})
        self.embedding_ = table.detach().cpu().double().numpy()
        self._calibrate(self.pair_distance(groupings), groupings.pair_labels())
        return self
