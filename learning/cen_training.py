"""Training of a Context Embedding Network: eq. 8 over whole grids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from learning.arrays import BoolArray, FloatArray
from learning.base import Progress
from learning.cen_network import CenNetwork, grid_spread
from learning.groupings import Groupings

_TINY = 1e-6


class TrainingSettings(Protocol):
    """The estimator's parameters that training reads."""

    gamma: float
    margin_same: float
    margin_different: float
    sparsity: float
    shrinkage: float
    n_epochs: int
    min_steps: int
    grids_per_step: int
    learning_rate: float


def train(
    network: CenNetwork,
    groupings: Groupings,
    labels: NDArray[np.int8],
    settings: TrainingSettings,
    generator: torch.Generator,
    progress: Progress | None = None,
) -> float:
    """Train in place; returns the mean loss per pair of the last epoch.

    labels: (G, P) of `Groupings.pair_labels`. Adam with betas 0.9 and 0.999 (supplement
    A), its rate decaying to zero along half a cosine.
    """
    device = network.image_table.device
    told = torch.as_tensor((labels >= 0).any(axis=1))
    images = torch.as_tensor(groupings.images.copy())[told].to(device)
    annotators = torch.as_tensor(groupings.annotators.copy())[told].to(device)
    pair_labels = torch.as_tensor(labels)[told].to(device)
    steps_per_epoch = -(-len(images) // settings.grids_per_step)
    n_epochs = max(settings.n_epochs, -(-settings.min_steps // steps_per_epoch))
    adam = torch.optim.Adam(network.parameters(), lr=settings.learning_rate, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, T_max=n_epochs * steps_per_epoch)
    loss_per_pair = 0.0
    for epoch in range(n_epochs):
        total = 0.0
        with torch.no_grad():
            coordinates = network.embedding()
        refresh_spread(network, coordinates, images)
        for rows in _shuffled_batches(len(images), settings.grids_per_step, generator):
            spread = grid_spread(coordinates, images[rows])
            loss = grid_loss(
                network, images[rows], annotators[rows], pair_labels[rows], spread, settings
            )
            adam.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
            adam.step()
            schedule.step()
            total += float(loss.detach()) * len(rows)
        loss_per_pair = total / len(images)
        if progress is not None:
            progress(epoch + 1, n_epochs, {"loss": loss_per_pair})
    with torch.no_grad():
        refresh_spread(network, network.embedding(), images)
    return loss_per_pair


def grid_loss(
    network: CenNetwork,
    images: Tensor,
    annotators: Tensor,
    labels: Tensor,
    spread: Tensor,
    settings: TrainingSettings,
) -> Tensor:
    """Mean over the pairs of these grids of eq. 8, its second d weighted like the first.

    images: (B, S); annotators: (B,); labels: (B, P); spread: (B, K)
    """
    points = network.embed(images)
    activation = network.grid_activation(images, spread)
    activation = activation + network.annotator_activation(annotators)
    first, second = torch.triu_indices(images.shape[1], images.shape[1], 1, device=images.device)
    weighted = activation.unsqueeze(1) * points
    squares = (weighted**2).sum(dim=2)
    # All pairs of a grid share a, so their distances are one product (eq. 5).
    products = torch.bmm(weighted, weighted.transpose(1, 2))
    apart = squares.unsqueeze(1) + squares.unsqueeze(2) - 2.0 * products
    distance = torch.sqrt(apart[:, first, second].clamp(min=_TINY))
    attract = settings.gamma * functional.relu(distance - settings.margin_same)
    repel = functional.relu(settings.margin_different - distance)
    contrast = attract * (labels == 1) + repel * (labels == 0)
    present = (images >= 0).unsqueeze(2)
    loss = contrast.sum() / (labels >= 0).sum()
    loss = loss + settings.sparsity * activation.sum(dim=1).mean()
    return loss + 2.0 * settings.shrinkage * (points**2 * present).sum() / present.sum()


def refresh_spread(network: CenNetwork, embedding: Tensor, images: Tensor) -> None:
    """Standardise the spread by its mean and deviation over the training grids."""
    spread = grid_spread(embedding, images)
    if len(spread) > 1:
        network.spread_mean.copy_(spread.mean(dim=0))
        network.spread_deviation.copy_(spread.std(dim=0).clamp(min=0.02))


def best_threshold(distance: FloatArray, same: BoolArray) -> float:
    """The distance that best parts same pairs (below) from different ones.

    distance, same: (P,). Section 4.5 uses (xi_n + xi_p) / 2, which only suits balanced
    labels; this one makes the fewest mistakes on the training pairs.
    """
    order = np.argsort(distance)
    ordered = distance[order]
    signs = np.where(same[order], 1, -1)
    gain = np.concatenate([[0], np.cumsum(signs)])
    # Between equal distances there is no threshold.
    cuts = np.concatenate([[True], ordered[1:] > ordered[:-1], [True]])
    best = int(np.flatnonzero(cuts)[np.argmax(gain[cuts])])
    if best == 0:
        return float(ordered[0])
    if best == len(ordered):
        return float(ordered[-1]) * 2.0 + 1.0
    return float(ordered[best - 1] + ordered[best]) / 2.0


def _shuffled_batches(n: int, size: int, generator: torch.Generator) -> Iterator[Tensor]:
    yield from torch.split(torch.randperm(n, generator=generator), size)
