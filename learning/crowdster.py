"""CrowdSter learns a similarity metric from clustering queries that become more and more local."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    as_index_array,
    check_count,
)
from learning.asked import AskedGrids, without_repeats
from learning.base import Arrays, Estimator, Progress, State
from learning.crowdster_checks import check_parameters, checked_features, checked_known
from learning.crowdster_state import learned_state, restore_state
from learning.groupings import Groupings
from learning.neighbors import nearest_neighbors
from learning.paper_crowdster import one_phase
from learning.queries import introducing_grids, local_grids, random_grids

_PAPER_DIMENSIONS = 3
# The number of dimensions is searched again when the number of answers has grown by this factor.
# Campaigns search it every time, because each of their jobs makes a new model.
_GROWTH = 2.0
# The first local grids of a small collection come from a neighbourhood of this many grids. A
# smaller one would keep groups together that no grid shows next to each other.
_WIDEST_GRIDS = 3.5
# With few images in a grid, an answer only says which are the nearest, and among images that are
# all very similar that is chance: the smallest neighbourhood has this many images, divided by
# those in a grid (64 for three, 24 for eight).
_CONTRAST = 192
# With more dimensions this applies to large collections too, because few of the images that are
# close in an early embedding are neighbours.
_FEW_DIMENSIONS = 8
# The share of the grids that are not random, if there is a focus.
_FOCUS_SHARE = 0.5
# The share of the grids that are neither random nor about the focus; the others refine the rest.
_MOST_NEW = 0.5
_N_EXCLUDED = {"likelihood": 3, "paper": 10}


class CrowdSter(Estimator):
    """Progressive queries (CrowdSter, Algorithm 1): `select_grids`, then `update`, per round.

    The first round asks random grids, because local ones in a random embedding are worse than
    random. Later grids come from the neighbourhood of seed images that are far apart, and the
    neighbourhood shrinks from round to round. `update` learns an embedding of all images:

    - "likelihood", the default: the embedding under which all answers so far are most
      probable, with each annotator trusted as far as the others support them. The number of
      dimensions, the softness of the choice of bins and the share of the pairs are those that
      predict held-out placements best. In grids of few images, a pooled model of the pairs
      is added to the choice of bins, or replaces it if the bins add nothing
      (`learning.binning`).
    - "paper": the distances of the pairs asked in this round are divided by beta if most
      answers put the pair together, and multiplied by it if most kept it apart. All pairs
      ever asked are embedded by a Sammon projection.

    Where the paper is not specific, both do this: the k of the k nearest neighbours shrinks
    from wide to `neighbors_end * grid_size` over `n_phases`, and several seeds start
    apart (`n_excluded` nearest neighbours). "likelihood" scales neighbourhoods by how
    far each image's own neighbours are, and keeps them wider for grids of few images.
    "paper" normalises the scale of the embedding every phase and clips small distances.

    Parameters
    ----------
    n_images : images of the collection, N. Answers can add more.
    grid_size : images of a grid (n_q).
    n_bins : bins of an annotator (n_c). It is stored with the model but not used, because
        the answers say how many bins each of them used.
    n_dimensions : coordinates of the embedding; None: the answers decide ("paper": 3).
    algorithm : "likelihood" or "paper".
    n_phases : phases of the schedule of k; later phases stay at its end.
    neighbors_start : k of the second phase, as a share of the collection (at least 3.5 grids,
        and exactly that if "likelihood" found more than eight dimensions).
    neighbors_end : k of the last phase, in grids.
    n_excluded : nearest neighbours of a seed that cannot be seeds too. None: 3, because seeds
        shown least come first anyway ("paper": 10, with less some images are never shown).
    random_share : share of the grids that are random, for comparison.
    beta : "paper": factor of the update rule, > 1.
    epsilon : "paper": weight of a pair never asked; 0 keeps the projection sparse, otherwise
        a random sample represents these pairs.
    n_iterations : "paper": steps of the projection per phase.
    device : "auto" uses a GPU if there is one.
    random_state : int for repeatable grids and embeddings.

    Attributes
    ----------
    embedding_ : (N, d) coordinates, unit root mean square distance from their centre.
    n_dimensions_ : d.
    uncertainty_ : (N,) "likelihood": deviation of each image's position, 1 if unknown.
    embedding_error_ : (N, d) "likelihood": deviations of the coordinates.
    placed_ : (N,) bool, "likelihood": images in no group of any answer that features place.
    carelessness_ : (W,) "likelihood": odds that an annotator puts an image at random.
    held_out_ : (G, 2) "likelihood": for every answer, how many of the placements that were
        held out of a fit it predicted, and how many there were.
    n_phases_seen_ : updates so far.
    asked_ : grids selected or answered so far.
    """

    def __init__(
        self,
        n_images: int,
        grid_size: int = 20,
        n_bins: int = 4,
        n_dimensions: int | None = None,
        algorithm: str = "likelihood",
        n_phases: int = 5,
        neighbors_start: float = 0.08,
        neighbors_end: float = 1.25,
        n_excluded: int | None = None,
        random_share: float = 0.0,
        beta: float = 4.0,
        epsilon: float = 0.0,
        n_iterations: int = 60,
        device: str = "auto",
        random_state: int | None = None,
    ) -> None:
        self.n_images = n_images
        self.grid_size = grid_size
        self.n_bins = n_bins
        self.n_dimensions = n_dimensions
        self.algorithm = algorithm
        self.n_phases = n_phases
        self.neighbors_start = neighbors_start
        self.neighbors_end = neighbors_end
        self.n_excluded = n_excluded
        self.random_share = random_share
        self.beta = beta
        self.epsilon = epsilon
        self.n_iterations = n_iterations
        self.device = device
        self.random_state = random_state

    embedding_: FloatArray
    uncertainty_: FloatArray
    embedding_error_: FloatArray
    placed_: BoolArray
    carelessness_: FloatArray
    held_out_: IntArray
    n_dimensions_: int
    n_phases_seen_: int
    asked_: AskedGrids
    _answers: Groupings
    _asked_pairs: IntArray
    _n_looked_at: int
    _n_asked_then: int
    seed_: int
    n_calls_: int

    def select_grids(self, n: int, focus: ArrayLike | None = None) -> IntArray:
        """(n, grid_size) grids for the next round; random ones before the first update.

        Successive calls return different grids, and no set of images is asked twice while
        there are others. Images that nobody has seen come first, in up to half of the
        grids. focus: images to ask more about; half of the grids that are not random are
        about their neighbourhoods.
        """
        return np.concatenate([grids for _, grids in self.plan_grids(n, focus)])

    def plan_grids(
        self, n: int, focus: ArrayLike | None = None, phase: int | None = None
    ) -> list[tuple[str, IntArray]]:
        """`select_grids` by purpose: "new", "random", "focus" or "local", in this order.

        phase: the phase whose neighbourhoods the grids use, by default the next.
        """
        check_parameters(self)
        check_count("n", n, minimum=0)
        rng = self._generator("grids", self._phase())
        if not hasattr(self, "embedding_"):
            return [("random", self._fresh(lambda m: self._random(m, rng), n))]
        new = self._never_shown()
        n_random = round(self.random_share * n)
        n_focus = 0 if focus is None else round(_FOCUS_SHARE * (n - n_random))
        n_others = n - n_random - n_focus
        n_new = min(-(-len(new) * 2 // self.grid_size), ceil(_MOST_NEW * n_others))
        n_local = n_others - n_new
        k = self.n_neighbors_at(self.n_phases_seen_ if phase is None else phase)

        def local(m: int, among: ArrayLike | None = None) -> IntArray:
            ours = self.algorithm == "likelihood"
            return local_grids(
                self.embedding_,
                m,
                self.grid_size,
                k,
                rng,
                self._n_excluded(),
                self.asked_ if ours else None,
                among,
                locally_scaled=ours,
            )

        wanted: list[tuple[str, int, Callable[[int], IntArray]]] = [
            ("new", n_new, lambda m: introducing_grids(new, m, self.grid_size, self._n(), rng)),
            ("random", n_random, lambda m: self._random(m, rng)),
            ("focus", n_focus, lambda m: local(m, focus)),
            ("local", n_local, local),
        ]
        return [(purpose, self._fresh(make, m)) for purpose, m, make in wanted if m or not n]

    def mark_asked(self, grids: ArrayLike) -> Self:
        """Record grids (n, S) as asked, whether or not they get answers; -1 pads."""
        before = self.asked_ if hasattr(self, "asked_") else self._nothing_asked()
        rows = as_index_array("grids", grids, 2)
        self.asked_ = before.plus(np.delete(rows, before.repeats(rows), axis=0))
        return self

    def update(
        self,
        groupings: Groupings,
        progress: Progress | None = None,
        learn: bool = True,
        features: ArrayLike | None = None,
        n_phases: int = 1,
        known: ArrayLike | None = None,
    ) -> Self:
        """Add the new answers of one round, learn, and end the phase.

        n_phases: number of rounds that these answers come from. What "likelihood" learns
        depends only on all answers and not on their order.

        features: (N, F) "likelihood": features of the images. Images are expected near images
        with similar features, as far as that predicts held-out placements. This helps early
        and counts less with every answer. Images in no group are placed by their features if
        these predict pairs of held-out images (`learning.crowdster_places`). known: (N,) bool,
        images that have features of their own, by default all.

        progress(done, total, {}) is called during learning. learn=False only adds the
        answers, for past rounds; the next update learns from them ("paper" always
        learns, because it needs the rounds one by one). Raises ValueError, without changes,
        if the answers are about fewer images, or if all answers contain no informative pair,
        unless learn is False.
        """
        check_parameters(self)
        n_images = groupings.n_images
        if n_images < self._n():
            raise ValueError(f"answers about {n_images} images, not n_images={self._n()}")
        check_count("n_phases", n_phases)
        if self.algorithm == "paper" and n_phases > 1:
            raise ValueError(
                f'algorithm "paper" learns from one round at a time, got n_phases={n_phases}'
            )
        given = checked_features(features, n_images)
        described = checked_known(known, n_images)
        self._check_device()
        self._check_joining(n_images)
        earlier = [self._answers] if hasattr(self, "_answers") else []
        answers = Groupings.concatenate([*earlier, groupings])
        if learn and not answers.informative_grids().any():
            raise ValueError(f"the {len(answers)} answers contain no informative pair")
        rng = self._generator("update", self._phase() + n_phases - 1)
        if self.algorithm == "paper":
            self._update_paper(groupings, rng)
        elif learn:
            self._learn(answers, rng, progress, given, described)
        self._take_in(answers, groupings.images)
        self._n_asked_then = len(self.asked_)
        self.n_phases_seen_ = self._phase() + n_phases
        return self

    def kneighbors(self, k: int) -> IntArray:
        """(N, k) indices of each image's nearest other images, nearest first."""
        self._check_fitted()
        return nearest_neighbors(self.embedding_, k)

    def n_neighbors_at(self, phase: int) -> int:
        """k of a phase, geometric from wide to local; phase 0 is random and uses all images."""
        n_images = self._n()
        if phase == 0:
            return n_images
        end = self.neighbors_end * self.grid_size
        if self.algorithm == "likelihood":
            end = max(end, _CONTRAST / self.grid_size)
        many = self.algorithm == "likelihood" and self._n_learned_dimensions() > _FEW_DIMENSIONS
        share = 0.0 if many else self.neighbors_start
        start = max(end, share * n_images, _WIDEST_GRIDS * self.grid_size)
        # A single local phase works best with a small neighbourhood.
        n_steps = self.n_phases - 2
        part = min(1.0, (phase - 1) / n_steps) if n_steps > 0 else 1.0
        k = round(start ** (1 - part) * end**part)
        return int(np.clip(k, self.grid_size, n_images))

    def _update_paper(self, groupings: Groupings, rng: np.random.Generator) -> None:
        n_dimensions = self.n_dimensions or _PAPER_DIMENSIONS
        start = getattr(self, "embedding_", None)
        # Nothing is known yet, so the next grids are still random.
        if start is None and not groupings.informative_grids().any():
            return
        self.embedding_, self._asked_pairs = one_phase(
            groupings,
            start,
            getattr(self, "_asked_pairs", np.empty(0, np.int64)),
            n_dimensions,
            self.beta,
            self.epsilon,
            self.n_iterations,
            rng,
        )
        self.n_dimensions_ = n_dimensions

    def _learn(
        self,
        answers: Groupings,
        rng: np.random.Generator,
        progress: Progress | None,
        features: FloatArray | None,
        described: BoolArray | None,
    ) -> None:
        # Imported here: selecting grids needs no torch.
        from learning.binning.model import learn
        from learning.crowdster_places import place_unseen

        known = self.n_dimensions
        if known is None and len(answers) < _GROWTH * getattr(self, "_n_looked_at", 0):
            known = self.n_dimensions_
        seed = int(rng.integers(2**31))
        learned = learn(answers, known, seed, self.device, progress, features)
        if known is None:
            self._n_looked_at = len(answers)
        placed = place_unseen(
            learned.embedding, learned.uncertainty, answers, features, described, seed
        )
        self.embedding_, self.embedding_error_ = placed.embedding, placed.deviation
        self.placed_ = placed.by_features
        self.uncertainty_ = placed.uncertainty
        self.carelessness_, self.held_out_ = learned.carelessness, learned.held_out
        self.n_dimensions_ = self.embedding_.shape[1]

    def _check_device(self) -> None:
        if self.algorithm == "likelihood":
            # Imported here: selecting grids needs no torch.
            from learning.devices import pick_device

            pick_device(self.device)

    def _check_joining(self, n_images: int) -> None:
        places = getattr(self, "embedding_", None)
        if self.algorithm == "paper" and places is not None and len(places) < n_images:
            raise ValueError('algorithm "paper" cannot add images to a campaign')

    def _take_in(self, answers: Groupings, grids: IntArray) -> None:
        """Store all answers so far; the newest are to these grids."""
        self._answers = answers
        before = self.asked_ if hasattr(self, "asked_") else self._nothing_asked()
        if before.n_images < answers.n_images:
            self.asked_ = AskedGrids(before.grids, answers.n_images)
        self.mark_asked(grids)

    def _fresh(self, make: Callable[[int], IntArray], n: int) -> IntArray:
        """n grids from `make`, new ones if possible, which then count as asked."""
        before = self.asked_ if hasattr(self, "asked_") else self._nothing_asked()
        grids = without_repeats(make, n, before)
        self.asked_ = before.plus(grids)
        return grids

    def _random(self, n: int, rng: np.random.Generator) -> IntArray:
        return random_grids(n, self.grid_size, self._n(), rng)

    def _never_shown(self) -> IntArray:
        """Images in no answer (not even as leftovers) and in no grid selected since."""
        pending = self.asked_.grids[self._n_asked_then :]
        shown = np.concatenate([self._answers.images.ravel(), pending.ravel()])
        return np.flatnonzero(np.bincount(shown[shown >= 0], minlength=self._n()) == 0)

    def _n(self) -> int:
        return self.asked_.n_images if hasattr(self, "asked_") else self.n_images

    def _n_excluded(self) -> int:
        return _N_EXCLUDED[self.algorithm] if self.n_excluded is None else self.n_excluded

    def _n_learned_dimensions(self) -> int:
        return self.embedding_.shape[1] if hasattr(self, "embedding_") else 0

    def _nothing_asked(self) -> AskedGrids:
        return AskedGrids(np.empty((0, self.grid_size), np.int64), self.n_images)

    def _phase(self) -> int:
        return getattr(self, "n_phases_seen_", 0)

    def _generator(self, purpose: str, phase: int) -> np.random.Generator:
        """A separate generator for every call, so that a loaded model continues in the same way."""
        if not hasattr(self, "seed_"):
            self.seed_ = (
                int(np.random.SeedSequence().generate_state(1)[0])
                if self.random_state is None
                else self.random_state
            )
            self.n_calls_ = 0
        self.n_calls_ += 1
        key = [self.seed_, ("grids", "update").index(purpose)]
        return np.random.default_rng([*key, phase, self.n_calls_])

    def _learned(self) -> tuple[Arrays, State]:
        return learned_state(self)

    def _restore(self, arrays: Arrays, state: State) -> None:
        restore_state(self, arrays, state)
