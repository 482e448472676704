"""Finds the number of columns of an attribute: one if it is ordered, more if it is not.

Six unordered species differ in up to five directions, and a line shows only one of them. An
attribute grows by the direction along which its own answers separate the images next. It keeps
this direction if it predicts answers from which it was not built about as well as the first.
"""

from __future__ import annotations

import torch
from torch import Tensor

from learning.answers import Answers
from learning.latent.sweeps import (
    MANY,
    RIDGE,
    Attributes,
    Sums,
    power_step,
    settle,
    standardised,
)

MAX_COLUMNS = 4
# The levels of an ordered attribute also differ along its square, at most half as clearly.
_MIN_RATIO = 0.6
# Nats per answer.
_MIN_EVIDENCE = 1.0
_POWER_STEPS, _FEW_POWER_STEPS = 12, 4


def grow(answers: Answers, attributes: Attributes, generator: torch.Generator) -> Attributes:
    """`attributes` with as many columns for each attribute as its answers support, at most four."""
    for _ in range(MAX_COLUMNS - 1):
        n_before = attributes.n_columns
        attributes = _pruned(answers, settle(answers, _widened(answers, attributes, generator), 3))
        if attributes.n_columns <= n_before:
            break
    return attributes


def _widened(answers: Answers, attributes: Attributes, generator: torch.Generator) -> Attributes:
    """Add a direction to every attribute, orthogonal to those it has."""
    assert attributes.sums is not None
    weight = attributes.sums.responsibility[:, :-1]
    new = torch.randn((answers.n_images, attributes.n), generator=generator).to(
        attributes.positions
    )
    for _ in range(_POWER_STEPS if len(answers) < MANY else _FEW_POWER_STEPS):
        totals, weights = power_step(answers, new, weight)
        new = standardised(_across(totals / (weights + RIDGE), attributes))
    numbers = torch.arange(attributes.n, device=attributes.owner.device)
    owner = torch.cat([attributes.owner, numbers])
    # An attribute's columns are next to each other.
    order = torch.argsort(owner, stable=True)
    sums = Sums(
        torch.cat([attributes.sums.totals, totals], dim=1)[:, order],
        torch.cat([attributes.sums.weights, weights], dim=1)[:, order],
        attributes.sums.responsibility,
        attributes.sums.shares,
        owner[order],
    )
    return Attributes(sums.places(), owner[order], sums)


def _across(points: Tensor, attributes: Attributes) -> Tensor:
    """(N, A) directions, orthogonal to the columns of each attribute."""
    points = points - points.mean(dim=0)
    columns = []
    for k in range(attributes.n):
        own = attributes.positions[:, attributes.owner == k]
        basis = torch.linalg.qr(own - own.mean(dim=0)).Q
        columns.append(points[:, k] - basis @ (basis.T @ points[:, k]))
    return torch.stack(columns, dim=1)


def _pruned(answers: Answers, attributes: Attributes) -> Attributes:
    """The attributes without columns that hardly predict their answers."""
    evidence = attributes.column_evidence
    assert evidence is not None
    strongest = evidence.new_full((attributes.n,), float("-inf"))
    strongest = strongest.scatter_reduce(0, attributes.owner, evidence, "amax")
    first = strongest[attributes.owner]
    kept = (evidence == first) | ((evidence > _MIN_RATIO * first) & (evidence > _MIN_EVIDENCE))
    if bool(kept.all()):
        return attributes
    return settle(answers, attributes.only(kept.nonzero()[:, 0]), 3)
