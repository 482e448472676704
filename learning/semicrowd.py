"""Semi-crowdsourced clustering: clusters all items from answers about pairs of a few of them."""

from __future__ import annotations

from typing import Any

from learning.arrays import FloatArray
from learning.deep_mixture.base import DeepMixture, Engine
from learning.deep_mixture.bayes_engine import BayesEngine
from learning.deep_mixture.features import Scaling
from learning.deep_mixture.networks import Shape
from learning.deep_mixture.outcome import Outcome
from learning.deep_mixture.scdc_engine import ScdcEngine
from learning.deep_mixture.settings import Settings


class SemiCrowdClustering(DeepMixture):
    """SCDC (Luo et al., NeurIPS 2018, section 2): a deep mixture that shares z with the crowd.

    z ~ Cat(pi); x | z ~ N(mu_z, diag Sigma_z); o | x ~ a decoder's Gaussian or Bernoulli;
    an annotator says "same" with P = alpha if z_i = z_j and 1 - beta otherwise (eq. 1).
    q(z | o) and q(x | z, o) are networks. The bound (eq. 4) sums over z and is maximised with
    minibatches of items and of pairs, for all parameters together.

    Parameters
    ----------
    n_clusters : K.
    n_latent : d, dimensions of x (at most the number of features).
    likelihood : "gaussian", "bernoulli", or "auto": Bernoulli for values in 0..1 that are
        nearly binary, otherwise Gaussian. For Gaussian, features are standardised; one that
        varies less than a tenth of the one that varies most stays smaller.
    network : "mlp", "conv" (images only), or "auto": "conv" for images.
    hidden : widths of the hidden layers ("conv": of the dense, last layer); None: the
        paper's (500, 500), (200, 200) for up to 100 features.
    n_epochs, pretrain_epochs : passes over the items; None: as many as give enough steps.
    batch_size : items, and about as many pairs (whole grids if known), per step.
    n_init : restarts, best by the bound.
    learning_rate : of Adam.
    start : "crowd": begin with an autoencoder whose codes the crowd's groups attract, and a
        mixture of the codes; "random": the paper's start, without pretrain_epochs and
        guidance.
    guidance : weight of the crowd's groups on the autoencoder of the start.
    worker_prior : Beta prior (right, wrong) of every alpha and beta.
    n_summed : clusters in the sum per item, with one unbiased draw for the rest; None: all.
    device : "auto", "cpu" or "cuda".
    random_state : int for a repeatable fit.

    Attributes
    ----------
    labels_ (N,), responsibilities_ (N, K), proportions_ (K,), embedding_ (N, d), elbo_
    (nats, all data), history_ (per epoch), annotator_sensitivity_ and
    annotator_specificity_ (W,).
    """

    _clusters_name = "n_clusters"

    def __init__(
        self,
        n_clusters: int = 10,
        n_latent: int = 8,
        likelihood: str = "auto",
        network: str = "auto",
        hidden: tuple[int, ...] | None = None,
        n_epochs: int | None = None,
        pretrain_epochs: int | None = None,
        batch_size: int = 128,
        n_init: int = 1,
        learning_rate: float = 1e-3,
        start: str = "crowd",
        guidance: float = 1.0,
        worker_prior: tuple[float, float] = (4.0, 1.0),
        n_summed: int | None = None,
        device: str = "auto",
        random_state: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_latent = n_latent
        self.likelihood = likelihood
        self.network = network
        self.hidden = hidden
        self.n_epochs = n_epochs
        self.pretrain_epochs = pretrain_epochs
        self.batch_size = batch_size
        self.n_init = n_init
        self.learning_rate = learning_rate
        self.start = start
        self.guidance = guidance
        self.worker_prior = worker_prior
        self.n_summed = n_summed
        self.device = device
        self.random_state = random_state

    def _own_settings(self) -> dict[str, Any]:
        return {"n_summed": self.n_summed}

    def _engine_for(self, shape: Shape, settings: Settings, n_annotators: int) -> Engine:
        return ScdcEngine(shape, settings, n_annotators)


class BayesianSemiCrowdClustering(DeepMixture):
    """BayesSCDC (section 3): priors on all global variables, messages instead of q(z | o).

    pi ~ Dirichlet, (mu_k, Sigma_k) ~ NIW, alpha_m, beta_m ~ Beta. A recognition network
    gives a Gaussian potential of x (eq. 9); q(x) and q(z) are the local optimum given it,
    by alternating eqs. 12 and 14, the second with the messages of annotated neighbours; global
    variables follow natural gradients (eq. 17), networks ordinary ones. Unneeded components
    lose their items, so that the number of clusters settles by itself.

    Additional parameters to those of `SemiCrowdClustering`
    ----------
    max_clusters : K at the start, instead of n_clusters.
    concentration : of the Dirichlet prior.
    component_spread : variance of a component that the NIW prior expects, for codes with
        variance about 1.
    n_sweeps : of eqs. 12 and 14 per step.
    natural_step : step length of eq. 17, at most 1; None: annealed.
    second_term : whether eq. 17's second term is added.
    merge : whether components are merged that are one according to the crowd; not after a
        random start.
    guidance : weight of the agreement between features alone and the crowd on z of annotated
        items; 0: the paper's objective.

    Additional attributes to those of `SemiCrowdClustering`
    ----------
    n_clusters_ : components with at least a tenth of an even share of the items.
    effective_clusters_ : their number after every epoch.
    annotator_sensitivity_interval_, annotator_specificity_interval_ : (W, 2), 95 %.
    responsibilities_ of annotated items include the messages of their pairs.
    """

    _clusters_name = "max_clusters"

    def __init__(
        self,
        max_clusters: int = 50,
        n_latent: int = 8,
        likelihood: str = "auto",
        network: str = "auto",
        hidden: tuple[int, ...] | None = None,
        n_epochs: int | None = None,
        pretrain_epochs: int | None = None,
        batch_size: int = 128,
        n_init: int = 1,
        learning_rate: float = 1e-3,
        start: str = "crowd",
        guidance: float = 1.0,
        worker_prior: tuple[float, float] = (4.0, 1.0),
        concentration: float = 0.5,
        component_spread: float = 0.1,
        n_sweeps: int = 4,
        natural_step: float | None = None,
        second_term: bool = False,
        merge: bool = True,
        device: str = "auto",
        random_state: int | None = None,
    ) -> None:
        self.max_clusters = max_clusters
        self.n_latent = n_latent
        self.likelihood = likelihood
        self.network = network
        self.hidden = hidden
        self.n_epochs = n_epochs
        self.pretrain_epochs = pretrain_epochs
        self.batch_size = batch_size
        self.n_init = n_init
        self.learning_rate = learning_rate
        self.start = start
        self.guidance = guidance
        self.worker_prior = worker_prior
        self.concentration = concentration
        self.component_spread = component_spread
        self.n_sweeps = n_sweeps
        self.natural_step = natural_step
        self.second_term = second_term
        self.merge = merge
        self.device = device
        self.random_state = random_state

    n_clusters_: int
    effective_clusters_: list[int]
    annotator_sensitivity_interval_: FloatArray
    annotator_specificity_interval_: FloatArray

    def _own_settings(self) -> dict[str, Any]:
        names = (
            "concentration",
            "component_spread",
            "n_sweeps",
            "natural_step",
            "second_term",
            "merge",
        )
        return {name: getattr(self, name) for name in names}

    def _engine_for(self, shape: Shape, settings: Settings, n_annotators: int) -> Engine:
        return BayesEngine(shape, settings, n_annotators)

    def _keep(self, scaling: Scaling, engine: Engine, outcome: Outcome) -> None:
        super()._keep(scaling, engine, outcome)
        assert isinstance(engine, BayesEngine)
        self.n_clusters_ = engine.n_used(len(self.labels_))
        self.effective_clusters_ = [int(epoch["clusters"]) for epoch in self.history_]
        intervals = engine.workers.intervals()
        self.annotator_sensitivity_interval_, self.annotator_specificity_interval_ = intervals
