"""CrowdSter: a similarity metric from clustering queries that grow ever more local."""

from __future__ import annotations

from typing import Self

import numpy as np

from learning.arrays import FloatArray, IntArray, check_count, check_positive
from learning.base import Arrays, Estimator, State
from learning.groupings import Groupings
from learning.metrics import nearest_neighbors
from learning.queries import local_grids, random_grids
from learning.sammon import random_scatter, sammon_projection

# Distances below this part of the typical one are indistinguishable: dividing them by
# beta again and again only makes the stress, which divides by them, ill-conditioned.
_SMALLEST_DISTANCE = 0.05


class CrowdSter(Estimator):
    """Algorithm 1 of CrowdSter, one `select_grids` and one `update` per phase.

    An embedding E of all images starts at random. Each phase asks grids, takes the
    distances D of E for every pair ever asked, divides D by beta where most answers of
    the phase put the pair together and multiplies it by beta where most kept it apart,
    and embeds the images again by a Sammon projection weighted 1 on those pairs and
    epsilon on all others.

    Readings where the paper leaves room: the first phase asks random grids, for local
    ones in a random embedding are worse than random; grids then come from the k nearest
    images of a seed, k shrinking from wide to `neighbors_end * grid_size` over `n_phases`
    phases; the scale of the embedding is normalised every phase; small distances are
    clipped; several seeds start apart (`n_excluded` nearest neighbours).

    Parameters
    ----------
    n_images : images of the collection, N.
    grid_size, n_bins : images of a grid (n_q) and the bins an annotator has (n_c).
    n_dimensions : coordinates of the embedding. Three is as good as ten for colours, planes
        and clusters, and parts them better from random grids; images that truly vary in
        six or more ways want more.
    algorithm : "paper", the literal update rule.
    beta : factor of the update rule, > 1.
    epsilon : weight of a pair never asked; 0 keeps the projection sparse, else these
        pairs are represented by a random sample of them.
    n_phases : phases the schedule of k is laid out for; later phases stay at its end.
    neighbors_start : k of the second phase, as a part of the collection.
    neighbors_end : k of the last phase, in grids.
    n_excluded : nearest neighbours of a seed that may not be seeds too.
    n_iterations : steps of the projection per phase.
    random_state : int for repeatable grids and embeddings.

    Attributes
    ----------
    embedding_ : (N, d) coordinates, unit root mean square distance from their centre.
    n_phases_seen_ : updates so far.
    asked_pairs_ : (P,) sorted keys i * N + j, i < j, of all pairs ever asked.
    """

    def __init__(
        self,
        n_images: int,
        grid_size: int = 20,
        n_bins: int = 4,
        n_dimensions: int = 3,
        algorithm: str = "paper",
        beta: float = 4.0,
        epsilon: float = 0.0,
        n_phases: int = 5,
        neighbors_start: float = 0.15,
        neighbors_end: float = 1.75,
        n_excluded: int = 10,
        n_iterations: int = 60,
        random_state: int | None = None,
    ) -> None:
        self.n_images = n_images
        self.grid_size = grid_size
        self.n_bins = n_bins
        self.n_dimensions = n_dimensions
        self.algorithm = algorithm
        self.beta = beta
        self.epsilon = epsilon
        self.n_phases = n_phases
        self.neighbors_start = neighbors_start
        self.neighbors_end = neighbors_end
        self.n_excluded = n_excluded
        self.n_iterations = n_iterations
        self.random_state = random_state

    embedding_: FloatArray
    asked_pairs_: IntArray
    n_phases_seen_: int
    seed_: int
    n_calls_: int

    def select_grids(self, n: int) -> IntArray:
        """(n, grid_size) grids for the next round; random ones before the first update.

        Successive calls in one phase give different grids.
        """
        self._check_parameters()
        check_count("n", n, minimum=0)
        rng = self._generator("grids")
        if not hasattr(self, "embedding_"):
            return random_grids(n, self.grid_size, self.n_images, rng)
        k = self.n_neighbors_at(self.n_phases_seen_)
        return local_grids(self.embedding_, n, self.grid_size, k, rng, self.n_excluded)

    def update(self, groupings: Groupings) -> Self:
        """Learn from the answers of one round (the new ones only) and end the phase.

        Raises ValueError when the answers are about another number of images or hold no
        informative pair.
        """
        self._check_parameters()
        if groupings.n_images != self.n_images:
            raise ValueError(
                f"answers about {groupings.n_images} images, not n_images={self.n_images}"
            )
        asked, votes = pair_votes(groupings)
        if not len(asked):
            raise ValueError(f"{len(groupings)} answers hold no informative pair")
        rng = self._generator("update")
        start = self._starting_embedding(rng)
        everything = np.union1d(getattr(self, "asked_pairs_", asked), asked)
        i, j = np.divmod(everything, self.n_images)
        target = np.linalg.norm(start[i] - start[j], axis=1)
        target = np.maximum(target, _SMALLEST_DISTANCE * np.median(target))
        # Algorithm 1, UpdateDistances: D / beta or D * beta by majority, ties unchanged.
        target[np.searchsorted(everything, asked)] *= self.beta ** -np.sign(votes)
        self.embedding_ = sammon_projection(
            start, i, j, target, self.epsilon, self.n_iterations, rng
        )
        self.asked_pairs_ = everything
        self.n_phases_seen_ = self._phase() + 1
        return self

    def kneighbors(self, k: int) -> IntArray:
        """(N, k) indices of each image's nearest other images, nearest first."""
        self._check_fitted()
        return nearest_neighbors(self.embedding_, k)

    def n_neighbors_at(self, phase: int) -> int:
        """k of the given phase (0, the random one, sees all): geometric from wide to local."""
        if phase == 0:
            return self.n_images
        end = self.neighbors_end * self.grid_size
        start = max(end, self.neighbors_start * self.n_images)
        part = min(1.0, (phase - 1) / max(1, self.n_phases - 2))
        k = round(start ** (1 - part) * end**part)
        return int(np.clip(k, self.grid_size, self.n_images))

    def _phase(self) -> int:
        return getattr(self, "n_phases_seen_", 0)

    def _starting_embedding(self, rng: np.random.Generator) -> FloatArray:
        if hasattr(self, "embedding_"):
            return self.embedding_
        return random_scatter(self.n_images, self.n_dimensions, rng)

    def _generator(self, purpose: str) -> np.random.Generator:
        """A generator of its own for every call, so that a loaded model goes on alike."""
        if not hasattr(self, "seed_"):
            self.seed_ = (
                int(np.random.SeedSequence().generate_state(1)[0])
                if self.random_state is None
                else self.random_state
            )
            self.n_calls_ = 0
        self.n_calls_ += 1
        key = [self.seed_, ("grids", "update").index(purpose)]
        return np.random.default_rng([*key, self._phase(), self.n_calls_])

    def _check_parameters(self) -> None:
        check_count("n_images", self.n_images, minimum=2)
        check_count("grid_size", self.grid_size, minimum=2)
        check_count("n_bins", self.n_bins)
        check_count("n_dimensions", self.n_dimensions)
        check_count("n_phases", self.n_phases)
        check_count("n_iterations", self.n_iterations)
        check_count("n_excluded", self.n_excluded, minimum=0)
        check_positive("beta", self.beta, minimum=1.0)
        check_positive("epsilon", self.epsilon, strict=False)
        check_positive("neighbors_start", self.neighbors_start)
        check_positive("neighbors_end", self.neighbors_end)
        if self.grid_size > self.n_images:
            raise ValueError(f"grid_size must be at most n_images, got {self.grid_size}")
        if self.algorithm != "paper":
            raise ValueError(f"algorithm must be 'paper', got {self.algorithm!r}")

    def _learned(self) -> tuple[Arrays, State]:
        arrays: Arrays = {"embedding": self.embedding_, "asked_pairs": self.asked_pairs_}
        counts = {"seed": self.seed_, "calls": self.n_calls_, "phases": self.n_phases_seen_}
        return arrays, counts

    def _restore(self, arrays: Arrays, state: State) -> None:
        self.embedding_ = arrays["embedding"]
        self.asked_pairs_ = arrays["asked_pairs"]
        self.seed_ = int(state["seed"])
        self.n_calls_ = int(state["calls"])
        self.n_phases_seen_ = int(state["phases"])


def pair_votes(groupings: Groupings) -> tuple[IntArray, IntArray]:
    """Keys i * N + j (i < j) of the pairs asked, sorted, and votes for minus against each.

    returns (P,) int64 and (P,) int64
    """
    pairs = groupings.pairs()
    low, high = np.minimum(pairs.i, pairs.j), np.maximum(pairs.i, pairs.j)
    asked, position = np.unique(low * groupings.n_images + high, return_inverse=True)
    votes = np.bincount(position, weights=np.where(pairs.same, 1, -1), minlength=len(asked))
    return asked, votes.astype(np.int64)
