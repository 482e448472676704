"""Context Embedding Networks learn from groupings which attributes annotators used."""

from __future__ import annotations

from typing import Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from learning.alignment import column_signs, matching_columns
from learning.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    as_index_array,
    check_index_range,
)
from learning.base import Arrays, Estimator, Progress, State
from learning.cen_checks import check_init, check_parameters
from learning.crowd_engine import CrowdEngine
from learning.crowd_model import Settings
from learning.devices import cores_for, pick_device
from learning.groupings import Groupings
from learning.pooled.fitting import PooledSettings
from learning.synthesis import (
    GridWishes,
    least_known_grids,
    search_grids,
    stream_by_spread,
)

# Columns of the pooled fit; those that answers do not support shrink by themselves.
MIN_POOLED_DIMENSIONS, MAX_POOLED_DIMENSIONS = 8, 16


class ContextEmbeddingNetwork(Estimator):
    """A model in which the attribute that an answer is about is a hidden variable.

    The three encoders of Context Embedding Networks (section 3.1) define a probability:

    annotator encoder  w    -> preference, detail, reliability of this annotator
    context encoder    grid -> spread in each attribute: what stands out in this grid
    image encoder      i    -> x_ik, the position of i in the subspace (1 to 4 columns) of k

    P(k | w, g) = softmax(bias + preference of w + gain * spread of g's images in k), and
    given k two images are grouped together with P = sigmoid(threshold - |x_ik - x_jk|^2),
    with a threshold by level of detail, within the limits that slips set; or the answer is
    about none of the attributes (`learning.latent`). A second model is a pooled embedding for
    everyone (`learning.pooled`). Held-out grids decide which attributes are supported, whether
    attributes or the pooled embedding are shown, and how both are weighted in predictions
    (`learning.crowd_model`). The network as published is
    `learning.baselines.PaperContextEmbedding`.

    Parameters
    ----------
    n_dimensions : K, columns of the embedding, and the maximum number of attributes.
    variant : "mixture", "annotator" (without the grid) or "context" (without the annotator).
    n_starts : random starts, best by likelihood.
    device : "auto", "cpu" or "cuda".
    random_state : int for a repeatable fit.

    Attributes
    ----------
    structure_ : "attributes"; "pooled", one embedding for everyone, which is attribute 0;
        or "none", if nothing predicts held-out answers.
    embedding_ : (N, K) image coordinates; an image without answers is at the centre.
    embedding_error_ : (N, K) standard deviations of the coordinates.
    dimension_attribute_ : (K,) attribute of each column, -1 for an empty column.
    attribute_share_ : (K,) share of the answers, given their groupings, about each attribute;
        the rest to 1 is about none of them.
    attribute_share_error_ : (K,) standard errors of the shares.
    attribute_confidence_ : (K,) probability that an attribute predicts answers it was not
        learned from.
    annotator_activation_ : (W, K) >= 0; the rest to 1 is about no attribute.
    threshold_ : distance below which two images are predicted to be grouped together.
    held_out_ : results of the comparison on held-out answers, mean log likelihoods of a pair.
    placed_ : (N,) images that only features place.
    combines_features_ : whether features also improve predictions about the other images.
    """

    def __init__(
        self,
        n_dimensions: int = 4,
        variant: str = "mixture",
        n_starts: int = 2,
        device: str = "auto",
        random_state: int | None = None,
    ) -> None:
        self.n_dimensions = n_dimensions
        self.variant = variant
        self.n_starts = n_starts
        self.device = device
        self.random_state = random_state

    structure_: str
    embedding_: FloatArray
    embedding_error_: FloatArray
    dimension_attribute_: IntArray
    attribute_share_: FloatArray
    attribute_share_error_: FloatArray
    attribute_confidence_: FloatArray
    annotator_activation_: FloatArray
    threshold_: float
    held_out_: dict[str, float]
    placed_: BoolArray
    combines_features_: bool

    def fit(
        self,
        groupings: Groupings,
        init: ContextEmbeddingNetwork | None = None,
        progress: Progress | None = None,
        features: ArrayLike | None = None,
        known: ArrayLike | None = None,
    ) -> Self:
        """Learn from all answers. `progress` is called with (steps done, steps, metrics).

        init: a fitted model of most of these answers, whose numbers and directions the
        attributes keep. Image and annotator indices must mean the same; there can be more
        of them. The fit itself starts from scratch: continuing from an earlier model could
        lose an attribute or keep a worse structure.

        features: (N, F) of the images; known: (N,) bool, images that have them, by default all.
        If they predict which held-out images are put together, they place the images that no
        answer shows, and improve the predictions about the others as far as held-out answers
        support it (`learning.feature_alignment.unseen`). Otherwise everything is as without.

        Raises ValueError for an invalid parameter, answers without an informative pair, features
        that do not match, or an `init` that does not match.
        """
        check_parameters(self)
        if not groupings.informative_grids().any():
            raise ValueError(f"the {len(groupings)} answers contain no informative pair")
        if init is not None:
            init._check_fitted()
            check_init(self, init, groupings)
        generator = torch.Generator()
        if self.random_state is None:
            generator.seed()
        else:
            generator.manual_seed(self.random_state)
        with cores_for(len(groupings)):
            engine = CrowdEngine.fit(
                groupings,
                self._settings(),
                self.n_dimensions,
                generator,
                pick_device(self.device),
                progress,
            )
            if features is not None:
                seed = 0 if self.random_state is None else self.random_state
                engine = self._with_features(engine, groupings, features, known, seed)
            self._keep(engine)
            probability = self.attribute_probability(groupings)
        self.attribute_share_ = probability.mean(axis=0)
        self.attribute_share_error_ = probability.std(axis=0) / np.sqrt(len(groupings))
        if init is not None:
            self._align(init, groupings)
        return self

    def _with_features(
        self,
        engine: CrowdEngine,
        groupings: Groupings,
        features: ArrayLike,
        known: ArrayLike | None,
        seed: int,
    ) -> CrowdEngine:
        # Imported here: only campaigns with features need it.
        from learning.feature_alignment.unseen import with_features

        model, _ = with_features(engine.model, groupings, features, known, seed)
        return engine.with_model(model)

    def _settings(self) -> Settings:
        wide = min(max(self.n_dimensions, MIN_POOLED_DIMENSIONS), MAX_POOLED_DIMENSIONS)
        pooled = PooledSettings(n_dimensions=wide, annotators=self.variant != "context")
        return Settings(self.n_dimensions, self.variant, self.n_starts, pooled)

    def aligned_with(
        self, previous: ContextEmbeddingNetwork, groupings: Groupings | None = None
    ) -> ContextEmbeddingNetwork:
        """This model with its attributes in the order and direction of an earlier one.

        Each attribute gets the number of the earlier one with which it shares most answers,
        or, without `groupings`, with which it correlates most over the images of both. New
        attributes get the free numbers. Raises ValueError for another number of dimensions.
        """
        self._check_fitted()
        if previous.n_dimensions != self.n_dimensions:
            raise ValueError(
                f"the earlier model has {previous.n_dimensions} dimensions, "
                f"this one {self.n_dimensions}"
            )
        aligned = type(self)(**self.get_params(deep=False))
        aligned._keep(self._engine)
        aligned.attribute_share_ = self.attribute_share_
        aligned.attribute_share_error_ = self.attribute_share_error_
        aligned._align(previous, groupings)
        return aligned

    def _align(self, previous: ContextEmbeddingNetwork, groupings: Groupings | None) -> None:
        shared = None if groupings is None else self._shared_answers(previous, groupings)
        order, _ = matching_columns(previous.embedding_, self.embedding_, shared)
        engine = self._engine.renumbered(order)
        sign = column_signs(previous.embedding_, engine.embedding)
        self._keep(engine.turned(sign))
        self.attribute_share_ = self.attribute_share_[order]
        self.attribute_share_error_ = self.attribute_share_error_[order]

    def _shared_answers(
        self, previous: ContextEmbeddingNetwork, groupings: Groupings
    ) -> FloatArray:
        """(K, K) answers about attribute j in the earlier model and about k in this one."""
        known = groupings.annotators < len(previous.annotator_activation_)
        known &= (groupings.images < len(previous.embedding_)).all(axis=1)
        both = groupings.subset(np.flatnonzero(known))
        return previous.attribute_probability(both).T @ self.attribute_probability(both)

    def grid_activation(self, images: IntArray) -> FloatArray:
        """(G, K) a_g of grids (G, S), -1 pads: the attributes a typical annotator would use.

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
        return self._engine.attribute_probability(groupings, before_grouping=True)

    def pair_distance(self, groupings: Groupings) -> FloatArray:
        """(G, S(S-1)/2) d in numpy.triu_indices(S, 1) order, NaN for uninformative pairs.

        The grouping is only used to find these pairs.
        """
        self._check_known(groupings)
        distance = self._engine.pair_distance(groupings)
        for rows, labels in groupings.label_blocks():
            distance[rows][labels < 0] = np.nan
        return distance

    def predict_same(self, groupings: Groupings) -> BoolArray:
        """(G, S(S-1)/2) whether two images are grouped together; False if there is no pair."""
        distance = self.pair_distance(groupings)
        return np.asarray(np.nan_to_num(distance, nan=np.inf) < self.threshold_)

    def expected_same(self, groupings: Groupings) -> BoolArray:
        """(G, S(S-1)/2) pairs that answers about these attributes put together.

        The grouping decides which attribute an answer is about, so this compares an annotator
        with the model, not a prediction with the truth.
        """
        self._check_known(groupings)
        return self._engine.expected_same(groupings)

    def predict_attribute(self, groupings: Groupings, before_grouping: bool = False) -> IntArray:
        """(G,) the attribute of each answer, if it is about one (section 4.3).

        It depends on the grouping or, with `before_grouping`, only on annotator and grid: the
        argmax of `activation`.
        """
        probability = self.attribute_probability(groupings, before_grouping)
        return np.asarray(probability.argmax(axis=1), np.int64)

    def attribute_probability(
        self, groupings: Groupings, before_grouping: bool = False
    ) -> FloatArray:
        """(G, K) probabilities for `predict_attribute`; the rest to 1 is none of them."""
        self._check_known(groupings)
        return self._engine.attribute_probability(groupings, before_grouping)

    def synthesize_grids(
        self,
        n: int,
        grid_size: int,
        attribute: int | None = None,
        n_candidates: int = 100_000,
        random_state: int | None = None,
        method: str = "search",
    ) -> IntArray:
        """(n, grid_size) grids whose images differ in one attribute and are similar in others.

        Section 4.6: the lowest entropy of softmax(a_g), or the highest for `attribute`.
        method "search" improves random grids by exchanging images, with about
        `n_candidates` exchanges in total; "stream" keeps the best of `n_candidates` random
        grids, as the paper does. Without `attribute`, a search takes turns between all that
        are in use. The measure is the spread of the images along each attribute's strongest
        column.

        Raises ValueError for an attribute that does not exist or is not in use.
        """
        self._check_fitted()
        if attribute is not None and not 0 <= attribute < self.n_dimensions:
            raise ValueError(f"attribute must be in 0..{self.n_dimensions - 1}, got {attribute}")
        wishes = GridWishes(n, grid_size, len(self.embedding_), attribute, n_candidates)
        rng = np.random.default_rng(random_state)
        if method not in ("search", "stream"):
            raise ValueError(f"method must be 'search' or 'stream', got {method!r}")
        make = search_grids if method == "search" else stream_by_spread
        return make(self._strongest_columns(), wishes, rng)

    def _strongest_columns(self) -> FloatArray:
        """(N, K) one column for each attribute, at the index of its number."""
        columns = np.zeros_like(self.embedding_)
        for number in np.unique(self.dimension_attribute_[self.dimension_attribute_ >= 0]):
            columns[:, number] = self.embedding_[:, self._engine.layout.column(int(number))]
        return columns

    def uncertain_grids(self, n: int, grid_size: int, random_state: int | None = None) -> IntArray:
        """(n, grid_size) grids of the images whose positions are least certain.

        Images are drawn without replacement, with odds 1 / (1 + n), where n is the number of
        answers about them for the attribute with the fewest.
        """
        self._check_fitted()
        return least_known_grids(
            self._engine.information(), n, grid_size, np.random.default_rng(random_state)
        )

    def held_out_pairs(self) -> tuple[NDArray[np.int8], FloatArray] | None:
        """Predictions of the answers that `fit` held out to judge this model, before it also
        learned from them: (G, P) labels (1 same, 0 different, -1 no pair) and distances.

        None if there were too few answers to hold any out, and in a loaded model. The
        weights of attributes and pooled embedding, three numbers, were chosen on the same
        answers.
        """
        self._check_fitted()
        return self._engine.held_out()

    def level_of_detail(self) -> FloatArray:
        """(W,) probability that an annotator groups an attribute finely."""
        self._check_fitted()
        return self._engine.level_of_detail()

    def carelessness(self) -> FloatArray:
        """(W,) probability of an answer about no attribute."""
        self._check_fitted()
        return self._engine.carelessness()

    def _keep(self, engine: CrowdEngine) -> None:
        self._engine = engine
        self.structure_ = engine.model.structure
        self.embedding_ = engine.embedding
        self.embedding_error_ = engine.embedding_error
        self.dimension_attribute_ = engine.layout.attribute
        self.annotator_activation_ = engine.annotator_activation
        self.attribute_confidence_ = engine.confidence()
        self.held_out_ = engine.model.trace
        self.placed_ = ~engine.answered()
        prior = engine.model.prior
        self.combines_features_ = prior is not None and prior.improves
        # P(same) = 1/2 after calibration on held-out answers.
        self.threshold_ = float(np.log(2.0))

    def _check_known(self, groupings: Groupings) -> None:
        self._check_fitted()
        check_index_range("annotators", groupings.annotators, 0, len(self.annotator_activation_))
        check_index_range("images", groupings.images, -1, len(self.embedding_))

    def _learned(self) -> tuple[Arrays, State]:
        arrays, state = self._engine.arrays()
        named = {f"model.{name}": array for name, array in arrays.items()}
        named["attribute_share"] = self.attribute_share_
        named["attribute_share_error"] = self.attribute_share_error_
        return named, state

    def _restore(self, arrays: Arrays, state: State) -> None:
        if "structure" not in state:
            raise ValueError(
                "this model was saved by an earlier version and can no longer be loaded; "
                "train again from the answers"
            )
        model = {
            name.removeprefix("model."): array
            for name, array in arrays.items()
            if name.startswith("model.")
        }
        self._keep(CrowdEngine.from_arrays(model, state, self.n_dimensions))
        self.attribute_share_ = arrays["attribute_share"]
        self.attribute_share_error_ = arrays["attribute_share_error"]
