"""Similarity as the product of sparse, non-negative dimensions (Hebart et al. 2020, methods): what
studies with the odd one out of three usually fit. A baseline for `bench.odd_one_out`."""

from __future__ import annotations

import numpy as np
import torch

from learning.arrays import FloatArray, IntArray

N_DIMENSIONS, N_EPOCHS, BATCH, STEP = 42, 60, 1_024, 0.02
PENALTIES = (0.003, 0.01, 0.03, 0.1)
VALIDATION = 0.1


def fit(trios: IntArray, n_objects: int, random_state: int = 0) -> FloatArray:
    """(N, D) dimensions of N objects, from (n, 3) answers whose last image is the odd one.

    P(odd one is c) = softmax over the three pairs of the product of their dimensions. The L1
    penalty per object and the epoch are those that fit a tenth of the answers best.
    """
    order = np.random.default_rng(random_state).permutation(len(trios))
    n_validation = round(VALIDATION * len(trios))
    answers = torch.tensor(trios[order])
    validation, training = answers[:n_validation], answers[n_validation:]
    fits = [
        _descend(training, validation, n_objects, penalty, random_state) for penalty in PENALTIES
    ]
    best = min(fits, key=lambda fitted: fitted[0])
    return best[1].numpy().astype(np.float64)


def _descend(
    training: torch.Tensor,
    validation: torch.Tensor,
    n_objects: int,
    penalty: float,
    random_state: int,
) -> tuple[float, torch.Tensor]:
    generator = torch.Generator().manual_seed(random_state)
    weights = torch.rand((n_objects, N_DIMENSIONS), generator=generator).requires_grad_()
    optimizer = torch.optim.Adam([weights], STEP)
    best = (np.inf, weights.detach().clone())
    for _ in range(N_EPOCHS):
        for rows in torch.randperm(len(training), generator=generator).split(BATCH):
            optimizer.zero_grad()
            dimensions = weights.relu()
            shown = dimensions[training[rows]]
            loss = _surprise(dimensions, training[rows]) + penalty * shown.sum(2).mean()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            dimensions = weights.relu()
            surprise = float(_surprise(dimensions, validation))
        if surprise < best[0]:
            best = (surprise, dimensions.clone())
    return best


def _surprise(dimensions: torch.Tensor, trios: torch.Tensor) -> torch.Tensor:
    a, b, c = dimensions[trios].unbind(1)
    pairs = torch.stack([(a * b).sum(1), (a * c).sum(1), (b * c).sum(1)], dim=1)
    return -pairs.log_softmax(1)[:, 0].mean()
