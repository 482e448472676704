"""Campaigns that end themselves when a share of the neighbours is settled.

After each round a model of either half of the answers; a campaign ends when two looks in a row, of
the same answers with fresh halves, say that the target is settled. Whether it is: the share of the
neighbours that the model of another campaign has, by the same crowd with other grids, with as many
answers. CrowdSter chooses its grids as in campaigns; the other strategies ask random ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench.settled.fits import ROUNDS, fit_of
from bench.settled.worlds import N_BINS, SimulatedCrowd, crowd_for, random_grids
from learning.arrays import FloatArray, IntArray
from learning.crowdster import CrowdSter
from learning.groupings import Groupings
from learning.neighbors import nearest_neighbors
from learning.split_half import neighbors_compared, split_half

TARGET = 0.6
# Rounds of a generous budget, and answers in each.
LOOKS, PER_ROUND = 8, 40


@dataclass(frozen=True)
class Stop:
    """after: the round that a campaign ended itself after, None for those that took the budget.
    share: what another model then has in common, nan for those."""

    seed: int
    after: int | None
    share: float

    @property
    def saved(self) -> float:
        return 0.0 if self.after is None else 1 - self.after / LOOKS


def careful_crowd(strategy: str, seed: int, noise: float | None = None) -> SimulatedCrowd:
    """A crowd that settles within the budget: few images, and little noise by default."""
    crowd = crowd_for(strategy, 2 * seed + 10_000)
    noise = float(np.random.default_rng(seed).choice([0.0, 0.1])) if noise is None else noise
    return replace(crowd, noise=noise, grid_size=12)


def campaign(
    strategy: str, crowd: SimulatedCrowd, turn: int, n_rounds: int, cache: Path
) -> Groupings:
    """All answers of so many rounds."""
    path = cache / f"campaign_{strategy}_{crowd.seed}_{crowd.noise}_{turn}_{n_rounds}.npz"
    if path.exists():
        stored = np.load(path)
        tables = (stored[name].astype(np.int64) for name in ("images", "groups", "annotators"))
        images, groups, annotators = tables
        return Groupings(images, groups, annotators, crowd.n_images, int(stored["n_annotators"]))
    rng, rounds = np.random.default_rng([crowd.seed, turn, 3]), list[Groupings]()
    for number in range(n_rounds):
        grids = _grids(strategy, crowd, rounds, turn, rng)
        rounds.append(crowd.answers(grids, 100 * turn + number))
    answers = Groupings.concatenate(rounds)
    cache.mkdir(parents=True, exist_ok=True)
    np.savez(path, images=answers.images, groups=answers.groups, annotators=answers.annotators,
             n_annotators=answers.n_annotators)  # fmt: skip
    return answers


def _grids(
    strategy: str,
    crowd: SimulatedCrowd,
    rounds: list[Groupings],
    turn: int,
    rng: np.random.Generator,
) -> IntArray:
    if strategy != "crowdster" or not rounds:
        return random_grids(crowd, PER_ROUND, rng)
    model = CrowdSter(
        n_images=crowd.n_images,
        grid_size=crowd.grid_size,
        n_bins=N_BINS,
        n_phases=ROUNDS,
        random_state=crowd.seed + turn,
    )
    model.update(Groupings.concatenate(rounds), n_phases=len(rounds))
    phase = min(len(rounds), ROUNDS - 1)
    return np.concatenate([grids for _, grids in model.plan_grids(PER_ROUND, None, phase=phase)])


def play(strategy: str, crowd: SimulatedCrowd, target: float, cache: Path) -> Stop:
    """Look after each round, until two looks say that the target is settled."""
    fit = fit_of(strategy, crowd.features, crowd.seed, cache)
    answers = campaign(strategy, crowd, 0, LOOKS, cache)
    for number in range(1, LOOKS):
        so_far = answers.subset(np.arange(number * PER_ROUND))
        # The second look is only taken if the first says so.
        looks = (split_half(fit, so_far, random_state=state) for state in (number, 100 + number))
        if all(look is not None and look.is_settled(target) for look in looks):
            other = campaign(strategy, crowd, 1, number, cache)
            return Stop(crowd.seed, number, _share(fit(so_far), fit(other)))
    return Stop(crowd.seed, None, float("nan"))


@dataclass(frozen=True)
class NoiseLook:
    """What a look says of answers that put images together at random: settled (as predicted), and
    whether it would end a campaign, at a target hardly above chance."""

    settled: float
    auc: float
    stops: bool


def noise_look(strategy: str, seed: int, cache: Path) -> NoiseLook | None:
    """A look at half a budget of noise. The features of SCDC have clusters."""
    crowd = careful_crowd(strategy, seed, noise=1.0)
    rng = np.random.default_rng([seed, 4])
    answers = crowd.answers(random_grids(crowd, LOOKS * PER_ROUND // 2, rng), 0)
    look = split_half(fit_of(strategy, crowd.features, crowd.seed, cache), answers)
    if look is None:
        return None
    return NoiseLook(look.settled, float(look.auc.mean()), look.is_settled(1.5 * look.chance))


def _share(first: FloatArray, second: FloatArray) -> float:
    k = neighbors_compared(len(first))
    here, there = nearest_neighbors(first, k), nearest_neighbors(second, k)
    return float((here[:, :, None] == there[:, None, :]).any(axis=2).mean())
