"""The published Context Embedding Network."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from learning.alignment import matching_columns
from learning.arrays import (
    FloatArray,
    IntArray,
    as_index_array,
    check_count,
    check_index_range,
    check_positive,
)
from learning.base import Arrays, Progress, State
from learning.baselines.common import EmbeddingBaseline, check_informative
from learning.devices import cores_for, pick_device
from learning.groupings import Groupings
from learning.paper_cen.engine import PaperEngine
from learning.paper_cen.network import Sizes
from learning.synthesis import GridWishes, stream_grids

# Supplement A and table S1 ("gamma = 6 was used for all results"; the text says 5).
PUBLISHED_SETTINGS: dict[str, Any] = {
    "gamma": 6.0,
    "margin_same": 1.0,
    "margin_different": 6.0,
    "sparsity": 5e-6,
    "shrinkage": 1e-3,
    "n_hidden": 200,
    "n_epochs": 20,
    "learning_rate": 1e-3,
    "pairs_per_step": 100,
    "threshold": "midpoint",
}
ALLOWED = {
    "variant": ("mixture", "annotator", "context"),
    "threshold": ("calibrated", "midpoint"),
}


class PaperContextEmbedding(EmbeddingBaseline):
    """Context Embedding Networks (Kim et al., 2018): three encoders, learned jointly.

    annotator encoder  w    -> a_w in R^K, >= 0   this annotator's preferences
    context encoder    grid -> a_g in R^K, >= 0   what stands out in this grid
    image encoder      i    -> x_i in R^K

    The distance of two images is d = ||a * (x_i - x_j)||_2 with a = a_w ("annotator"), a_g
    ("context") or a_w + a_g ("mixture") (eqs. 3-5). Every pair has the loss of eq. 8, with its
    second d weighted by a as in eqs. 6 and 7:

        gamma * same * max(0, d - xi_p) + (1 - same) * max(0, xi_n - d)
            + lambda_1 * |a|_1 + lambda_2 * (|x_i|^2 + |x_j|^2)

    The context encoder has a weight for every image of a grid, but does not know how these
    images differ, so a_g fits the training grids and hardly generalises to others.

    Parameters
    ----------
    n_dimensions : K.
    variant : "mixture", "annotator" (without a_g) or "context" (without a_w).
    gamma : weight of a same pair (eq. 7).
    margin_same, margin_different : xi_p and xi_n (eq. 6).
    sparsity, shrinkage : lambda_1 and lambda_2 (eq. 8).
    n_hidden : width of the hidden layers (supplement A).
    n_epochs, learning_rate : of Adam.
    grids_per_step, pairs_per_step : a step uses whole grids by default, or this many pairs
        (the paper: 100), which costs many times as much for the same loss.
    threshold : "calibrated" on grids that an extra fit does not see, or "midpoint",
        the paper's (xi_n + xi_p) / 2 (section 4.5).
    device : "auto", "cpu" or "cuda".
    random_state : int for a repeatable fit.

    Attributes
    ----------
    embedding_ : (N, K) image coordinates; an image without answers has the mean of the others.
    annotator_activation_ : (W, K) a_w >= 0; zero in the "context" variant.
    attribute_share_ : (K,) mean share of each dimension in the activations of the answers.
    threshold_ : distance below which two images are predicted to be grouped together.
    """

    annotator_activation_: FloatArray
    attribute_share_: FloatArray

    def __init__(
        self,
        n_dimensions: int = 4,
        variant: str = "mixture",
        gamma: float = 6.0,
        margin_same: float = 1.0,
        margin_different: float = 6.0,
        sparsity: float = 5e-6,
        shrinkage: float = 1e-3,
        n_hidden: int = 200,
        n_epochs: int = 15,
        learning_rate: float = 3e-3,
        grids_per_step: int = 8,
        pairs_per_step: int | None = None,
        threshold: str = "calibrated",
        device: str = "auto",
        random_state: int | None = None,
    ) -> None:
        self.n_dimensions = n_dimensions
        self.variant = variant
        self.gamma = gamma
        self.margin_same = margin_same
        self.margin_different = margin_different
        self.sparsity = sparsity
        self.shrinkage = shrinkage
        self.n_hidden = n_hidden
        self.n_epochs = n_epochs
        self.learning_rate = learning_rate
        self.grids_per_step = grids_per_step
        self.pairs_per_step = pairs_per_step
        self.threshold = threshold
        self.device = device
        self.random_state = random_state

    def fit(self, groupings: Groupings, progress: Progress | None = None) -> Self:
        """Learn from all answers.

        A calibrated threshold needs one more fit on 80 % of the grids. `progress` receives
        (epochs done, epochs, {"loss"}). Raises ValueError for an invalid parameter or answers
        without an informative pair.
        """
        if self.threshold == "calibrated":
            return super().fit(groupings, progress)
        self._check_parameters()
        check_informative(groupings)
        self._learn(groupings, progress)
        self.threshold_ = (self.margin_same + self.margin_different) / 2.0
        return self

    def _learn(self, groupings: Groupings, progress: Progress | None) -> None:
        sizes = Sizes(
            groupings.n_images,
            groupings.n_annotators,
            self.n_dimensions,
            self.n_hidden,
            self.variant,
        )
        device, generator = pick_device(self.device), self._generator()
        with cores_for(len(groupings)):
            self._keep(PaperEngine.fit(groupings, sizes, self, generator, device, progress))
        self.attribute_share_ = self.attribute_probability(groupings).mean(axis=0)

    def aligned_with(self, previous: PaperContextEmbedding) -> PaperContextEmbedding:
        """This model with its dimensions in the order and direction of an earlier one.

        Each gets the index of the dimension with which its coordinates correlate most over
        the images in both models. Raises ValueError for another number of dimensions.
        """
        self._check_fitted()
        if previous.n_dimensions != self.n_dimensions:
            raise ValueError(
                f"the earlier model has {previous.n_dimensions} dimensions, "
                f"this one {self.n_dimensions}"
            )
        order, sign = matching_columns(previous.embedding_, self.embedding_)
        aligned = type(self)(**self.get_params(deep=False))
        aligned._keep(self._engine.rearranged(order, sign))
        aligned.attribute_share_ = self.attribute_share_[order]
        aligned.threshold_ = self.threshold_
        return aligned

    def grid_activation(self, images: IntArray) -> FloatArray:
        """(G, K) a_g of grids (G, S), -1 pads; zero in the "annotator" variant.

        Raises NotFittedError before fit, ValueError for an image out of range.
        """
        self._check_fitted()
        images = as_index_array("images", images, 2)
        check_index_range("images", images, -1, len(self.embedding_))
        return self._engine.grid_activation(images)

    def activation(self, groupings: Groupings) -> FloatArray:
        """(G, K) a of every answer, from its annotator and grid and not its grouping.

        Raises NotFittedError before fit, ValueError for an unknown annotator or image.
        """
        self._check_known(groupings)
        return self._engine.activation(groupings)

    def pair_distance(self, groupings: Groupings) -> FloatArray:
        """(G, S(S-1)/2) d in numpy.triu_indices(S, 1) order, NaN for an uninformative pair.

        The grouping is only used to find these pairs.
        Raises NotFittedError before fit, ValueError for an unknown annotator or image.
        """
        self._check_known(groupings)
        return self._engine.pair_distance(groupings)

    def attribute_probability(
        self, groupings: Groupings, before_grouping: bool = False
    ) -> FloatArray:
        """(G, K) activations as shares; rows sum to 1.

        The network never uses the grouping of an answer, so `before_grouping` has no effect.
        It exists for callers that support any model.
        """
        activation = self.activation(groupings) + 1e-12
        return np.asarray(activation / activation.sum(axis=1, keepdims=True))

    def predict_attribute(self, groupings: Groupings, before_grouping: bool = False) -> IntArray:
        """(G,) the dimension of the largest activation of an answer (section 4.3)."""
        probability = self.attribute_probability(groupings, before_grouping)
        return np.asarray(probability.argmax(axis=1), np.int64)

    def synthesize_grids(
        self,
        n: int,
        grid_size: int,
        attribute: int | None = None,
        n_candidates: int = 100_000,
        random_state: int | None = None,
    ) -> IntArray:
        """(n, grid_size) the least vague of `n_candidates` random grids, best first.

        Section 4.6: those with the lowest entropy of softmax(a_g) or, with `attribute`, the
        highest probability of it. Raises ValueError for an attribute that does not exist
        and in the "annotator" variant, which has no context encoder.
        """
        self._check_fitted()
        if self.variant == "annotator":
            raise ValueError(
                "variant 'annotator' has no context encoder, which synthesizing grids needs"
            )
        if attribute is not None and not 0 <= attribute < self.n_dimensions:
            raise ValueError(f"attribute must be in 0..{self.n_dimensions - 1}, got {attribute}")
        wishes = GridWishes(n, grid_size, len(self.embedding_), attribute, n_candidates)
        return stream_grids(self.grid_activation, wishes, np.random.default_rng(random_state))

    def _check_parameters(self) -> None:
        for name in ("n_dimensions", "n_hidden", "n_epochs", "grids_per_step"):
            check_count(name, getattr(self, name))
        if self.pairs_per_step is not None:
            check_count("pairs_per_step", self.pairs_per_step)
        for name in ("gamma", "margin_same", "margin_different", "learning_rate"):
            check_positive(name, getattr(self, name))
        for name in ("sparsity", "shrinkage"):
            check_positive(name, getattr(self, name), strict=False)
        for name, allowed in ALLOWED.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {allowed}, got {getattr(self, name)!r}")

    def _check_known(self, groupings: Groupings) -> None:
        self._check_fitted()
        check_index_range("annotators", groupings.annotators, 0, len(self.annotator_activation_))
        check_index_range("images", groupings.images, -1, len(self.embedding_))

    def _keep(self, engine: PaperEngine) -> None:
        self._engine = engine
        self.embedding_ = engine.embedding
        self.annotator_activation_ = engine.annotator_activation

    def _learned(self) -> tuple[Arrays, State]:
        arrays = {f"model.{name}": array for name, array in self._engine.arrays().items()}
        return arrays | {"attribute_share": self.attribute_share_}, {"threshold": self.threshold_}

    def _restore(self, arrays: Arrays, state: State) -> None:
        model = {
            name.removeprefix("model."): array
            for name, array in arrays.items()
            if name.startswith("model.")
        }
        self._keep(PaperEngine.from_arrays(model))
        self.attribute_share_ = arrays["attribute_share"]
        self.threshold_ = float(state["threshold"])
