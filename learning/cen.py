"""Context Embedding Networks: which attribute an annotator saw, learned from groupings."""

from __future__ import annotations

from typing import Self

import numpy as np
import torch

from learning.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    as_index_array,
    check_count,
    check_index_range,
    check_positive,
)
from learning.base import Arrays, Estimator, Progress, State
from learning.cen_network import CenNetwork, CenSettings, grid_spread, pick_device
from learning.cen_training import best_threshold, train
from learning.groupings import Groupings
from learning.synthesis import most_telling_grids

VARIANTS = ("mixture", "annotator", "context")
CONTEXT_ENCODERS = ("spread", "s_hot")


class ContextEmbeddingNetwork(Estimator):
    """Three networks trained jointly (section 3.1):

    annotator encoder  w    -> a_w in R^K, >= 0   what this annotator tends to look at
    context encoder    grid -> a_g in R^K, >= 0   what this grid makes stand out
    image encoder      i    -> x_i in R^K         one attribute per dimension

    Two images are d = ||a * (x_i - x_j)||_2 apart (eqs. 3-5), with a = a_w ("annotator"),
    a_g ("context") or a_w + a_g ("mixture"), and grouped together if d is small.

    Departures from the letter, each for a reason: activations pass through a softplus, so
    that no dimension dies; the decision threshold is calibrated on the training pairs,
    for (xi_n + xi_p) / 2 only fits balanced labels; whole grids are the batch. The
    context encoder sees how far the grid's images spread along each dimension, which
    carries over to unseen grids; "s_hot", the paper's, memorises its grids.

    Parameters
    ----------
    n_dimensions : K, attributes at most.
    variant : "mixture", "annotator" or "context".
    context_encoder : "spread" or "s_hot".
    gamma : weight of a same pair (eq. 7).
    margin_same, margin_different : xi_p and xi_n (eq. 6).
    sparsity, shrinkage : lambda_1 on activations and lambda_2 on coordinates (eq. 8); the
        latter ten times the paper's, which kept fewer dimensions in use.
    n_hidden : width of the hidden layers (supplement A).
    n_epochs, grids_per_step, learning_rate : Adam, the rate decaying to zero.
    min_steps : steps at least, for few answers need more epochs.
    device : "auto", "cpu" or "cuda".
    random_state : int for a repeatable fit.

    Attributes
    ----------
    embedding_ : (N, K) image coordinates.
    annotator_activation_ : (W, K) >= 0; zero in the "context" variant.
    threshold_ : distance below which two images are predicted to be grouped together.
    loss_ : mean training loss of the last epoch.
    """

    def __init__(
        self,
        n_dimensions: int = 4,
        variant: str = "mixture",
        context_encoder: str = "spread",
        gamma: float = 1.0,
        margin_same: float = 1.0,
        margin_different: float = 6.0,
        sparsity: float = 5e-6,
        shrinkage: float = 1e-2,
        n_hidden: int = 200,
        n_epochs: int = 30,
        min_steps: int = 1_000,
        grids_per_step: int = 8,
        learning_rate: float = 3e-3,
        device: str = "auto",
        random_state: int | None = None,
    ) -> None:
        self.n_dimensions = n_dimensions
        self.variant = variant
        self.context_encoder = context_encoder
        self.gamma = gamma
        self.margin_same = margin_same
        self.margin_different = margin_different
        self.sparsity = sparsity
        self.shrinkage = shrinkage
        self.n_hidden = n_hidden
        self.n_epochs = n_epochs
        self.min_steps = min_steps
        self.grids_per_step = grids_per_step
        self.learning_rate = learning_rate
        self.device = device
        self.random_state = random_state

    embedding_: FloatArray
    annotator_activation_: FloatArray
    threshold_: float
    loss_: float

    def fit(self, groupings: Groupings, progress: Progress | None = None) -> Self:
        """Learn from all answers. `progress` hears (epochs done, epochs, {"loss": ...}).

        Raises ValueError for a bad parameter or answers without an informative pair.
        """
        self._check_parameters()
        labels = groupings.pair_labels()
        if not (labels >= 0).any():
            raise ValueError(f"{len(groupings)} answers hold no informative pair")
        generator = torch.Generator()
        if self.random_state is None:
            generator.seed()
        else:
            generator.manual_seed(self.random_state)
        network = CenNetwork(self._settings(groupings), generator)
        network.to(pick_device(self.device))
        self.loss_ = train(network, groupings, labels, self, generator, progress)
        self._keep(network.cpu().eval(), groupings)
        distance = self.pair_distance(groupings)
        informative = labels >= 0
        self.threshold_ = best_threshold(distance[informative], labels[informative] == 1)
        return self

    def grid_activation(self, images: IntArray) -> FloatArray:
        """(G, K) a_g of grids (G, S), -1 pads; zero in the "annotator" variant.

        Raises NotFittedError before fit, ValueError for an image out of range.
        """
        self._check_fitted()
        images = as_index_array("images", images, 2)
        check_index_range("images", images, -1, len(self.embedding_))
        if self.variant == "annotator":
            return np.zeros((len(images), self.n_dimensions))
        blocks = []
        with torch.no_grad():
            for rows in np.array_split(images, max(1, len(images) // 4_096)):
                grids = torch.as_tensor(rows.copy())
                spread = grid_spread(torch.as_tensor(self.embedding_), grids)
                blocks.append(self._network.grid_activation(grids, spread.float()).numpy())
        return np.concatenate(blocks).astype(np.float64)

    def activation(self, groupings: Groupings) -> FloatArray:
        """(G, K) a of every answer: a_w, a_g or their sum, by variant (eqs. 3-5).

        Raises NotFittedError before fit, ValueError for an unknown annotator or image.
        """
        self._check_fitted()
        check_index_range("annotators", groupings.annotators, 0, len(self.annotator_activation_))
        context = self.grid_activation(groupings.images)
        return context + self.annotator_activation_[groupings.annotators]

    def pair_distance(self, groupings: Groupings) -> FloatArray:
        """(G, S(S-1)/2) d in numpy.triu_indices(S, 1) order, NaN where a pair tells nothing."""
        activation = self.activation(groupings)
        first, second = np.triu_indices(groupings.grid_size, 1)
        distance = np.full((len(groupings), len(first)), np.nan)
        labels = groupings.pair_labels()
        for rows in np.array_split(np.arange(len(groupings)), len(groupings) // 512 + 1):
            # Eq. 5. Padding (-1) reads the last image; its pairs are never informative.
            weighted = activation[rows, None] * self.embedding_[groupings.images[rows]]
            squares = (weighted**2).sum(axis=2)
            products = weighted @ weighted.transpose(0, 2, 1)
            apart = squares[:, first] + squares[:, second] - 2 * products[:, first, second]
            block = np.sqrt(np.maximum(apart, 0.0))
            distance[rows] = np.where(labels[rows] >= 0, block, np.nan)
        return distance

    def predict_same(self, groupings: Groupings) -> BoolArray:
        """(G, S(S-1)/2) whether two images are grouped together; False where no pair is."""
        distance = self.pair_distance(groupings)
        return np.asarray(np.nan_to_num(distance, nan=np.inf) < self.threshold_)

    def predict_attribute(self, groupings: Groupings) -> IntArray:
        """(G,) the dimension an answer used: argmax_k a_k (section 4.3)."""
        return np.asarray(self.activation(groupings).argmax(axis=1), np.int64)

    def synthesize_grids(
        self,
        n: int,
        grid_size: int,
        attribute: int | None = None,
        n_candidates: int = 100_000,
        random_state: int | None = None,
    ) -> IntArray:
        """(n, grid_size) random grids whose a_g tells one attribute most clearly.

        Section 4.6: the lowest entropy of softmax(a_g); with `attribute`, the surest of
        that dimension. Raises ValueError in the "annotator" variant, which has no context.
        """
        self._check_fitted()
        if self.variant == "annotator":
            raise ValueError(f"variant {self.variant!r} has no context to synthesize grids by")
        if attribute is not None and not 0 <= attribute < self.n_dimensions:
            raise ValueError(f"attribute must lie in 0..{self.n_dimensions - 1}, got {attribute}")
        return most_telling_grids(
            self.grid_activation,
            n,
            grid_size,
            len(self.embedding_),
            attribute,
            n_candidates,
            np.random.default_rng(random_state),
        )

    def _keep(self, network: CenNetwork, groupings: Groupings) -> None:
        """Learned attributes; what was never seen stands where the average one does."""
        with torch.no_grad():
            embedding = network.embedding().numpy().astype(np.float64)
            annotators = network.annotator_activation().numpy().astype(np.float64)
        shown = np.bincount(groupings.images[groupings.images >= 0], minlength=len(embedding)) > 0
        answered = np.bincount(groupings.annotators, minlength=len(annotators)) > 0
        embedding[~shown] = embedding[shown].mean(axis=0)
        annotators[~answered] = annotators[answered].mean(axis=0)
        self.embedding_ = embedding
        self.annotator_activation_ = annotators
        self._network = network

    def _settings(self, groupings: Groupings) -> CenSettings:
        return CenSettings(
            n_images=groupings.n_images,
            n_annotators=groupings.n_annotators,
            n_dimensions=self.n_dimensions,
            n_hidden=self.n_hidden,
            variant=self.variant,
            context_encoder=self.context_encoder,
        )

    def _check_parameters(self) -> None:
        for name in ("n_dimensions", "n_hidden", "n_epochs", "min_steps", "grids_per_step"):
            check_count(name, getattr(self, name))
        for name in ("gamma", "margin_same", "margin_different", "learning_rate"):
            check_positive(name, getattr(self, name))
        for name in ("sparsity", "shrinkage"):
            check_positive(name, getattr(self, name), strict=False)
        if self.variant not in VARIANTS:
            raise ValueError(f"variant must be one of {VARIANTS}, got {self.variant!r}")
        if self.context_encoder not in CONTEXT_ENCODERS:
            raise ValueError(
                f"context_encoder must be one of {CONTEXT_ENCODERS}, got {self.context_encoder!r}"
            )

    def _learned(self) -> tuple[Arrays, State]:
        arrays: Arrays = {
            f"context.{name}": tensor.numpy()
            for name, tensor in self._network.context_state().items()
        }
        arrays["embedding"] = self.embedding_
        arrays["annotator_activation"] = self.annotator_activation_
        return arrays, {"threshold": self.threshold_, "loss": self.loss_}

    def _restore(self, arrays: Arrays, state: State) -> None:
        self.embedding_ = arrays["embedding"]
        self.annotator_activation_ = arrays["annotator_activation"]
        self.threshold_ = float(state["threshold"])
        self.loss_ = float(state["loss"])
        settings = CenSettings(
            n_images=len(self.embedding_),
            n_annotators=len(self.annotator_activation_),
            n_dimensions=self.n_dimensions,
            n_hidden=self.n_hidden,
            variant=self.variant,
            context_encoder=self.context_encoder,
        )
        self._network = CenNetwork(settings, torch.Generator()).eval()
        self._network.load_context(
            {
                name.removeprefix("context."): torch.as_tensor(array)
                for name, array in arrays.items()
                if name.startswith("context.")
            }
        )
