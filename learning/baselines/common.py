"""The base of the baselines, which have one distance per pair of images for all annotators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from sklearn.base import clone
from torch import Tensor

from learning.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    check_count,
    check_index_range,
    check_positive,
)
from learning.base import Arrays, Estimator, Progress, State
from learning.baselines.thresholds import held_out_pairs, two_fits
from learning.devices import cores_for, pick_device
from learning.groupings import Groupings


class EmbeddingBaseline(Estimator):
    """embedding_: (N, D); threshold_: distance below which a pair is predicted the same."""

    n_dimensions: int
    n_epochs: int
    grids_per_step: int
    learning_rate: float
    device: str
    random_state: int | None
    embedding_: FloatArray
    threshold_: float

    def fit(self, groupings: Groupings, progress: Progress | None = None) -> Self:
        """Learn from all answers.

        The threshold is chosen on 20 % of the grids, which one more fit does not see; both
        together take 1.8 times as long as one. With fewer than ten answers, the training pairs
        choose it. `progress` receives (steps done, steps, metrics). Raises ValueError for an
        invalid parameter or answers without an informative pair.
        """
        self._check_parameters()
        check_informative(groupings)
        first, second = two_fits(groupings, progress)
        self._learn(groupings, first)

        def distance_of_fit(
            fitted: IntArray, unseen: IntArray, progress: Progress | None
        ) -> FloatArray:
            probe: EmbeddingBaseline = clone(self)
            probe._learn(groupings.subset(fitted), progress)
            return probe.pair_distance(groupings.subset(unseen))

        pairs = held_out_pairs(
            groupings,
            self.random_state,
            distance_of_fit,
            lambda: self.pair_distance(groupings),
            second,
        )
        self.threshold_ = pairs.threshold()
        return self

    def _check_parameters(self) -> None:
        check_training(self)

    def _learn(self, groupings: Groupings, progress: Progress | None) -> None:
        """Everything but the threshold."""
        raise NotImplementedError

    def pair_distance(self, groupings: Groupings) -> FloatArray:
        """(G, S(S-1)/2) ||x_i - x_j||, NaN for an uninformative pair.

        Raises NotFittedError before fit, ValueError for an unknown image.
        """
        self._check_fitted()
        check_index_range("images", groupings.images, -1, len(self.embedding_))
        return distances(groupings, lambda rows: self.embedding_[groupings.images[rows]])

    def predict_same(self, groupings: Groupings) -> BoolArray:
        """(G, S(S-1)/2) whether two images are grouped together; False if there is no pair."""
        distance = self.pair_distance(groupings)
        return np.asarray(np.nan_to_num(distance, nan=np.inf) < self.threshold_)

    def _generator(self) -> torch.Generator:
        generator = torch.Generator()
        if self.random_state is None:
            generator.seed()
        else:
            generator.manual_seed(self.random_state)
        return generator

    def _learned(self) -> tuple[Arrays, State]:
        return {"embedding": self.embedding_}, {"threshold": self.threshold_}

    def _restore(self, arrays: Arrays, state: State) -> None:
        self.embedding_ = arrays["embedding"]
        self.threshold_ = float(state["threshold"])


def distances(groupings: Groupings, places: Callable[[slice], FloatArray]) -> FloatArray:
    """(G, P) Euclidean distances of the images of grids at `places(rows) -> (B, S, D)`."""
    first, second = np.triu_indices(groupings.grid_size, 1)
    result = np.full((len(groupings), len(first)), np.nan)
    for rows, labels in groupings.label_blocks():
        # Padding (-1) reads the last image; its pairs are never informative.
        points = places(rows)
        apart = np.linalg.norm(points[:, first] - points[:, second], axis=2)
        result[rows] = np.where(labels >= 0, apart, np.nan)
    return result


@dataclass(frozen=True)
class GridBatches:
    """Training answers, with some whole grids per step. images: (G, S); labels: (G, P)."""

    images: Tensor
    labels: Tensor
    rows: IntArray

    @classmethod
    def of(cls, groupings: Groupings, device: torch.device) -> GridBatches:
        """The informative answers; raises ValueError if there are none."""
        check_informative(groupings)
        rows = np.flatnonzero(groupings.informative_grids())
        informative = groupings.subset(rows)
        return cls(
            torch.as_tensor(informative.images.copy()).to(device),
            torch.as_tensor(informative.pair_labels()).to(device),
            rows,
        )

    def steps(self, grids_per_step: int, generator: torch.Generator) -> Iterator[Tensor]:
        """Rows of each step of one epoch."""
        order = torch.randperm(len(self.images), generator=generator)
        yield from torch.split(order.to(self.images.device), grids_per_step)


StepLoss = Callable[[Tensor, Tensor, Tensor, torch.Generator], Tensor | None]


def train_table(
    model: EmbeddingBaseline, groupings: Groupings, loss: StepLoss, progress: Progress | None
) -> None:
    """Set `model`'s embedding to the table that Adam finds for `loss`.

    loss(table (N, D), images (B, S), labels (B, P), generator) of the grids of one step;
    None when they have no pair for it.
    """
    device, generator = pick_device(model.device), model._generator()
    data = GridBatches.of(groupings, device)
    start = torch.randn((groupings.n_images, model.n_dimensions), generator=generator)
    table = (0.1 * start).to(device).requires_grad_()
    adam = torch.optim.Adam([table], lr=model.learning_rate, fused=True)
    with cores_for(len(groupings)):
        for epoch in range(model.n_epochs):
            for rows in data.steps(model.grids_per_step, generator):
                adam.zero_grad(set_to_none=True)
                batch_loss = loss(table, data.images[rows], data.labels[rows], generator)
                if batch_loss is not None:
                    batch_loss.backward()
                    adam.step()
            if progress is not None:
                progress(epoch + 1, model.n_epochs, {})
    model.embedding_ = table.detach().cpu().double().numpy()


def flat_pairs(images: Tensor, labels: Tensor, wanted: int) -> tuple[Tensor, Tensor]:
    """Indices into images.reshape(-1) of the pairs (B, S), (B, P) with one label."""
    width = images.shape[1]
    first, second = torch.triu_indices(width, width, 1, device=images.device)
    grid, place = (labels == wanted).nonzero(as_tuple=True)
    return grid * width + first[place], grid * width + second[place]


def random_triplets(images: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
    """(T, 3) indices into images.reshape(-1): each same pair, with either image as the anchor,
    and a random image of the same grid in another group than the anchor."""
    width = images.shape[1]
    first, second = torch.triu_indices(width, width, 1, device=images.device)
    apart = images.new_zeros((len(images), width, width), dtype=torch.bool)
    apart[:, first, second] = labels == 0
    apart |= apart.transpose(1, 2).clone()
    left, right = flat_pairs(images, labels, 1)
    anchor, positive = torch.cat([left, right]), torch.cat([right, left])
    candidates = apart.reshape(-1, width)[anchor]
    usable = candidates.any(dim=1)
    anchor, positive, candidates = anchor[usable], positive[usable], candidates[usable]
    if not len(anchor):
        return anchor.new_empty((0, 3))
    chance = torch.rand(candidates.shape, generator=generator).to(images.device)
    negative = (chance * candidates).argmax(dim=1) + anchor // width * width
    return torch.stack([anchor, positive, negative], dim=1)


def check_training(model: object) -> None:
    """Raise ValueError for an invalid training parameter."""
    for name in ("n_dimensions", "n_epochs", "grids_per_step"):
        check_count(name, getattr(model, name))
    for name in ("margin", "learning_rate"):
        check_positive(name, getattr(model, name))


def check_informative(groupings: Groupings) -> None:
    """Raise ValueError for answers without an informative pair."""
    if not groupings.informative_grids().any():
        raise ValueError(f"the {len(groupings)} answers contain no informative pair")
