"""Triplet methods for comparison: SOE, t-STE, and actively chosen triplets.

Their losses are a few lines each; the library that has them (cblearn) cannot be installed
with the numpy version that everything else here needs.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from learning.arrays import FloatArray, IntArray

_EPOCHS, _BATCH = 60, 2_048
_ROUNDS, _CANDIDATES = 6, 40


def true_triplets(features: FloatArray, n: int, rng: np.random.Generator) -> IntArray:
    """(n, 3) anchors with a nearer and a farther image, drawn at random."""
    drawn = rng.integers(0, len(features), (2 * n, 3))
    drawn = drawn[(drawn[:, 0] != drawn[:, 1]) & (drawn[:, 0] != drawn[:, 2])]
    return ordered(features, drawn[drawn[:, 1] != drawn[:, 2]][:n])


def ordered(features: FloatArray, triplets: IntArray) -> IntArray:
    """The same triplets with the image nearer to the anchor before the other."""
    anchor, second, third = features[triplets.T]
    swap = ((anchor - second) ** 2).sum(axis=1) > ((anchor - third) ** 2).sum(axis=1)
    answered = triplets.copy()
    answered[swap] = triplets[swap][:, [0, 2, 1]]
    return answered


def embed(triplets: IntArray, n: int, d: int, method: str, seed: int) -> FloatArray:
    """(n, d) by "soe" (Terada & von Luxburg 2014) or "t-ste" (van der Maaten & Weinberger
    2012), Adam on minibatches from a random start."""
    generator = torch.Generator().manual_seed(seed)
    places = (0.3 * torch.randn((n, d), generator=generator)).requires_grad_()
    loss_of = {"soe": _soe, "t-ste": _t_ste}[method]
    answered = torch.as_tensor(triplets)
    n_steps = _EPOCHS * -(-len(answered) // _BATCH)
    adam = torch.optim.Adam([places], lr=0.1)
    schedule = torch.optim.lr_scheduler.LinearLR(adam, 1.0, 0.01, n_steps)
    for _ in range(_EPOCHS):
        for rows in torch.split(torch.randperm(len(answered), generator=generator), _BATCH):
            adam.zero_grad()
            loss = loss_of(functional.embedding(answered[rows], places))
            loss.backward()
            adam.step()
            schedule.step()
    return places.detach().double().numpy()


def _soe(seen: Tensor) -> Tensor:
    near, far = ((seen[:, :1] - seen[:, 1:]) ** 2).sum(dim=2).clamp(min=1e-9).sqrt().T
    return (functional.relu(near - far + 0.1) ** 2).mean()


def _t_ste(seen: Tensor) -> Tensor:
    freedom = max(1, seen.shape[2] - 1)
    gaps = ((seen[:, :1] - seen[:, 1:]) ** 2).sum(dim=2)
    kernel = -(freedom + 1) / 2 * torch.log1p(gaps / freedom)
    return -torch.log_softmax(kernel, dim=1)[:, 0].mean()


def active(features: FloatArray, n: int, d: int, seed: int) -> FloatArray:
    """(N, d) by SOE on uncertain triplets: images near the anchor and about equally far.

    A sixth of the n triplets is random, the rest comes in rounds from the embedding so far.
    """
    rng = np.random.default_rng(seed)
    triplets = true_triplets(features, n // _ROUNDS, rng)
    places = embed(triplets, len(features), d, "soe", seed)
    for _ in range(_ROUNDS - 1):
        chosen = _doubtful(places, n // _ROUNDS, rng)
        triplets = np.concatenate([triplets, ordered(features, chosen)])
        places = embed(triplets, len(features), d, "soe", seed)
    return places


def _doubtful(places: FloatArray, n: int, rng: np.random.Generator) -> IntArray:
    anchors = rng.integers(0, len(places), n)
    gaps = np.linalg.norm(places[anchors][:, None] - places, axis=2)
    gaps[np.arange(n), anchors] = np.inf
    near = np.argsort(gaps, axis=1)[:, :_CANDIDATES]
    first = rng.integers(0, _CANDIDATES - 1, n)
    rows = np.arange(n)
    return np.stack([anchors, near[rows, first], near[rows, first + 1]], axis=1)
