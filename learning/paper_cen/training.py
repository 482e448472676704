"""Training of the paper's network: eq. 8 with Adam."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from learning.answers import pair_index
from learning.base import Progress
from learning.groupings import Groupings
from learning.paper_cen.network import PaperNetwork

# Smaller than any distance at the start, so that the square root keeps their gradient.
_TINY = 1e-12


class TrainingSettings(Protocol):
    """The estimator's parameters that training reads."""

    gamma: float
    margin_same: float
    margin_different: float
    sparsity: float
    shrinkage: float
    n_epochs: int
    grids_per_step: int
    pairs_per_step: int | None
    learning_rate: float


@dataclass(frozen=True, eq=False)
class LabelledGrids:
    """images: (G, S), -1 pads; annotators: (G,); labels: (G, P) 1 same, 0 different, -1 none."""

    images: Tensor
    annotators: Tensor
    labels: Tensor

    @classmethod
    def of(cls, groupings: Groupings, device: torch.device) -> LabelledGrids:
        """The answers with an informative pair."""
        labels = groupings.pair_labels()
        informative = (labels >= 0).any(axis=1)
        return cls(
            torch.as_tensor(groupings.images[informative]).to(device),
            torch.as_tensor(groupings.annotators[informative]).to(device),
            torch.as_tensor(labels[informative]).to(device),
        )

    def __len__(self) -> int:
        return len(self.images)


def train(
    network: PaperNetwork,
    data: LabelledGrids,
    settings: TrainingSettings,
    generator: torch.Generator,
    progress: Progress | None = None,
) -> float:
    """Train in place; returns the mean loss of the last epoch.

    It uses Adam with betas 0.9 and 0.999 (supplement A). A step uses `pairs_per_step` pairs (the
    paper: 100) or whole grids, whose pairs share one activation: the same loss in a fraction of
    the time.
    """
    adam = torch.optim.Adam(network.parameters(), lr=settings.learning_rate, fused=True)
    loss_of_epoch = 0.0
    for epoch in range(settings.n_epochs):
        total, count = 0.0, 0
        for batch_loss in _batches(network, data, settings, generator):
            adam.zero_grad(set_to_none=True)
            loss = batch_loss()
            loss.backward()
            adam.step()
            total, count = total + float(loss.detach()), count + 1
        loss_of_epoch = total / count
        if progress is not None:
            progress(epoch + 1, settings.n_epochs, {"loss": loss_of_epoch})
    return loss_of_epoch


def _batches(
    network: PaperNetwork,
    data: LabelledGrids,
    settings: TrainingSettings,
    generator: torch.Generator,
) -> Iterator[Callable[[], Tensor]]:
    """The loss of every step of one epoch."""
    if settings.pairs_per_step is None:
        for rows in torch.split(_shuffled(len(data), generator), settings.grids_per_step):
            yield lambda rows=rows: grids_loss(network, data, rows, settings)  # type: ignore[misc]
        return
    # Pairs have flat numbers, because a pair of index tensors would take twice the memory.
    pairs = (data.labels.reshape(-1) >= 0).nonzero()[:, 0]
    order = _shuffled(len(pairs), generator).to(pairs.device)
    for rows in torch.split(pairs[order], settings.pairs_per_step):
        yield lambda rows=rows: pairs_loss(network, data, rows, settings)  # type: ignore[misc]


def grids_loss(
    network: PaperNetwork, data: LabelledGrids, rows: Tensor, settings: TrainingSettings
) -> Tensor:
    """Eq. 8, mean over all pairs of the grids `rows`."""
    rows = rows.to(data.images.device)
    images, labels = data.images[rows], data.labels[rows]
    points = network.embed(images)
    activation = network.grid_activation(images) + network.annotator_activation(
        data.annotators[rows]
    )
    first, second = pair_index(images.shape[1], images.device)
    weighted = activation.unsqueeze(1) * points
    squares = (weighted**2).sum(dim=2)
    # All pairs of a grid share a, so their distances are one product (eq. 5).
    products = torch.bmm(weighted, weighted.transpose(1, 2))
    apart = squares.unsqueeze(1) + squares.unsqueeze(2) - 2.0 * products
    distance = torch.sqrt(apart[:, first, second].clamp(min=_TINY))
    contrast = _contrast(distance, labels == 1, settings) * (labels >= 0)
    present = (images >= 0).unsqueeze(2)
    loss = contrast.sum() / (labels >= 0).sum()
    loss = loss + settings.sparsity * activation.sum(dim=1).mean()
    return loss + 2.0 * settings.shrinkage * (points**2 * present).sum() / present.sum()


def pairs_loss(
    network: PaperNetwork, data: LabelledGrids, flat: Tensor, settings: TrainingSettings
) -> Tensor:
    """Eq. 8, mean over the pairs with the given flat numbers grid * P + place."""
    width = data.labels.shape[1]
    grid, place = flat // width, flat % width
    first, second = pair_index(data.images.shape[1], flat.device)
    images = data.images[grid]
    activation = network.grid_activation(images) + network.annotator_activation(
        data.annotators[grid]
    )
    left = network.embed(data.images[grid, first[place]])
    right = network.embed(data.images[grid, second[place]])
    apart = ((activation * (left - right)) ** 2).sum(dim=1)
    distance = torch.sqrt(apart.clamp(min=_TINY))
    loss = _contrast(distance, data.labels[grid, place] == 1, settings).mean()
    loss = loss + settings.sparsity * activation.sum(dim=1).mean()
    return loss + settings.shrinkage * ((left**2).sum(dim=1) + (right**2).sum(dim=1)).mean()


def _contrast(distance: Tensor, same: Tensor, settings: TrainingSettings) -> Tensor:
    """Eq. 7. Eq. 8 prints its second d without a; here it is weighted, as in eqs. 6 and 7."""
    attract = settings.gamma * functional.relu(distance - settings.margin_same)
    return torch.where(same, attract, functional.relu(settings.margin_different - distance))


def _shuffled(n: int, generator: torch.Generator) -> Tensor:
    return torch.randperm(n, generator=generator)
