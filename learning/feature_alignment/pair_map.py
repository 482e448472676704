"""A map from inputs to a space in which distances explain which images are put together.

    z_i = inputs_i V (+ tanh(inputs_i A + a) U with a hidden layer)
    log odds of a pair = bias + coarseness of the annotator - (1 - share) (|z_i|^2 + |z_j|^2)
                         + 2 z_i . z_j

With a share of 0 this is a squared distance, with 1 an inner product, as in `learning.pooled`. An
image that an annotator puts anywhere (a slip) would contradict all its pairs at once, so an
image's pairs are explained together: either by these odds or by chance. The penalty, half the
sum of squares of V, is the nuclear norm of the metric V V' (Srebro et al. 2004, "Maximum-margin
matrix factorization"), so that its rank stays low.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from learning.arrays import FloatArray
from learning.base import Arrays
from learning.groupings import Groupings
from learning.latent.pair_model import minimise

_TINY = 1e-9
_SLIP, _SLIP_DEVIATION = -2.5, 0.5
# Pairs that the map learns from; of more answers, a random part is used.
_MAX_PAIRS = 1_000_000
# Rounds in which columns of little use get a larger penalty (sparse maps).
_SPARSE_ROUNDS = 2
_SPARSE_FLOOR = 0.02
_MATRICES = ("linear", "hidden", "hidden_bias", "output")


@dataclass(frozen=True)
class MapSettings:
    """rank: columns of the map; penalty: of its squares, in units of one image; sparse: whether
    columns that matter little are penalised more; hidden: units of a hidden layer, 0 for none."""

    rank: int = 12
    penalty: float = 1.0
    sparse: bool = False
    hidden: int = 0


@dataclass(frozen=True, eq=False)
class Squares:
    """Answers as one matrix per grid.

    images: (G, S), padding reads image 0; sign: (G, S, S) 1 together, -1 apart, 0 no pair;
    weight: (G,) of an image of the grid; annotators: (G,); n_annotators: W
    """

    images: Tensor
    sign: Tensor
    weight: Tensor
    annotators: Tensor
    n_annotators: int

    @classmethod
    def of(cls, answers: Groupings, seed: int) -> Squares:
        """The answers that contain a pair, or a random part of very many."""
        labels = _some(answers.subset(answers.informative_grids()), seed)
        width = labels.grid_size
        first, second = np.triu_indices(width, 1)
        pairs = labels.pair_labels()
        sign = np.zeros((len(labels), width, width), np.float32)
        sign[:, first, second] = np.where(pairs < 0, 0, 2 * pairs.astype(np.int8) - 1)
        sign += sign.transpose(0, 2, 1)
        shown = (labels.images >= 0).sum(axis=1)
        # The pairs of a grid count as much as its images; every pair is in two images' sums.
        weight = 1.0 / np.maximum(shown - 1, 1)
        return cls(
            torch.as_tensor(np.maximum(labels.images, 0)),
            torch.as_tensor(sign),
            torch.as_tensor(weight.astype(np.float32)),
            torch.as_tensor(labels.annotators.copy()),
            labels.n_annotators,
        )

    def rate(self) -> float:
        """Weighted share of pairs that are together, away from 0 and 1."""
        weight = self.weight[:, None, None]
        together = float(((self.sign > 0) * weight).sum())
        total = float(((self.sign != 0) * weight).sum())
        return (together + 1.0) / (total + 2.0)


@dataclass(frozen=True, eq=False)
class PairMap:
    """linear: (R, d); hidden: (R, H); hidden_bias: (H,); output: (H, d); bias, share, slip: ();
    coarseness: (W,)."""

    linear: Tensor
    hidden: Tensor
    hidden_bias: Tensor
    output: Tensor
    bias: Tensor
    share: Tensor
    slip: Tensor
    coarseness: Tensor

    @classmethod
    def zero(cls, linear: Tensor) -> PairMap:
        """The map with these zeros (R, d)."""
        none = linear.new_zeros(())
        return cls(
            linear,
            linear[:, :0],
            linear[0, :0],
            linear[:0],
            none,
            none,
            none,
            linear.new_zeros(0),
        )

    @classmethod
    def of(cls, arrays: Arrays) -> PairMap:
        """The map for a typical annotator that `arrays` returned."""
        linear, hidden, hidden_bias, output = (
            torch.as_tensor(np.array(arrays[name], np.float32)) for name in _MATRICES
        )
        bias, share, slip = torch.as_tensor(np.array(arrays["pair_model"], np.float32))
        return cls(linear, hidden, hidden_bias, output, bias, share, slip, torch.zeros(0))

    def arrays(self) -> Arrays:
        """All parts but the annotators'."""
        pair_model = np.array([float(self.bias), float(self.share), float(self.slip)])
        return {name: getattr(self, name).numpy() for name in _MATRICES} | {
            "pair_model": pair_model.astype(np.float32)
        }

    def places(self, inputs: Tensor) -> Tensor:
        """(n, d) of inputs (n, R)."""
        places = inputs @ self.linear
        if self.hidden.shape[1]:
            places = places + torch.tanh(inputs @ self.hidden + self.hidden_bias) @ self.output
        return places

    def log_odds(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """(P,) of pairs of places (P, d), for a typical annotator."""
        keep = 1.0 - float(torch.sigmoid(self.share))
        squares = (first**2).sum(axis=1) + (second**2).sum(axis=1)
        odds = float(self.bias) - keep * squares + 2.0 * (first * second).sum(axis=1)
        return np.asarray(odds, np.float64)


def empty_map(squares: Squares, inputs: Tensor, rank: int) -> PairMap:
    """A map along the directions in which images that are put together agree most.

    They are the eigenvectors of the gradient of the likelihood at a metric of zero.
    """
    rank = min(rank, inputs.shape[1])
    rate = squares.rate()
    values, axes = torch.linalg.eigh(_gradient(squares, inputs, rate))
    values, axes = values.flip(0)[:rank], axes.flip(1)[:, :rank]
    linear = axes * (values.clamp(min=0) / values[0].clamp(min=_TINY) + _TINY).sqrt()
    spread = ((inputs @ linear) ** 2).sum(dim=1).mean().sqrt()
    none = inputs.new_zeros((inputs.shape[1], 0))
    return PairMap(
        (linear / spread.clamp(min=_TINY)).contiguous(),
        none,
        inputs.new_zeros(0),
        inputs.new_zeros((0, rank)),
        inputs.new_tensor(np.log(rate / (1 - rate)) + 1.0),
        inputs.new_zeros(()),
        inputs.new_tensor(_SLIP),
        inputs.new_zeros(squares.n_annotators),
    )


def _gradient(squares: Squares, inputs: Tensor, rate: float) -> Tensor:
    """(R, R) sum over pairs of (together - rate) inputs_i inputs_j'."""
    total = inputs.new_zeros((inputs.shape[1], inputs.shape[1]))
    for start in range(0, len(squares.images), 256):
        rows = slice(start, start + 256)
        sign = squares.sign[rows]
        surprise = ((sign > 0).float() - rate) * (sign != 0) * squares.weight[rows, None, None]
        shown = functional.embedding(squares.images[rows], inputs)
        total = total + shown.flatten(0, 1).T @ torch.bmm(surprise, shown).flatten(0, 1)
    return (total + total.T) / 2


def narrowed(model: PairMap, rank: int) -> PairMap:
    """The map with only its `rank` strongest directions (of a linear map)."""
    left, size, _ = torch.linalg.svd(model.linear, full_matrices=False)
    kept = min(rank, len(size))
    linear = (left[:, :kept] * size[:kept]).contiguous()
    return replace(model, linear=linear, output=model.output[:, :kept])


def widened(model: PairMap, n_hidden: int, seed: int) -> PairMap:
    """The map with a hidden layer that changes it little at first."""
    generator = torch.Generator().manual_seed(seed)
    n_inputs, rank = model.linear.shape
    # Inputs have a length of about 1, so the units' values have a deviation of about 1.
    hidden = torch.randn((n_inputs, n_hidden), generator=generator)
    output = 0.05 * torch.randn((n_hidden, rank), generator=generator)
    return replace(model, hidden=hidden, hidden_bias=torch.zeros(n_hidden), output=output)


def fit_map(
    model: PairMap, squares: Squares, inputs: Tensor, settings: MapSettings, n_iterations: int
) -> PairMap:
    """The most probable map, starting at `model`."""
    relevance = inputs.new_ones(inputs.shape[1])
    rounds = _SPARSE_ROUNDS if settings.sparse else 0
    if not rounds:
        return _minimised(model, squares, inputs, settings, relevance, n_iterations)
    for _ in range(rounds):
        energy = (model.linear**2).mean(dim=1)
        relevance = 1.0 / (energy / energy.mean().clamp(min=_TINY) + _SPARSE_FLOOR)
        # The penalty of the whole map stays as strong as before.
        relevance = relevance * float(energy.sum() / (relevance * energy).sum().clamp(min=_TINY))
        model = _minimised(model, squares, inputs, settings, relevance, n_iterations)
    return model


def _minimised(
    model: PairMap,
    squares: Squares,
    inputs: Tensor,
    settings: MapSettings,
    relevance: Tensor,
    n_iterations: int,
) -> PairMap:
    names = ["linear", "bias", "share", "slip", "coarseness"]
    if model.hidden.shape[1]:
        names += ["hidden", "hidden_bias", "output"]
    free = {name: getattr(model, name).clone().contiguous().requires_grad_() for name in names}
    rate = squares.rate()

    def loss() -> Tensor:
        current = replace(model, **free)
        total = _penalty(current, settings.penalty, relevance)
        total = total - _log_likelihood(current, squares, current.places(inputs), rate)
        total.backward()
        return total.detach()

    minimise(list(free.values()), loss, n_iterations)
    return replace(model, **{name: tensor.detach() for name, tensor in free.items()})


def _log_likelihood(model: PairMap, squares: Squares, places: Tensor, rate: float) -> Tensor:
    """() of all images' pairs: each image's by the map or, after a slip, by chance."""
    shown = functional.embedding(squares.images, places)
    lengths = (1 - torch.sigmoid(model.share)) * (shown**2).sum(dim=2)
    odds = 2 * torch.bmm(shown, shown.transpose(1, 2))
    odds = odds - lengths.unsqueeze(1) - lengths.unsqueeze(2)
    odds = odds + (model.bias + model.coarseness[squares.annotators])[:, None, None]
    sign = squares.sign
    by_map = (functional.logsigmoid(sign * odds) * (sign != 0)).sum(dim=2)
    by_chance = (sign > 0).sum(dim=2) * np.log(rate) + (sign < 0).sum(dim=2) * np.log(1 - rate)
    both = torch.logaddexp(
        functional.logsigmoid(-model.slip) + by_map, functional.logsigmoid(model.slip) + by_chance
    )
    return (both * squares.weight.unsqueeze(1)).sum()


def _penalty(model: PairMap, penalty: float, relevance: Tensor) -> Tensor:
    total = 0.5 * penalty * (relevance.unsqueeze(1) * model.linear**2).sum()
    total = total + 0.5 * ((model.slip - _SLIP) / _SLIP_DEVIATION) ** 2
    total = total + 0.5 * (model.coarseness**2).sum()
    total = total + 0.05 * model.bias**2 + 0.5 * (model.share / 3.0) ** 2
    if model.hidden.shape[1]:
        n_hidden = model.hidden.shape[1]
        total = total + 0.5 * penalty * (model.output**2).sum()
        total = total + 0.5 * penalty * (model.hidden**2).sum() / n_hidden
    return total


def _some(answers: Groupings, seed: int) -> Groupings:
    width = answers.grid_size
    most = max(1, _MAX_PAIRS // max(1, width * (width - 1) // 2))
    if len(answers) <= most:
        return answers
    return answers.subset(np.sort(np.random.default_rng(seed).permutation(len(answers))[:most]))
