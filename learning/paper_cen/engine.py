"""A trained paper network and its predictions."""

from __future__ import annotations

from copy import deepcopy
from typing import Self

import numpy as np
import torch
from torch import Tensor

from learning.arrays import FloatArray, IntArray
from learning.base import Arrays, Progress
from learning.groupings import Groupings
from learning.paper_cen.network import AttributeEncoder, PaperNetwork, Sizes
from learning.paper_cen.training import LabelledGrids, TrainingSettings, train

_BLOCK = 4_096
_CONTEXT = "context."


class PaperEngine:
    """embedding: (N, K); annotator_activation: (W, K); context: the context encoder, if any."""

    def __init__(
        self,
        embedding: FloatArray,
        annotator_activation: FloatArray,
        context: AttributeEncoder | None,
    ) -> None:
        self.embedding = embedding
        self.annotator_activation = annotator_activation
        self._context = context

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
        """Train on all answers with an informative pair."""
        data = LabelledGrids.of(groupings, device)
        network = PaperNetwork(sizes, generator).to(device)
        train(network, data, settings, generator, progress)
        network = network.cpu().eval()
        with torch.no_grad():
            embedding = network.embedding().double().numpy()
            all_annotators = torch.arange(sizes.n_annotators)
            annotators = network.annotator_activation(all_annotators).double().numpy()
        _fill_unseen(embedding, groupings.images[groupings.images >= 0])
        _fill_unseen(annotators, groupings.annotators)
        return cls(embedding, annotators, network.context_encoder)

    def grid_activation(self, images: IntArray) -> FloatArray:
        """(G, K) a_g of grids (G, S), -1 pads; zero without a context encoder."""
        result = np.zeros((len(images), self.embedding.shape[1]))
        if self._context is None:
            return result
        with torch.no_grad():
            for start in range(0, len(images), _BLOCK):
                grids = torch.as_tensor(images[start : start + _BLOCK].copy())
                activation: Tensor = self._context(grids)
                result[start : start + _BLOCK] = activation.double().numpy()
        return result

    def activation(self, groupings: Groupings) -> FloatArray:
        """(G, K) a_w, a_g or their sum, by variant (eqs. 3-5)."""
        own = self.annotator_activation[groupings.annotators]
        return np.asarray(self.grid_activation(groupings.images) + own)

    def pair_distance(self, groupings: Groupings) -> FloatArray:
        """(G, P) d of eqs. 3-5, NaN for an uninformative pair."""
        activation = self.activation(groupings)
        first, second = np.triu_indices(groupings.grid_size, 1)
        result = np.full((len(groupings), len(first)), np.nan)
        for rows, labels in groupings.label_blocks():
            # Padding (-1) reads the last image; its pairs are never informative.
            weighted = activation[rows, None] * self.embedding[groupings.images[rows]]
            distance = np.linalg.norm(weighted[:, first] - weighted[:, second], axis=2)
            result[rows] = np.where(labels >= 0, distance, np.nan)
        return result

    def rearranged(self, order: IntArray, sign: FloatArray) -> PaperEngine:
        """The same predictions with dimension order[k] at k, its coordinates times sign[k]."""
        context = None
        if self._context is not None:
            context = deepcopy(self._context)
            columns = torch.as_tensor(order)
            with torch.no_grad():
                context.out.copy_(self._context.out[:, columns])
                context.out_bias.copy_(self._context.out_bias[columns])
        return PaperEngine(
            self.embedding[:, order] * sign, self.annotator_activation[:, order], context
        )

    def arrays(self) -> Arrays:
        """Everything that predictions need, with the outputs of image and annotator encoders."""
        context = {} if self._context is None else self._context.state_dict()
        return {
            "embedding": self.embedding,
            "annotator_activation": self.annotator_activation,
            **{_CONTEXT + name: value.numpy() for name, value in context.items()},
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """Restore the engine from what `arrays` returned."""
        state = {
            name.removeprefix(_CONTEXT): torch.as_tensor(array)
            for name, array in arrays.items()
            if name.startswith(_CONTEXT)
        }
        context = None
        if state:
            n_images, hidden = state["table"].shape
            k = state["out"].shape[1]
            context = AttributeEncoder(n_images, hidden, k, torch.Generator()).eval()
            context.load_state_dict(state)
        return cls(arrays["embedding"], arrays["annotator_activation"], context)


def _fill_unseen(rows: FloatArray, seen: IntArray) -> None:
    """Set rows that are in no answer to the mean of the others."""
    known = np.bincount(seen, minlength=len(rows)) > 0
    rows[~known] = rows[known].mean(axis=0)
