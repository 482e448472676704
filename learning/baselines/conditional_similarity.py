"""Conditional similarity network: the attribute of every answer is known."""

from __future__ import annotations

from typing import Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import clone
from torch import Tensor
from torch.nn import functional

from learning.answers import table_rows
from learning.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    as_index_array,
    check_index_range,
)
from learning.base import Arrays, Progress, State
from learning.baselines.common import (
    EmbeddingBaseline,
    GridBatches,
    check_informative,
    distances,
    random_triplets,
)
from learning.baselines.thresholds import held_out_pairs, two_fits
from learning.devices import cores_for, pick_device
from learning.groupings import Groupings


class ConditionalSimilarity(EmbeddingBaseline):
    """CSN (Veit, Belongie and Karaletsos, 2017): one embedding, and a learned mask per attribute.

    The distance of two images in an answer about attribute k is ||m_k * (x_i - x_j)||, with masks
    m = ReLU(table) that start at N(0.9, 0.7). The triplet margin loss has small penalties on
    the embedding's norm and the masks' L1. Each image has a row of a table, where the
    original has a ResNet.

    Parameters: n_dimensions D, shared by all attributes; margin; embed_penalty,
    mask_penalty; n_epochs, grids_per_step, learning_rate of Adam; device; random_state.
    Attributes: embedding_ (N, D); masks_ (A, D) >= 0; threshold_; thresholds_ (A,).
    """

    masks_: FloatArray
    thresholds_: FloatArray

    def __init__(
        self,
        n_dimensions: int = 16,
        margin: float = 0.2,
        embed_penalty: float = 5e-3,
        mask_penalty: float = 5e-4,
        n_epochs: int = 40,
        grids_per_step: int = 8,
        learning_rate: float = 1e-2,
        device: str = "auto",
        random_state: int | None = None,
    ) -> None:
        self.n_dimensions = n_dimensions
        self.margin = margin
        self.embed_penalty = embed_penalty
        self.mask_penalty = mask_penalty
        self.n_epochs = n_epochs
        self.grids_per_step = grids_per_step
        self.learning_rate = learning_rate
        self.device = device
        self.random_state = random_state

    def fit(  # type: ignore[override]
        self, groupings: Groupings, attributes: ArrayLike, progress: Progress | None = None
    ) -> Self:
        """Learn from the answers whose attribute is known.

        attributes: (G,) index of the attribute of each answer, -1 unknown (not learned
        from). Raises ValueError if none is known.
        """
        self._check_parameters()
        about = self._attributes(groupings, attributes)
        known = np.flatnonzero(about >= 0)
        asked, about = groupings.subset(known), about[known]
        check_informative(asked)
        n_attributes = int(about.max()) + 1
        first, second = two_fits(asked, progress)
        self._learn_masks(asked, about, n_attributes, first)

        def distance_of_fit(
            fitted: IntArray, unseen: IntArray, progress: Progress | None
        ) -> FloatArray:
            probe: ConditionalSimilarity = clone(self)
            probe._learn_masks(asked.subset(fitted), about[fitted], n_attributes, progress)
            return probe.pair_distance(asked.subset(unseen), about[unseen])

        pairs = held_out_pairs(
            asked,
            self.random_state,
            distance_of_fit,
            lambda: self.pair_distance(asked, about),
            second,
        )
        self.threshold_ = pairs.threshold()
        own = [pairs.of_answers(about[pairs.rows] == k) for k in range(n_attributes)]
        self.thresholds_ = np.array([p.threshold() if p else self.threshold_ for p in own])
        return self

    def _learn_masks(
        self, groupings: Groupings, about: IntArray, n_attributes: int, progress: Progress | None
    ) -> None:
        device, generator = pick_device(self.device), self._generator()
        data = GridBatches.of(groupings, device)
        attribute = torch.as_tensor(about[data.rows]).to(device)
        start = torch.randn((groupings.n_images, self.n_dimensions), generator=generator)
        table = (0.1 * start).to(device).requires_grad_()
        masks = 0.9 + 0.7 * torch.randn((n_attributes, self.n_dimensions), generator=generator)
        masks = masks.to(device).requires_grad_()
        adam = torch.optim.Adam([table, masks], lr=self.learning_rate, fused=True)
        with cores_for(len(groupings)):
            for epoch in range(self.n_epochs):
                for rows in data.steps(self.grids_per_step, generator):
                    images = data.images[rows]
                    triplets = random_triplets(images, data.labels[rows], generator)
                    if not len(triplets):
                        continue
                    adam.zero_grad(set_to_none=True)
                    self._loss(table, masks, images, attribute[rows], triplets).backward()
                    adam.step()
                if progress is not None:
                    progress(epoch + 1, self.n_epochs, {})
        self.embedding_ = table.detach().cpu().double().numpy()
        self.masks_ = functional.relu(masks).detach().cpu().double().numpy()

    def pair_distance(  # type: ignore[override]
        self, groupings: Groupings, attributes: ArrayLike
    ) -> FloatArray:
        """(G, P) ||m_k * (x_i - x_j)||, NaN for an uninformative pair.

        attributes: (G,) of each answer; -1, unknown, uses the mean of the masks.
        """
        self._check_fitted()
        check_index_range("images", groupings.images, -1, len(self.embedding_))
        about = self._attributes(groupings, attributes, len(self.masks_))
        # Index -1 is the last row.
        masks = np.concatenate([self.masks_, self.masks_.mean(axis=0, keepdims=True)])
        return distances(
            groupings,
            lambda rows: self.embedding_[groupings.images[rows]] * masks[about[rows]][:, None],
        )

    def predict_same(  # type: ignore[override]
        self, groupings: Groupings, attributes: ArrayLike
    ) -> BoolArray:
        """(G, P) predictions by each attribute's own threshold; False if there is no pair."""
        distance = self.pair_distance(groupings, attributes)
        about = self._attributes(groupings, attributes, len(self.masks_))
        threshold = np.append(self.thresholds_, self.threshold_)[about]
        return np.asarray(np.nan_to_num(distance, nan=np.inf) < threshold[:, None])

    def _loss(
        self, table: Tensor, masks: Tensor, images: Tensor, about: Tensor, triplets: Tensor
    ) -> Tensor:
        flat = images.reshape(-1)
        mask = table_rows(functional.relu(masks), about[triplets[:, 0] // images.shape[1]])
        anchor, positive, negative = (
            table_rows(table, flat[column]) * mask for column in triplets.T
        )
        loss = functional.triplet_margin_loss(anchor, positive, negative, margin=self.margin)
        norm = table_rows(table, flat).norm() / len(flat) ** 0.5
        penalty: Tensor = self.embed_penalty * norm + self.mask_penalty * mask.abs().mean()
        return loss + penalty

    def _attributes(
        self, groupings: Groupings, attributes: ArrayLike, n: int | None = None
    ) -> IntArray:
        about = as_index_array("attributes", attributes, 1)
        if len(about) != len(groupings):
            raise ValueError(f"{len(about)} attributes for {len(groupings)} answers")
        check_index_range("attributes", about, -1, n if n is not None else len(about) + 1)
        if n is None and not (about >= 0).any():
            raise ValueError("attributes are all -1: no answer has a known attribute")
        return about

    def _learned(self) -> tuple[Arrays, State]:
        arrays, state = super()._learned()
        return arrays | {"masks": self.masks_, "thresholds": self.thresholds_}, state

    def _restore(self, arrays: Arrays, state: State) -> None:
        super()._restore(arrays, state)
        self.masks_, self.thresholds_ = arrays["masks"], arrays["thresholds"]
