"""Simulation of a campaign in memory by a simulated crowd, to predict what its answers would find.

The strategy, its settings and its rounds are the campaign's own. Only people, pages and the
database are missing. Each budget is simulated as a separate campaign, because a budget is divided
among the rounds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.campaigns.rounds import even_share
from app.kinds import kind_of
from app.strategies import get_strategy
from app.strategies.base import Learned, LearningData
from app.strategies.grids import FirstRound
from learning.groupings import Groupings
from learning.simulation import BallotCrowd, Crowd, neighbours_right, true_distances

NEIGHBOURS = 10
# For a larger collection, this many of its images are simulated. The answers needed grow with the
# number of images, and neighbours are then counted on a coarser scale.
MOST_IMAGES = 500
MOST_ANSWERS = 4_000
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Design:
    """The parts of a campaign that determine how much its answers find."""

    kind: str
    strategy: str
    settings: dict[str, Any]
    rounds: int
    grid_size: int
    max_groups: int
    answers_per_grid: int
    seed: int
    classes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Point:
    """The quality after `answers` answers.

    right: share of nearest neighbours that are right, or of labels if people vote.
    error: standard error of `right` over images.
    foretold: the strategy's own measure on answers that it has not seen.
    """

    answers: int
    right: float
    error: float
    foretold: float | None


@dataclass(frozen=True)
class Played:
    """A simulated campaign: one point per round, and the last model's (N, d) embedding of the
    images."""

    points: list[Point]
    embedding: NDArray[np.float64]


def play(
    design: Design,
    crowd: Crowd,
    budget: int,
    seed: int,
    features: NDArray[np.floating[Any]] | None = None,
    progress: Progress = lambda _: None,
) -> Played:
    """Simulate the whole campaign with `budget` answers. `features` are those of the crowd's
    images, if the strategy uses features. Raises ValueError if the model can't learn from the
    answers."""
    strategy = get_strategy(design.strategy)
    rng = np.random.default_rng([seed, budget])
    right_of = _measure(crowd)
    n_grids = budget // design.answers_per_grid
    about = FirstRound(crowd.n_images, design.grid_size, seed, rng)
    first = strategy.first_grids(even_share(n_grids, design.rounds, 1), about, design.settings)
    grids, purposes = first.images, first.purposes
    data = LearningData(
        rounds=[],
        n_images=crowd.n_images,
        grid_size=design.grid_size,
        n_rounds=design.rounds,
        n_groups=design.max_groups,
        ballot=kind_of(design).ballot,
        seed=seed,
        features=features,
    )
    points: list[Point] = []
    for number in range(1, design.rounds + 1):
        answers, words = _answer(design, crowd, grids, rng)
        data = replace(
            data,
            rounds=[*data.rounds, answers],
            words=[*data.words, *words],
            purposes=[*data.purposes, *np.repeat(purposes, design.answers_per_grid).tolist()],
            n_full=number,
            begun=np.concatenate(
                [round_answers.images for round_answers in [*data.rounds, answers]]
            ),
        )
        learned = strategy.learn(data, design.settings, lambda _: None)
        points.append(_point(data, learned, right_of(learned)))
        progress(number / design.rounds)
        n_next = even_share(n_grids, design.rounds, number + 1)
        if learned.enough:
            break
        if number < design.rounds and n_next:
            chosen = learned.select_grids(n_next, number + 1)
            grids, purposes = chosen.images, chosen.purposes
    return Played(points, learned.embedding)


def _answer(
    design: Design, crowd: Crowd, grids: NDArray[np.int64], rng: np.random.Generator
) -> tuple[Groupings, list[list[str]]]:
    """Have each grid answered by as many different annotators as it needs, if the crowd has
    enough."""
    kind = kind_of(design)
    images = np.repeat(grids, design.answers_per_grid, axis=0)
    # Annotators take turns, because a person answers a grid only once.
    who = np.concatenate(
        [
            np.resize(rng.permutation(crowd.n_annotators), design.answers_per_grid)
            for _ in range(len(grids))
        ]
    ).astype(np.int64)
    answers = [
        kind.simulate(crowd, int(person), grid, design.max_groups)
        for person, grid in zip(who, images, strict=True)
    ]
    groups = np.array([answer.groups for answer in answers], np.int64)
    grouped = Groupings(images, groups, who, crowd.n_images, crowd.n_annotators)
    return grouped, [answer.descriptions for answer in answers]


def _measure(crowd: Crowd) -> Callable[[Learned], NDArray[np.float64]]:
    """Return a function that tells (N,) how right a model is on each image."""
    if isinstance(crowd, BallotCrowd):
        truth = crowd.truth

        def labels_right(learned: Learned) -> NDArray[np.float64]:
            assert learned.labels is not None
            return learned.labels.right(truth)

        return labels_right
    distances = true_distances(crowd)
    return lambda learned: neighbours_right(learned.embedding, distances, NEIGHBOURS)


def _point(data: LearningData, learned: Learned, right: NDArray[np.float64]) -> Point:
    scores = [learned.metrics.get(name) for name in ("agreement", "held_out_auc")]
    return Point(
        answers=sum(len(round_answers) for round_answers in data.rounds),
        right=float(right.mean()),
        error=float(right.std() / sqrt(len(right))),
        foretold=next((value for value in scores if value is not None), None),
    )


def ladder(design: Design, n_images: int, budget: int) -> list[int]:
    """Return budgets worth trying for `n_images` images, including the campaign's own budget."""
    least = design.rounds * design.answers_per_grid
    per_view = n_images / design.grid_size
    steps = {round(views * per_view) for views in kind_of(design).views_tried}
    sizes = {max(step, least) for step in (*steps, budget)}
    return sorted(size for size in sizes if size <= max(MOST_ANSWERS, least))


def answers_needed(points: Sequence[Point], target: float) -> float | None:
    """Return at how many answers a share `target` of the neighbours or labels is right, or None if
    no simulated budget reaches it. The estimate is a rising curve over the logarithm of the
    answers, fitted to the ends of the simulated campaigns up to the best budget. What follows that
    may fall, and must not hide what fewer answers reach."""
    if not points:
        return None
    best = _best_budget(points)
    points = [point for point in points if point.answers <= best]
    # This is imported here so that servers and commands start a second faster.
    from sklearn.isotonic import IsotonicRegression

    answers = np.array([point.answers for point in points], np.float64)
    rising = IsotonicRegression(out_of_bounds="clip")
    right = rising.fit_transform(np.log(answers), [point.right for point in points])
    order = np.argsort(answers, kind="stable")
    answers, right = answers[order], right[order]
    if target > right[-1]:
        return None
    place = int(np.searchsorted(right, target, side="left"))
    if place == 0:
        return float(answers[0])
    low, high = right[place - 1], right[place]
    part = (target - low) / (high - low)
    return float(np.exp(log(answers[place - 1]) * (1 - part) + log(answers[place]) * part))


def _best_budget(points: Sequence[Point]) -> int:
    """Return the number of answers with the best mean over the crowds, the least of equals."""
    right: dict[int, list[float]] = {}
    for point in points:
        right.setdefault(point.answers, []).append(point.right)
    return max(sorted(right), key=lambda answers: sum(right[answers]) / len(right[answers]))
