"""Finds the attributes of the answers: random directions compete, grow and are removed."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from learning.answers import Answers
from learning.latent.growth import grow
from learning.latent.sweeps import (
    MANY,
    RIDGE,
    Attributes,
    power_step,
    settle,
    standardised,
    sweep,
)

# An attribute must explain its answers this much better (nats per answer) than the others
# could after adapting. Splinters of one attribute gain below 2, the weakest true ones of
# simulated crowds with 30 % slips 3, ordinary ones 5 and more.
_MIN_GAIN = 2.5
_MIN_ANSWERS = 5.0
# Two attributes whose columns share this much variance are one.
_DUPLICATE = 0.64
# The maximum number of lines that can grow; more would only be splinters.
_MAX_LINES = 6

# Placements per image in the part of very many answers that finds the attributes, and sweeps over
# all answers afterwards.
_PLACEMENTS, _SWEEPS_OF_ALL = 12, 4

SweepDone = Callable[[], None]


def find_attributes(
    answers: Answers,
    n_attributes: int,
    n_starts: int,
    generator: torch.Generator,
    sweep_done: SweepDone = lambda: None,
) -> Attributes:
    """At most `n_attributes`, most used first, the best of `n_starts` by likelihood.

    There can be fewer, and there are none if no answer separates its images.
    """
    part = _enough(answers, generator)
    best: Attributes | None = None
    for _ in range(n_starts):
        attributes = _from_random_start(part, n_attributes, generator)
        if best is None or attributes.log_likelihood > best.log_likelihood:
            best = attributes
        sweep_done()
    assert best is not None
    if len(part) < len(answers):
        best = settle(answers, Attributes(best.positions, best.owner), _SWEEPS_OF_ALL)
    return best.keep(torch.argsort(best.support, descending=True, stable=True))


def _enough(answers: Answers, generator: torch.Generator) -> Answers:
    """Random answers, as many as finding the attributes needs."""
    width = max(1, answers.images.shape[1])
    n = max(MANY, -(-_PLACEMENTS * answers.n_images // width))
    if n >= len(answers):
        return answers
    return answers.rows(torch.randperm(len(answers), generator=generator)[:n].to(answers.device))


def _from_random_start(
    answers: Answers, n_attributes: int, generator: torch.Generator
) -> Attributes:
    """Let more random directions than needed compete for the answers, and remove the losers."""
    n_candidates = min(max(2 * n_attributes + 2, 16), max(1, answers.n_images - 1))
    span = _principal_subspace(answers, min(max(n_attributes + 2, 8), n_candidates), generator)
    mix = torch.randn((span.shape[1], n_candidates), generator=generator).to(span)
    attributes = Attributes.lines(standardised(span @ mix))
    n_sweeps = 40 if len(answers) < MANY else 24
    for done in range(n_sweeps):
        # Cooling lets every candidate move at first; at the end every answer decides.
        attributes = sweep(answers, attributes, min(1.0, 0.2 + done * 1.6 / n_sweeps))
        if done >= 0.4 * n_sweeps:
            attributes = _without_losers(attributes)
    attributes = settle(answers, _reduced(answers, attributes, max(n_attributes, _MAX_LINES), 0.0))
    grown = _without_losers(grow(answers, attributes, generator))
    return _reduced(answers, settle(answers, grown), n_attributes, _MIN_GAIN)


def _principal_subspace(answers: Answers, n: int, generator: torch.Generator) -> Tensor:
    """(N, n) directions along which images of one group are close in all answers."""
    points = torch.randn((answers.n_images, n), generator=generator).to(answers.device)
    for _ in range(15 if len(answers) < MANY else 6):
        totals, weights = power_step(answers, points)
        points = totals / (weights + RIDGE).sqrt()
        points = torch.linalg.qr(points - points.mean(dim=0)).Q
    scaled: Tensor = points * len(points) ** 0.5
    return scaled


def _without_losers(attributes: Attributes) -> Attributes:
    """The attributes without those that have hardly an answer or are within a stronger one."""
    support, owner = attributes.support, attributes.owner
    lines = standardised(attributes.positions)
    shared = (lines.T @ lines / len(lines)) ** 2
    kept: list[int] = []
    for k in torch.argsort(support, descending=True, stable=True).tolist():
        if kept and float(support[k]) < _MIN_ANSWERS:
            break
        rows = shared[owner == k]
        if all(float(rows[:, owner == other].sum(dim=1).mean()) < _DUPLICATE for other in kept):
            kept.append(k)
    return attributes.keep(torch.tensor(sorted(kept), device=support.device))


def _reduced(
    answers: Answers, attributes: Attributes, n_attributes: int, min_gain: float
) -> Attributes:
    """Remove, one by one, the attribute that the others can replace best.

    This ends when at most `n_attributes` are left and each gains `min_gain` nats per answer.
    """
    n_trials, n_sweeps = (3, 8) if len(answers) < MANY else (1, 4)
    while attributes.n > 1 and (attributes.n > n_attributes or min_gain > 0):
        support = attributes.support
        trials = []
        for number in torch.argsort(support, stable=True)[:n_trials].tolist():
            others = [other for other in range(attributes.n) if other != number]
            kept = torch.tensor(others, device=answers.device)
            rest = settle(answers, attributes.keep(kept), n_sweeps)
            loss = attributes.log_likelihood - rest.log_likelihood
            trials.append((loss / max(float(support[number]), 1.0), rest))
        loss_per_answer, rest = min(trials, key=lambda trial: trial[0])
        if attributes.n <= n_attributes and loss_per_answer > min_gain:
            break
        attributes = rest
    return attributes
