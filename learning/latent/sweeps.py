"""One pass over all answers, which updates each answer's attribute, then the images' positions.

An attribute is a subspace of one to four columns of coordinates. In the attribute that an
answer is about, images of one group are close: the between-group share of the grid's
variance is high in every column. A sweep alternates

    responsibility of attribute k for answer g   from those shares, with the images' positions
                                                 estimated from the *other* answers only
    position of image i in a column of k         mean position of the groups it was put in,
                                                 weighted by the responsibilities

The second step is a power iteration on the (weighted) group-membership matrices, followed
by whitening within each attribute, so no step size is needed and a sweep is cheap. Leaving
the answer itself out of the first step keeps an attribute only if it predicts answers from
which it was not built.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from learning.answers import Answers

# Answers about none of the attributes have likelihood ratio 1 against chance, so that
# noise finds no attribute; these keep the ratio finite when groups are pure.
_RELATIVE_FLOOR = 0.05
_ABSOLUTE_FLOOR = 0.05
# One virtual placement at the centre, so that an image seen once stays near it.
RIDGE = 1.0
# Above this, a sweep takes a second, and fewer answers are enough.
MANY = 50_000
# Keeps the whitening of nearly parallel columns finite.
_MIN_VARIANCE = 1e-2


@dataclass(frozen=True, eq=False)
class Sums:
    """The sums that a sweep collects.

    totals, weights: (N, M) sums of (weighted) group means and of the weights behind them
    responsibility:  (G, A + 1) of each attribute and, last, of none; rows sum to 1
    shares:          (A + 1,) of all answers
    owner:           (M,) attribute of each column
    """

    totals: Tensor
    weights: Tensor
    responsibility: Tensor
    shares: Tensor
    owner: Tensor

    def moments(self) -> tuple[Tensor, Tensor]:
        """(M,) mean of the raw positions and (M, M) whitening within each attribute."""
        places = self.totals / (self.weights + RIDGE)
        seen = self.seen()
        n = seen.sum().clamp(min=1)
        mean = (places * seen).sum(dim=0) / n
        centred = (places - mean) * seen
        deviation = (centred**2).sum(dim=0).div(n).sqrt() + 1e-6
        if len(self.owner) == len(self.shares) - 1:
            return mean, torch.diag(1.0 / deviation)
        scaled = centred / deviation
        within = (self.owner.unsqueeze(1) == self.owner).to(scaled)
        values, vectors = torch.linalg.eigh(scaled.T @ scaled / n * within)
        white = vectors @ torch.diag(values.clamp(min=_MIN_VARIANCE) ** -0.5) @ vectors.T
        return mean, (white * within) / deviation.unsqueeze(1)

    def places(self) -> Tensor:
        """(N, M) whitened positions; 0 for an image in no informative group."""
        mean, whitening = self.moments()
        places = (self.totals / (self.weights + RIDGE) - mean) @ whitening
        return torch.where(self.seen(), places, 0.0)

    def seen(self) -> Tensor:
        """(N, 1) whether an image is in an informative group."""
        return self.weights.sum(dim=1, keepdim=True) > 0


@dataclass(frozen=True, eq=False)
class Attributes:
    """Attributes found so far.

    positions:       (N, M) whitened positions of the images
    owner:           (M,) attribute of each column, in ascending order
    sums:            from which they follow; None at a start
    column_evidence: (M,) mean log likelihood ratio against chance, in nats, of the answers
                     about the column's attribute; each answer is judged without itself
    log_likelihood:  of the answers against chance, in nats, likewise
    """

    positions: Tensor
    owner: Tensor
    sums: Sums | None = None
    column_evidence: Tensor | None = None
    log_likelihood: float = float("-inf")

    @classmethod
    def lines(cls, positions: Tensor) -> Attributes:
        """Make every column a separate attribute."""
        return cls(positions, torch.arange(positions.shape[1], device=positions.device))

    @property
    def n(self) -> int:
        """A."""
        return int(self.owner.max()) + 1 if len(self.owner) else 0

    @property
    def n_columns(self) -> int:
        """M."""
        return len(self.owner)

    @property
    def support(self) -> Tensor:
        """(A,) fractional number of answers about each attribute."""
        if self.sums is None:
            return self.positions.new_zeros(self.n)
        return self.sums.responsibility[:, :-1].sum(dim=0)

    def keep(self, attributes: Tensor) -> Attributes:
        """Some attributes, in the given order."""
        chosen = [(self.owner == k).nonzero()[:, 0] for k in attributes.tolist()]
        columns = torch.cat([self.owner[:0], *chosen])
        number = torch.zeros(max(self.n, 1), dtype=torch.int64, device=self.owner.device)
        number[attributes] = torch.arange(len(attributes), device=self.owner.device)
        owner = number[self.owner[columns]]
        if self.sums is None or self.column_evidence is None:
            return Attributes(self.positions[:, columns], owner)
        classes = torch.cat([attributes, attributes.new_tensor([self.n])])
        shares = self.sums.shares[classes]
        sums = Sums(
            self.sums.totals[:, columns],
            self.sums.weights[:, columns],
            self.sums.responsibility[:, classes],
            shares / shares.sum(),
            owner,
        )
        evidence = self.column_evidence[columns]
        return Attributes(self.positions[:, columns], owner, sums, evidence, self.log_likelihood)

    def only(self, columns: Tensor) -> Attributes:
        """Some of the columns, at least one of each attribute."""
        assert self.sums is not None
        assert self.column_evidence is not None
        sums = Sums(
            self.sums.totals[:, columns],
            self.sums.weights[:, columns],
            self.sums.responsibility,
            self.sums.shares,
            self.owner[columns],
        )
        return Attributes(
            self.positions[:, columns],
            self.owner[columns],
            sums,
            self.column_evidence[columns],
            self.log_likelihood,
        )


def settle(answers: Answers, attributes: Attributes, n_sweeps: int = 8) -> Attributes:
    """`attributes` after some more sweeps without cooling."""
    for _ in range(n_sweeps):
        attributes = sweep(answers, attributes)
    return attributes


def sweep(answers: Answers, attributes: Attributes, temperature: float = 1.0) -> Attributes:
    """One pass over all answers: new responsibilities, then new positions."""
    n, m, before, owner = attributes.n, attributes.n_columns, attributes.sums, attributes.owner
    positions = attributes.positions
    shares = before.shares if before is not None else positions.new_full((n + 1,), 1 / (n + 1))
    totals, weights = torch.zeros_like(positions), torch.zeros_like(positions)
    responsibility = positions.new_empty((len(answers), n + 1))
    column_evidence = positions.new_zeros(m)
    log_likelihood = 0.0
    for rows, block in answers.blocks():
        parts = GroupParts(block)
        places = positions[block.images]
        between, _, _ = parts(places)
        if before is not None:
            places = _places_from_others(before, block, rows, between, parts.telling)
        _, between_squares, all_squares = parts(places)
        evidence = parts.evidence(between_squares, all_squares)
        by_attribute = evidence.new_zeros((len(block), n)).index_add_(1, owner, evidence)
        none = evidence.new_zeros((len(block), 1))
        odds = torch.cat([temperature * by_attribute, none], dim=1) + shares.log()
        log_likelihood += float(torch.logsumexp(odds, dim=1).sum())
        responsibility[rows] = torch.softmax(odds, dim=1)
        own = responsibility[rows][:, owner]
        column_evidence += (own * evidence).sum(dim=0)
        weight = own.unsqueeze(1) * parts.telling
        flat = block.images.reshape(-1)
        totals.index_add_(0, flat, (weight * between).reshape(-1, m))
        weights.index_add_(0, flat, weight.reshape(-1, m))
    counts = responsibility.sum(dim=0)
    shares = (counts + 0.5) / (counts + 0.5).sum()
    sums = Sums(totals, weights, responsibility, shares, owner)
    column_evidence /= counts[owner] + 1.0
    return Attributes(sums.places(), owner, sums, column_evidence, log_likelihood)


def _places_from_others(
    sums: Sums, block: Answers, rows: slice, between: Tensor, telling: Tensor
) -> Tensor:
    """(B, S, M) positions of each grid's images according to all other answers."""
    mean, whitening = sums.moments()
    own = sums.responsibility[rows][:, None, sums.owner] * telling
    weight = sums.weights[block.images] - own + RIDGE
    places: Tensor = ((sums.totals[block.images] - own * between) / weight - mean) @ whitening
    return places


class GroupParts:
    """Splits the variance of the images' positions in each grid by the answer's groups."""

    def __init__(self, block: Answers) -> None:
        self.grouped = (block.groups >= 0).unsqueeze(2).float()
        n_slots = max(1, int(block.groups.max()) + 1)
        slots = torch.arange(n_slots, device=block.device)
        self.member = (block.groups.unsqueeze(2) == slots).float()
        self.size = self.member.sum(dim=1).clamp(min=1).unsqueeze(2)
        self.n = self.grouped.sum(dim=1)
        self.n_groups = block.n_groups().unsqueeze(1).float()
        # An answer with one group positions no image.
        self.telling = self.grouped * (self.n_groups > 1).unsqueeze(2)

    def __call__(self, places: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """places: (B, S, M) positions. Returns the group means relative to the grid's mean
        (B, S, M), and the sums of squares between groups and in total (B, M)."""
        mean = (places * self.grouped).sum(dim=1) / self.n.clamp(min=1)
        centred = (places - mean.unsqueeze(1)) * self.grouped
        centres = torch.bmm(self.member.transpose(1, 2), centred) / self.size
        between = torch.bmm(self.member, centres)
        return between, (between * between).sum(dim=1), (centred * centred).sum(dim=1)

    def evidence(self, between: Tensor, total: Tensor) -> Tensor:
        """(B, M) log likelihood ratio of "grouped along this column" to chance.

        For Gaussian positions it is n/2 log(SS_total / SS_within), minus its mean if the
        groups are independent of the positions (SS_within / SS_total is then Beta
        distributed), so that answers with many groups have no advantage by their number.
        """
        within = (total - between).clamp(min=0) + _RELATIVE_FLOOR * total + _ABSOLUTE_FLOOR
        whole = (1 + _RELATIVE_FLOOR) * total + _ABSOLUTE_FLOOR
        ratio = 0.5 * self.n * torch.log(whole / within)
        free = (self.n - 1).clamp(min=1) / 2
        left = (self.n - self.n_groups).clamp(min=1) / 2
        chance = 0.5 * self.n * (torch.digamma(free) - torch.digamma(left))
        return torch.where(self.n_groups > 1, ratio - chance, 0.0)


def power_step(
    answers: Answers, points: Tensor, weight: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """(N, M) sums of the group means of `points` (N, M), and (N, M) or (N, 1) their weights.

    weight: (G, M) of each answer in each column; 1 by default.
    """
    totals = torch.zeros_like(points)
    n_weights = 1 if weight is None else points.shape[1]
    weights = points.new_zeros((answers.n_images, n_weights))
    for rows, block in answers.blocks():
        parts = GroupParts(block)
        between, _, _ = parts(points[block.images])
        share = parts.telling if weight is None else weight[rows].unsqueeze(1) * parts.telling
        flat = block.images.reshape(-1)
        totals.index_add_(0, flat, (share * between).reshape(-1, points.shape[1]))
        weights.index_add_(0, flat, share.reshape(-1, n_weights))
    return totals, weights


def standardised(points: Tensor) -> Tensor:
    """Scale columns to mean 0 and standard deviation 1."""
    points = points - points.mean(dim=0)
    return points / (points.std(dim=0, unbiased=False) + 1e-6)
