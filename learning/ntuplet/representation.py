"""NeuCrowd's representation, in which items with the same label are close."""

from __future__ import annotations

from typing import Self

import numpy as np
import torch
from numpy.typing import ArrayLike

from learning.aggregation import aggregate
from learning.arrays import BoolArray, FloatArray, check_count, check_positive
from learning.base import Arrays, Estimator, Progress, State
from learning.devices import cores_for, pick_device
from learning.features import as_features
from learning.ntuplet.networks import ACTIVATIONS, EmbeddingNetwork
from learning.ntuplet.products import FloatArray32, Prepared
from learning.ntuplet.training import OPTIMIZERS, JointTraining, TrainingPlan
from learning.ntuplet.tuplets import Examples
from learning.votes import Assured, Votes, as_votes, assured_by_probability, assured_by_votes

# The number of items per block, few enough to stay in the cache.
ROWS_AT_ONCE = 1_024
_LEAST_OF_A_CLASS = 2


class NeuCrowd(Estimator):
    """Two networks, trained in turn (section 3.4). One embeds items so that those with the same
    label are close; the other predicts which n-tuplets are hard, and these are trained on.

    The certainty of an item's label is its label assurance (definition 2). Examples whose
    neighbours in the embedding have another label are drawn seldom (definition 3). The anchors
    of a batch are replaced by their mean, weighted by assurance (definition 4).

    Parameters
    ----------
    n : elements of an n-tuplet: anchor, positive, n - 2 negatives.
    layers : units of the two layers of either network.
    activation : "sigmoid", "tanh" or "relu".
    dropout, l2 : of the embedding network; l2 is the weight of half the sum of squared weights.
    feature_sparsity : weight of the sum of norms of the features' weights (a group lasso);
        above 0, uninformative features drop out. Not in the paper.
    products : number of components of the products of pairs of features that replace the
        features (see `Products`); 0: the features themselves. Not in the paper.
    eta, relevance_at_zero : eta and C of the softmax (section 3.3.3).
    safe_sampling, margin, unsafe_weight : whether safe examples are drawn more often; delta of
        definition 3; the weight of other examples relative to safe ones.
    robust_anchors, sampling_network : whether they are used (table 3 removes them).
    hard_rate : candidates per n-tuplet that is trained on.
    batch_size, n_steps, n_epochs, patience : n-tuplets per step, steps per epoch, maximum number
        of epochs, epochs without improvement on held-out items before training ends.
    validation_fraction : share of the items with votes that is held out to end the training.
    optimizer, learning_rate : "adam" or "adadelta" (the paper's).
    assurance : "votes" (definition 2) or "dawid_skene", which weights annotators differently.
    device : "auto", "cpu" or "cuda".
    random_state : int for a repeatable fit.

    Attributes
    ----------
    embedding_ : (n, e) positions of the items of the fit.
    label_, assurance_ : (n,) labels by the votes and their assurance, 0 if undecided.
    n_epochs_ : epochs after which the weights were kept. history_ : metrics of each epoch.
    """

    def __init__(
        self,
        n: int = 5,
        layers: tuple[int, int] = (64, 16),
        activation: str = "relu",
        dropout: float = 0.2,
        l2: float = 0.1,
        feature_sparsity: float = 0.0,
        products: int = 0,
        eta: float = 2.0,
        relevance_at_zero: float = 1.0,
        safe_sampling: bool = True,
        margin: float = 0.0,
        unsafe_weight: float = 0.1,
        robust_anchors: bool = True,
        sampling_network: bool = True,
        hard_rate: float = 2.0,
        batch_size: int = 256,
        n_steps: int = 10,
        n_epochs: int = 30,
        patience: int = 10,
        validation_fraction: float = 0.2,
        optimizer: str = "adam",
        learning_rate: float = 3e-3,
        assurance: str = "votes",
        device: str = "auto",
        random_state: int | None = None,
    ) -> None:
        self.n = n
        self.layers = layers
        self.activation = activation
        self.dropout = dropout
        self.l2 = l2
        self.feature_sparsity = feature_sparsity
        self.products = products
        self.eta = eta
        self.relevance_at_zero = relevance_at_zero
        self.safe_sampling = safe_sampling
        self.margin = margin
        self.unsafe_weight = unsafe_weight
        self.robust_anchors = robust_anchors
        self.sampling_network = sampling_network
        self.hard_rate = hard_rate
        self.batch_size = batch_size
        self.n_steps = n_steps
        self.n_epochs = n_epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.assurance = assurance
        self.device = device
        self.random_state = random_state

    def fit(self, X: ArrayLike, votes: ArrayLike, progress: Progress | None = None) -> Self:
        """X: (n, D) finite; votes: (n, d) 1 yes, 0 no, -1 none.

        Items without a vote are ignored. Raises ValueError for values that are not finite,
        features that are all constant, votes of only one kind, and parameters out of range.
        """
        features, assured = self.checked(X, votes)
        held_out = self.drawn_to_hold_out(assured)
        return self.fit_on(features, assured, held_out, progress)

    def transform(self, X: ArrayLike) -> FloatArray:
        """(n, e) positions of items from their features. Raises NotFittedError, ValueError."""
        self._check_fitted()
        return self.places_of(as_features(X, len(self.prepared_.mean)))

    def places_of(self, features: FloatArray) -> FloatArray:
        """As `transform`, for features that were already checked."""
        parts = [
            self.embedded(self.prepared_(features[start : start + ROWS_AT_ONCE]))
            for start in range(0, len(features), ROWS_AT_ONCE)
        ]
        return np.concatenate(parts)

    def embedded(self, inputs: FloatArray32) -> FloatArray:
        """(n, e) positions from inputs that `prepared_` made of features."""
        device = pick_device(self.device)
        with torch.no_grad():
            places = self._network.to(device)(torch.as_tensor(inputs, device=device))
        return np.asarray(places.cpu().numpy(), np.float64)

    def checked(self, X: ArrayLike, votes: ArrayLike) -> tuple[FloatArray, Assured]:
        """Features, and labels by the votes; raises as `fit` does."""
        self._check_parameters()
        features, given = as_features(X), as_votes(votes)
        if len(features) != len(given):
            raise ValueError(f"X has {len(features)} items, but votes are about {len(given)}")
        assured = self._assured(given)
        for label, word in ((1, "yes"), (0, "no")):
            n_items = int((assured.known & (assured.label == label)).sum())
            if n_items < _LEAST_OF_A_CLASS:
                raise ValueError(
                    f"at least {_LEAST_OF_A_CLASS} items need mostly {word!r} votes, got {n_items}"
                )
        return features, assured

    def _assured(self, votes: Votes) -> Assured:
        if self.assurance == "votes":
            return assured_by_votes(votes)
        return assured_by_probability(aggregate(votes, "dawid_skene").probability)

    def _check_parameters(self) -> None:
        for name, least in (("n", 3), ("batch_size", 1), ("n_steps", 1), ("n_epochs", 1)):
            check_count(name, getattr(self, name), least)
        check_count("products", self.products, 0)
        for name in ("eta", "learning_rate", "hard_rate", "unsafe_weight"):
            check_positive(name, getattr(self, name))
        for name in ("l2", "feature_sparsity", "margin", "validation_fraction", "dropout"):
            check_positive(name, getattr(self, name), strict=False)
        choices = {
            "activation": tuple(ACTIVATIONS),
            "optimizer": tuple(OPTIMIZERS),
            "assurance": ("votes", "dawid_skene"),
        }
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {known}, got {getattr(self, name)!r}")

    def drawn_to_hold_out(self, assured: Assured) -> BoolArray:
        """(n,) whether each item is held out: a fraction of each class, if enough remain."""
        rng = np.random.default_rng(self.random_state)
        chosen = np.zeros(len(assured.label), np.bool_)
        for label in (0, 1):
            items = np.flatnonzero(assured.known & (assured.label == label))
            n_held = round(self.validation_fraction * len(items))
            if min(n_held, len(items) - n_held) < _LEAST_OF_A_CLASS:
                return np.zeros(len(assured.label), np.bool_)
            chosen[rng.permutation(items)[:n_held]] = True
        return chosen

    def fit_on(
        self,
        features: FloatArray,
        assured: Assured,
        held_out: BoolArray,
        progress: Progress | None = None,
        prepared: Prepared | None = None,
    ) -> Self:
        """Learn from (n, D) features of labelled items that are not held out; the held-out ones
        end the training. prepared: a conversion that several networks share."""
        known = assured.known & ~held_out
        rng = np.random.default_rng(self.random_state)
        seed = int(rng.integers(2**31))
        device = pick_device(self.device)
        self.prepared_ = prepared or Prepared.of(features[assured.known], self.products, rng)

        def examples(rows: BoolArray) -> Examples:
            return Examples(
                torch.as_tensor(self.prepared_(features[rows]), device=device),
                torch.as_tensor(assured.label[rows], device=device),
                torch.as_tensor(assured.assurance[rows], device=device).float(),
            )

        def listen(epoch: int, metrics: dict[str, float]) -> None:
            if progress is not None:
                progress(epoch, self.n_epochs, metrics)

        with cores_for(len(features)), torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            checked = examples(held_out) if held_out.any() else None
            training = JointTraining(examples(known), checked, self._plan(), seed)
            training.run(listen)
            self._network = training.network
            self.n_epochs_ = training.best_epoch
            self.history_ = training.history
            self.label_, self.assurance_ = assured.label, assured.assurance
            self.embedding_: FloatArray = np.empty((0, 0))
            self.embedding_ = self.transform(features)
        return self

    def _plan(self) -> TrainingPlan:
        own = self.get_params(deep=False)
        for name in ("validation_fraction", "assurance", "device", "random_state"):
            own.pop(name)
        return TrainingPlan(
            **{name: value for name, value in own.items() if name in TrainingPlan.__annotations__}
        )

    def _learned(self) -> tuple[Arrays, State]:
        arrays: Arrays = {
            "embedding": self.embedding_,
            "label": self.label_,
            "assurance": self.assurance_,
            **{f"prepared.{name}": value for name, value in self.prepared_.arrays().items()},
        }
        weights = {
            f"network.{name}": value.cpu().numpy()
            for name, value in self._network.state_dict().items()
        }
        return arrays | weights, {"n_epochs": self.n_epochs_, "history": self.history_}

    def _restore(self, arrays: Arrays, state: State) -> None:
        self.embedding_ = arrays["embedding"]
        self.label_, self.assurance_ = arrays["label"], arrays["assurance"]
        self.prepared_ = Prepared.from_arrays(under("prepared.", arrays))
        self.n_epochs_, self.history_ = int(state["n_epochs"]), list(state["history"])
        self._network = EmbeddingNetwork(
            self.prepared_.n_inputs, self.layers, self.dropout, self.activation
        )
        weights = under("network.", arrays)
        self._network.load_state_dict(
            {name: torch.as_tensor(value) for name, value in weights.items()}
        )
        self._network.eval()


def under(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays whose names begin with the prefix, by their names without it."""
    return {
        name.removeprefix(prefix): value
        for name, value in arrays.items()
        if name.startswith(prefix)
    }
