"""Which attributes the answers are about, and where every image stands on each.

Every answer is about one hidden attribute. On it, images of one group lie together: the
between-group share of the grid's variance is high. Alternate

    responsibility of attribute k for answer g   from that share, with the images' places
                                                 estimated from the *other* answers only
    place of image i on attribute k              mean place of the groups it was put in,
                                                 weighted by the responsibilities

The second step is a power iteration on the (weighted) group-membership matrices, so no
step length is needed and a sweep over all answers is cheap. Leaving the answer itself out
of the first step keeps an attribute alive only if it predicts answers it was not built
from: of more attributes than there are, the superfluous ones lose all answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from learning.answers import Answers

# Answers about none of the attributes have likelihood ratio 1 against chance, so that
# noise finds no attribute; these keep the ratio finite when groups are pure.
_RELATIVE_FLOOR = 0.05
_ABSOLUTE_FLOOR = 0.05
# One imagined placement at the centre: an image seen once stays near it.
_RIDGE = 1.0
# An attribute must tell its answers this much better (nats per answer) than the others
# could after adapting. Splinters of one attribute gain below 2, the weakest true ones of
# simulated crowds with 30 % slips 3, ordinary ones 5 and more.
_MIN_GAIN = 2.5
_MIN_ANSWERS = 5.0
_DUPLICATE = 0.8

# From here on a sweep takes a second, and answers are so many that one start suffices.
_MANY = 50_000

SweepDone = Callable[[], None]


@dataclass(frozen=True, eq=False)
class Sums:
    """What a sweep has gathered.

    totals, weights: (N, M) sums of (weighted) group means and of the weights behind them
    responsibility:  (G, M + 1) of each attribute and, last, of none; rows sum to 1
    shares:          (M + 1,) of all answers
    """

    totals: Tensor
    weights: Tensor
    responsibility: Tensor
    shares: Tensor

    def moments(self) -> tuple[Tensor, Tensor]:
        """(M,) mean and deviation of the places over the images that were grouped."""
        places = self.totals / (self.weights + _RIDGE)
        seen = self.seen()
        n = seen.sum().clamp(min=1)
        mean = (places * seen).sum(dim=0) / n
        return mean, ((((places - mean) ** 2) * seen).sum(dim=0) / n).sqrt() + 1e-6

    def places(self) -> Tensor:
        """(N, M) standardised places; 0 for an image in no telling group."""
        mean, scale = self.moments()
        return torch.where(self.seen(), (self.totals / (self.weights + _RIDGE) - mean) / scale, 0.0)

    def seen(self) -> Tensor:
        """(N, 1) images in any telling group."""
        return self.weights.sum(dim=1, keepdim=True) > 0

    def keep(self, columns: Tensor) -> Sums:
        """Some attributes, in the given order."""
        last = torch.tensor([self.totals.shape[1]], device=columns.device)
        both = torch.cat([columns, last])
        shares = self.shares[both]
        return Sums(
            self.totals[:, columns],
            self.weights[:, columns],
            self.responsibility[:, both],
            shares / shares.sum(),
        )


@dataclass(frozen=True, eq=False)
class Attributes:
    """Attributes found so far.

    positions:      (N, M) standardised places of the images
    sums:           behind them; None at a start
    log_likelihood: of the answers against chance, in nats, each seen without itself
    """

    positions: Tensor
    sums: Sums | None = None
    log_likelihood: float = float("-inf")

    @property
    def n(self) -> int:
        """M."""
        return int(self.positions.shape[1])

    @property
    def support(self) -> Tensor:
        """(M,) answers, in fractions, that are about each attribute."""
        if self.sums is None:
            return self.positions.new_zeros(self.n)
        return self.sums.responsibility[:, :-1].sum(dim=0)

    def keep(self, columns: Tensor) -> Attributes:
        """Some attributes, in the given order."""
        sums = self.sums.keep(columns) if self.sums is not None else None
        return Attributes(self.positions[:, columns], sums, self.log_likelihood)


def find_attributes(
    answers: Answers,
    n_dimensions: int,
    n_starts: int,
    generator: torch.Generator,
    sweep_done: SweepDone = lambda: None,
) -> Attributes:
    """At most `n_dimensions` attributes, the most used first; best of `n_starts` by likelihood.

    May find fewer, none when no answer parts its images.
    """
    best: Attributes | None = None
    for _ in range(n_starts if len(answers) < _MANY else 1):
        found = _one_start(answers, n_dimensions, generator)
        if best is None or found.log_likelihood > best.log_likelihood:
            best = found
        sweep_done()
    assert best is not None
    order = torch.argsort(best.support, descending=True, stable=True)
    return best.keep(order)


def _one_start(answers: Answers, n_dimensions: int, generator: torch.Generator) -> Attributes:
    """More random directions than wanted compete for the answers; the losers are removed."""
    n_candidates = min(max(2 * n_dimensions + 2, 16), max(1, answers.n_images - 1))
    span = _principal_subspace(answers, min(max(n_dimensions + 2, 8), n_candidates), generator)
    mix = torch.randn((span.shape[1], n_candidates), generator=generator).to(span)
    found = Attributes(_standardised(span @ mix))
    n_sweeps = 40 if len(answers) < _MANY else 24
    for done in range(n_sweeps):
        # Cool: at first every candidate may move, at last every answer decides.
        found = sweep(answers, found, min(1.0, 0.2 + done * 1.6 / n_sweeps))
        if done >= 0.4 * n_sweeps:
            found = _without_losers(found)
    return _reduced(answers, settle(answers, found), n_dimensions)


def settle(answers: Answers, found: Attributes, n_sweeps: int = 8) -> Attributes:
    """`found` after some more sweeps without cooling."""
    for _ in range(n_sweeps):
        found = sweep(answers, found)
    return found


def sweep(answers: Answers, found: Attributes, temperature: float = 1.0) -> Attributes:
    """One pass over all answers: new responsibilities, then new places."""
    m, positions, before = found.n, found.positions, found.sums
    shares = before.shares if before is not None else positions.new_full((m + 1,), 1 / (m + 1))
    totals, weights = torch.zeros_like(positions), torch.zeros_like(positions)
    responsibility = positions.new_empty((len(answers), m + 1))
    log_likelihood = 0.0
    for rows, block in answers.blocks():
        parts = _GroupParts(block)
        places = positions[block.images]
        between, _, _ = parts(places)
        if before is not None:
            places = _places_from_others(before, block, rows, between, parts.telling)
        _, between_squares, all_squares = parts(places)
        evidence = temperature * parts.evidence(between_squares, all_squares)
        odds = torch.cat([evidence, evidence.new_zeros((len(block), 1))], dim=1) + shares.log()
        log_likelihood += float(torch.logsumexp(odds, dim=1).sum())
        responsibility[rows] = torch.softmax(odds, dim=1)
        weight = responsibility[rows, None, :m] * parts.telling
        flat = block.images.reshape(-1)
        totals.index_add_(0, flat, (weight * between).reshape(-1, m))
        weights.index_add_(0, flat, weight.reshape(-1, m))
    counts = responsibility.sum(dim=0) + 0.5
    sums = Sums(totals, weights, responsibility, counts / counts.sum())
    return Attributes(sums.places(), sums, log_likelihood)


def _places_from_others(
    sums: Sums, block: Answers, rows: slice, between: Tensor, telling: Tensor
) -> Tensor:
    """(B, S, M) places of each grid's images as all other answers see them."""
    mean, scale = sums.moments()
    own = sums.responsibility[rows, None, :-1] * telling
    weight = sums.weights[block.images] - own + _RIDGE
    places: Tensor = ((sums.totals[block.images] - own * between) / weight - mean) / scale
    return places


class _GroupParts:
    """Parts the variance of the images' places in each grid by the answer's groups."""

    def __init__(self, block: Answers) -> None:
        self.grouped = (block.groups >= 0).unsqueeze(2).float()
        n_slots = max(1, int(block.groups.max()) + 1)
        slots = torch.arange(n_slots, device=block.device)
        self.member = (block.groups.unsqueeze(2) == slots).float()
        self.size = self.member.sum(dim=1).clamp(min=1).unsqueeze(2)
        self.n = self.grouped.sum(dim=1)
        self.n_groups = block.n_groups().unsqueeze(1).float()
        # An answer with one group places nobody.
        self.telling = self.grouped * (self.n_groups > 1).unsqueeze(2)

    def __call__(self, places: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """places: (B, S, M). Returns the group means seen from the grid's mean (B, S, M),
        and the sums of squares between groups and in all (B, M)."""
        mean = (places * self.grouped).sum(dim=1) / self.n.clamp(min=1)
        centred = (places - mean.unsqueeze(1)) * self.grouped
        centres = torch.bmm(self.member.transpose(1, 2), centred) / self.size
        between = torch.bmm(self.member, centres)
        return between, (between * between).sum(dim=1), (centred * centred).sum(dim=1)

    def evidence(self, between: Tensor, total: Tensor) -> Tensor:
        """(B, M) log likelihood ratio of "grouped by this attribute" against chance.

        Gaussian places: n/2 log(SS_total / SS_within), less what it is on average when the
        groups have nothing to do with the places (SS_within / SS_total is then Beta
        distributed), so that answers with many groups gain nothing by their number.
        """
        within = (total - between).clamp(min=0) + _RELATIVE_FLOOR * total + _ABSOLUTE_FLOOR
        whole = (1 + _RELATIVE_FLOOR) * total + _ABSOLUTE_FLOOR
        ratio = 0.5 * self.n * torch.log(whole / within)
        free = (self.n - 1).clamp(min=1) / 2
        left = (self.n - self.n_groups).clamp(min=1) / 2
        chance = 0.5 * self.n * (torch.digamma(free) - torch.digamma(left))
        return torch.where(self.n_groups > 1, ratio - chance, 0.0)


def _principal_subspace(answers: Answers, n: int, generator: torch.Generator) -> Tensor:
    """(N, n) directions along which images of one group lie together in all answers."""
    points = torch.randn((answers.n_images, n), generator=generator).to(answers.device)
    for _ in range(15 if len(answers) < _MANY else 6):
        totals = torch.zeros_like(points)
        weights = points.new_zeros((answers.n_images, 1))
        for _, block in answers.blocks():
            parts = _GroupParts(block)
            between, _, _ = parts(points[block.images])
            flat = block.images.reshape(-1)
            totals.index_add_(0, flat, (parts.telling * between).reshape(-1, n))
            weights.index_add_(0, flat, parts.telling.reshape(-1, 1))
        points = totals / (weights + _RIDGE).sqrt()
        points = torch.linalg.qr(points - points.mean(dim=0)).Q
    scaled: Tensor = points * len(points) ** 0.5
    return scaled


def _standardised(points: Tensor) -> Tensor:
    points = points - points.mean(dim=0)
    return points / (points.std(dim=0, unbiased=False) + 1e-6)


def _without_losers(found: Attributes) -> Attributes:
    """Attributes with hardly an answer, or along the same line as a stronger one, removed."""
    support = found.support
    lines = _standardised(found.positions)
    alike = (lines.T @ lines / len(lines)).abs()
    kept: list[int] = []
    for column in torch.argsort(support, descending=True, stable=True).tolist():
        if kept and float(support[column]) < _MIN_ANSWERS:
            break
        if all(float(alike[column, other]) < _DUPLICATE for other in kept):
            kept.append(column)
    return found.keep(torch.tensor(sorted(kept), device=support.device))


def _reduced(answers: Answers, found: Attributes, n_dimensions: int) -> Attributes:
    """Take away, one by one, the attribute that the others can best replace.

    Ends when at most `n_dimensions` are left and each earns its place.
    """
    n_trials, n_sweeps = (3, 8) if len(answers) < _MANY else (1, 4)
    while found.n > 1:
        support = found.support
        trials = []
        for column in torch.argsort(support, stable=True)[:n_trials].tolist():
            columns = [other for other in range(found.n) if other != column]
            kept = torch.tensor(columns, device=answers.device)
            rest = settle(answers, found.keep(kept), n_sweeps)
            loss = found.log_likelihood - rest.log_likelihood
            trials.append((loss / max(float(support[column]), 1.0), rest))
        loss_per_answer, rest = min(trials, key=lambda trial: trial[0])
        if found.n <= n_dimensions and loss_per_answer > _MIN_GAIN:
            break
        found = rest
    return found
