"""The probability that an answer about one attribute groups two images together.

With x the images' positions in the attribute's subspace (1 to 4 columns) and d a level of
detail (0 coarse, 1 fine),

    P(same) = floor + (1 - floor - ceiling) * sigmoid(t_d - |x_i - x_j|^2)

the logistic form of CEN's eq. 5 with a single active attribute. Floor and ceiling are the
share of the pairs that slips decide. Answers about no attribute have a constant P(same).

The S(S-1)/2 pairs of a grid are not independent, so each has weight 2 / (S - 1), and a grid
counts as its S images.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from learning.answers import Answers, pair_index, table_rows

N_LEVELS = 2
# P(same) of answers with a single group, and of random answers (learned).
N_NOISE = 2
_ONE_GROUP = 0.97
_SPREAD = 1.5
_SHRINKAGE = 0.02
_TINY = 1e-6


@dataclass(frozen=True, eq=False)
class PairModel:
    """positions: (N, M); owner: (M,) attribute of each column; thresholds: (A, 2) of the
    levels of detail, coarse first; slips: (2,) floor and ceiling; noise_same: (2,) P(same)
    of the two kinds of noise."""

    positions: Tensor
    owner: Tensor
    thresholds: Tensor
    slips: Tensor
    noise_same: Tensor

    @classmethod
    def start(cls, whitened: Tensor, owner: Tensor) -> PairModel:
        """A first guess from columns of deviation 1 (N, M) and their attributes (M,)."""
        n = int(owner.max()) + 1 if len(owner) else 0
        width = torch.bincount(owner, minlength=n).float()
        # Random pairs should be as far apart in an attribute with many columns as on a line.
        scale = _SPREAD / width.sqrt()
        device = whitened.device
        return cls(
            whitened * scale[owner],
            owner,
            torch.tensor([[2.0, 0.0]], device=device).repeat(n, 1),
            torch.tensor([0.05, 0.05], device=device),
            torch.tensor([_ONE_GROUP, 0.33], device=device),
        )

    @property
    def n_attributes(self) -> int:
        """A."""
        return len(self.thresholds)

    @property
    def n_classes(self) -> int:
        """Hidden classes of an answer: attribute x level of detail, then the noise."""
        return self.n_attributes * N_LEVELS + N_NOISE

    def same(self, images: Tensor, attribute: int) -> Tensor:
        """(B, P, 2) P(same) of grids (B, S) by one attribute, at each level of detail."""
        first, second = pair_index(images.shape[1], images.device)
        places = self.positions[:, self.owner == attribute][images]
        gaps = ((places[:, first] - places[:, second]) ** 2).sum(dim=2)
        return _same(gaps.unsqueeze(2), self.thresholds[attribute], self.slips)

    def class_log_likelihood(self, answers: Answers) -> Tensor:
        """(G, C) log likelihood of every answer under every hidden class, tempered."""
        result = self.positions.new_empty((len(answers), self.n_classes))
        for rows, block in answers.blocks():
            same, informative = block.pair_labels()
            weight = informative * pair_weight(block).unsqueeze(1)
            n_same = (weight * same).sum(dim=1, keepdim=True)
            n_different = (weight * ~same).sum(dim=1, keepdim=True)
            columns = []
            for k in range(self.n_attributes):
                p = self.same(block.images, k)
                log_p = torch.where(same.unsqueeze(2), p, 1 - p).clamp(min=_TINY).log()
                columns.append((log_p * weight.unsqueeze(2)).sum(dim=1))
            noise = self.noise_same
            columns.append(n_same * noise.log() + n_different * (1 - noise).log())
            result[rows] = torch.cat(columns, dim=1)
        return result

    def predict(self, images: Tensor, class_probability: Tensor) -> Tensor:
        """(B, P) P(same) of grids (B, S) given (B, C) probabilities of the hidden classes."""
        n_clean = self.n_attributes * N_LEVELS
        n_pairs = images.shape[1] * (images.shape[1] - 1) // 2
        p = (class_probability[:, n_clean:] @ self.noise_same).unsqueeze(1).expand(-1, n_pairs)
        for k in range(self.n_attributes):
            levels = class_probability[:, None, k * N_LEVELS : (k + 1) * N_LEVELS]
            p = p + (self.same(images, k) * levels).sum(dim=2)
        return p


@dataclass(frozen=True, eq=False)
class Assigned:
    """Answers with the hidden class that explains each best.

    rows: (G,) int64 indices of the answers among those given; attribute, level: (G,) int64;
    weight: (G,) responsibility of that class.
    """

    answers: Answers
    rows: Tensor
    attribute: Tensor
    level: Tensor
    weight: Tensor

    @classmethod
    def of(cls, answers: Answers, responsibility: Tensor, log_likelihood: Tensor) -> Assigned:
        """responsibility: (G, A + 1), the last of none; log_likelihood: (G, C).

        Answers that are most likely about no attribute are dropped.
        """
        n = responsibility.shape[1] - 1
        weight, attribute = responsibility.max(dim=1)
        rows = (attribute < n).nonzero()[:, 0]
        levels = log_likelihood[:, : n * N_LEVELS].reshape(-1, n, N_LEVELS)[rows]
        attribute = attribute[rows]
        of_its_own = levels[torch.arange(len(rows), device=rows.device), attribute]
        rivals = torch.cat([of_its_own, log_likelihood[rows, n * N_LEVELS :]], dim=1)
        share, level = torch.softmax(rivals, dim=1)[:, :N_LEVELS].max(dim=1)
        return cls(answers.rows(rows), rows, attribute, level, weight[rows] * share)

    def where(self, chosen: Tensor) -> Assigned:
        """The answers in a (G,) mask."""
        return Assigned(
            self.answers.rows(chosen),
            self.rows[chosen],
            self.attribute[chosen],
            self.level[chosen],
            self.weight[chosen],
        )


def fit_positions(model: PairModel, data: Assigned, n_iterations: int) -> PairModel:
    """Fit the images' positions to the pairs of `data`, with everything else fixed."""
    positions = model.positions.clone().requires_grad_()
    parts = _parts(data)

    def loss() -> Tensor:
        total = _SHRINKAGE * (positions**2).sum()
        total.backward()
        moved = replace(model, positions=positions)
        return total.detach() + _pair_loss(parts, moved)

    minimise([positions], loss, n_iterations)
    moved = positions.detach()
    return replace(model, positions=moved - moved.mean(dim=0))


def fit_thresholds(model: PairModel, data: Assigned, n_iterations: int = 25) -> PairModel:
    """Fit scales, thresholds and slips to answers that did not position any image.

    With the answers that positioned them, images would fit the slips, which would look rare.
    """
    log_scale = model.positions.new_zeros(model.n_attributes).requires_grad_()
    thresholds = model.thresholds.clone().requires_grad_()
    slip_odds = torch.logit((2 * model.slips).clamp(1e-3, 0.95)).requires_grad_()
    usual = thresholds.new_tensor([2.0, 0.0])
    parts = _parts(data)

    def adjusted() -> PairModel:
        return replace(
            model,
            positions=model.positions * log_scale.exp()[model.owner],
            thresholds=thresholds,
            slips=torch.sigmoid(slip_odds) / 2,
        )

    def loss() -> Tensor:
        prior = 0.1 * ((thresholds - usual) ** 2).sum() + (log_scale**2).sum()
        prior = prior + 0.25 * ((slip_odds + 2.0) ** 2).sum()
        prior.backward()
        return prior.detach() + sum(_backward(part, adjusted()) for part in parts)

    minimise([log_scale, thresholds, slip_odds], loss, n_iterations)
    fitted = adjusted()
    return replace(
        model,
        positions=fitted.positions.detach(),
        thresholds=fitted.thresholds.detach(),
        slips=fitted.slips.detach(),
    )


def fit_noise(model: PairModel, answers: Answers, scattered: Tensor) -> PairModel:
    """Fit P(same) of random answers, weighted by their probability (G,) of being random."""
    n_same, n_all = 3.3, 10.0
    for rows, block in answers.blocks():
        same, informative = block.pair_labels()
        weight = (scattered[rows] * pair_weight(block)).unsqueeze(1)
        n_same += float((weight * same).sum())
        n_all += float((weight * informative).sum())
    rate = min(max(n_same / n_all, 0.02), 0.9)
    return replace(model, noise_same=model.noise_same.new_tensor([_ONE_GROUP, rate]))


def pair_weight(block: Answers) -> Tensor:
    """(B,) weight of each pair of a grid."""
    return 2.0 / (block.n_shown() - 1).clamp(min=1)


def minimise(parameters: list[Tensor], loss: Callable[[], Tensor], n_iterations: int) -> None:
    """Minimise with L-BFGS; `loss` accumulates the gradients and returns the value."""
    optimiser = torch.optim.LBFGS(
        parameters, max_iter=n_iterations, history_size=10, line_search_fn="strong_wolfe"
    )

    def closure() -> float:
        optimiser.zero_grad()
        return float(loss())

    optimiser.step(closure)


def _same(gaps: Tensor, thresholds: Tensor, slips: Tensor) -> Tensor:
    return slips[0] + (1 - slips.sum()) * torch.sigmoid(thresholds - gaps)


def _parts(data: Assigned) -> list[Assigned]:
    slices = [rows for rows, _ in data.answers.blocks()]
    return [
        Assigned(block, data.rows[rows], data.attribute[rows], data.level[rows], data.weight[rows])
        for rows, block in zip(slices, data.answers.labelled_blocks(), strict=True)
    ]


def _pair_loss(parts: list[Assigned], model: PairModel) -> Tensor:
    """Sum over all blocks, with gradients accumulated block by block to limit the memory."""
    total = model.positions.new_zeros(())
    for part in parts:
        total = total + _backward(part, model)
    return total


def _backward(part: Assigned, model: PairModel) -> Tensor:
    value = _block_loss(part, model)
    value.backward()
    return value.detach()


def _block_loss(part: Assigned, model: PairModel) -> Tensor:
    block = part.answers
    first, second = pair_index(block.images.shape[1], block.device)
    gaps = _gaps(model, block.images, part.attribute, first, second)
    n_levels = model.thresholds.shape[1]
    step = table_rows(model.thresholds.reshape(-1, 1), part.attribute * n_levels + part.level)
    p = _same(gaps, step, model.slips)
    same, informative = block.pair_labels()
    weight = informative * (part.weight * pair_weight(block)).unsqueeze(1)
    likelihood = torch.where(same, p, 1 - p).clamp(min=_TINY)
    return -(likelihood.log() * weight).sum()


def _gaps(
    model: PairModel, images: Tensor, attribute: Tensor, first: Tensor, second: Tensor
) -> Tensor:
    """(B, P) squared distances of the pairs in the subspace of each answer's attribute."""
    n_columns = len(model.owner)
    columns, present = _columns_of(model.owner, model.n_attributes)
    table = model.positions.reshape(-1, 1)
    gaps = None
    for slot in range(columns.shape[1]):
        entry = images * n_columns + columns[attribute, slot].unsqueeze(1)
        places = table_rows(table, entry).squeeze(2)
        squares = (places.index_select(1, first) - places.index_select(1, second)) ** 2
        squares = squares * present[attribute, slot].unsqueeze(1)
        gaps = squares if gaps is None else gaps + squares
    assert gaps is not None
    return gaps


def _columns_of(owner: Tensor, n_attributes: int) -> tuple[Tensor, Tensor]:
    """(A, D) columns of each attribute, and whether each exists (attributes differ in D)."""
    width = torch.bincount(owner, minlength=n_attributes)
    n_slots = max(1, int(width.max()) if len(width) else 1)
    columns = torch.zeros((n_attributes, n_slots), dtype=torch.int64, device=owner.device)
    present = torch.zeros((n_attributes, n_slots), dtype=torch.bool, device=owner.device)
    for k in range(n_attributes):
        own = (owner == k).nonzero()[:, 0]
        columns[k, : len(own)] = own
        present[k, : len(own)] = True
    return columns, present
