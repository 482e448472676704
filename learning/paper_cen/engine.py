"""A trained paper network, asked about grids."""

from __future__ import annotations

from typing import Self

import numpy as np
import torch

from learning.arrays import FloatArray, IntArray
from learning.base import Arrays, Progress
from learning.groupings import Groupings
from learning.paper_cen.network import PaperNetwork, Sizes
from learning.paper_cen.training import LabelledGrids, TrainingSettings, train

_BLOCK = 4_096


class PaperEngine:
    """embedding: (N, K); annotator_activation: (W, K); context: tables of the context encoder."""

    def __init__(
        self, embedding: FloatArray, annotator_activation: FloatArray, network: PaperNetwork
    ) -> None:
        self.embedding = embedding
        self.annotator_activation = annotator_activation
        self._network = network
        self.loss = float("nan")

    @classmethod
    def fit(
        cls,
        groupings: Groupings,
        sizes: Sizes,
        settings: TrainingSettings,
        generator: torch.Generator,
        device: torch.device,
        progress: Progress | None,
    ) -> Self:
        """Train on all answers that hold an informative pair."""
        labels = groupings.pair_labels()
        told = (labels >= 0).any(axis=1)
        data = LabelledGrids(
            torch.as_tensor(groupings.images[told]).to(device),
            torch.as_tensor(groupings.annotators[told]).to(device),
            torch.as_tensor(labels[told]).to(device),
        )
        network = PaperNetwork(sizes, generator).to(device)
        loss = train(network, data, settings, generator, progress)
        network = network.cpu().eval()
        with torch.no_grad():
            embedding = network.embedding().double().numpy()
            everyone = torch.arange(sizes.n_annotators)
            annotators = network.annotator_activation(everyone).double().numpy()
        _fill_unseen(embedding, groupings.images[groupings.images >= 0])
        _fill_unseen(annotators, groupings.annotators)
        engine = cls(embedding, annotators, network)
        engine.loss = loss
        return engine

    def grid_activation(self, images: IntArray) -> FloatArray:
        """(G, K) a_g of grids (G, S), -1 pads."""
        parts = [np.zeros((0, self.embedding.shape[1]))]
        with torch.no_grad():
            for start in range(0, len(images), _BLOCK):
                grids = torch.as_tensor(images[start : start + _BLOCK].copy())
                parts.append(self._network.grid_activation(grids).double().numpy())
        return np.concatenate(parts)

    def activation(self, groupings: Groupings) -> FloatArray:
        """(G, K) a_w, a_g or their sum, by variant (eqs. 3-5)."""
        own = self.annotator_activation[groupings.annotators]
        return np.asarray(self.grid_activation(groupings.images) + own)

    def pair_distance(self, groupings: Groupings) -> FloatArray:
        """(G, P) d of eqs. 3-5, for every pair of the grid."""
        activation = self.activation(groupings)
        first, second = np.triu_indices(groupings.grid_size, 1)
        distance = np.empty((len(groupings), len(first)))
        for start in range(0, len(groupings), 512):
            rows = slice(start, start + 512)
            # Padding (-1) reads the last image; its pairs are never informative.
            weighted = activation[rows, None] * self.embedding[groupings.images[rows]]
            distance[rows] = np.linalg.norm(weighted[:, first] - weighted[:, second], axis=2)
        return distance

    def attribute_probability(self, groupings: Groupings, before_grouping: bool) -> FloatArray:
        """(G, K) activations as shares (section 4.3 takes their mode); this model cannot
        take the grouping of an answer into account."""
        activation = self.activation(groupings) + 1e-12
        return np.asarray(activation / activation.sum(axis=1, keepdims=True))

    def arrays(self) -> Arrays:
        """All that predictions need."""
        state = self._network.state_dict()
        context = {name: state[name].numpy() for name in state if name.startswith("grid")}
        return {
            "embedding": self.embedding,
            "annotator_activation": self.annotator_activation,
            **context,
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays, variant: str) -> Self:
        """What `arrays` gave. Image and annotator encoders are kept as their outputs."""
        n_images, k = arrays["embedding"].shape
        n_hidden = arrays["grid_table"].shape[1]
        sizes = Sizes(n_images, len(arrays["annotator_activation"]), k, n_hidden, variant)
        network = PaperNetwork(sizes, torch.Generator()).eval()
        grid = {name: torch.as_tensor(arrays[name]) for name in arrays if name.startswith("grid")}
        network.load_state_dict(grid, strict=False)
        return cls(arrays["embedding"], arrays["annotator_activation"], network)


def _fill_unseen(rows: FloatArray, seen: IntArray) -> None:
    """Give rows that no answer touched the mean of the others."""
    known = np.bincount(seen, minlength=len(rows)) > 0
    rows[~known] = rows[known].mean(axis=0)
