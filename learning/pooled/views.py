"""One embedding whose directions every annotator weights differently.

    log odds l_ijw = bias + b_w + x_i . (I + T_w) x_j

T_w is symmetric: it says which directions count for annotator w, and which go together. b_w is
how coarsely they group. This is the model of Gomes et al., "Crowdclustering" (2011), with its most
probable values, in few dimensions, with the pairs of a grid counting as its images. Fits from
several starts end at different arrangements; their log odds are averaged.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor
from torch.nn import functional

from learning.answers import Answers, table_rows, upper_triangle
from learning.latent.pair_model import minimise, pair_weight

_N_DIMENSIONS = 4
# Standard deviations of the priors of a position, of an entry of T_w, and of b_w.
_PLACE, _TURN, _COARSENESS = 1.4, 0.5, 1.0
_START = 0.5
_N_ITERATIONS = 60
# Maximum number of starts, of pairs in all of them, and of pairs in one.
_N_STARTS, _FITTED_PAIRS, _MAX_PAIRS = 4, 1_000_000, 4_000_000


@dataclass(frozen=True, eq=False)
class Views:
    """F fits: positions (F, N, d); turns (F, W, d(d+1)/2), the upper triangles of T_w;
    coarseness (F, W); bias (F,)."""

    positions: Tensor
    turns: Tensor
    coarseness: Tensor
    bias: Tensor

    def log_odds(self, answers: Answers) -> Tensor:
        """(G, P) log odds that two images are grouped together, independent of the groupings."""
        width = answers.images.shape[1]
        parts = [self.bias.new_zeros((0, width * (width - 1) // 2))]
        for _, block in answers.blocks():
            fits = [_log_odds(block, *fit) for fit in self._fits()]
            parts.append(torch.stack(fits).mean(dim=0))
        return torch.cat(parts)

    def _fits(self) -> list[tuple[Tensor, Tensor, Tensor, Tensor]]:
        return list(zip(self.positions, self.turns, self.coarseness, self.bias, strict=True))

    def tensors(self) -> dict[str, Tensor]:
        """Everything that was learned, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def to(self, device: torch.device) -> Views:
        """The same on another device."""
        return Views(**{name: tensor.to(device) for name, tensor in self.tensors().items()})


def affordable_starts(answers: Answers) -> int:
    """The number of fits for which there is time with these answers; may be 0."""
    width = answers.images.shape[1]
    n_pairs = max(1, len(answers) * width * (width - 1) // 2)
    if n_pairs > _MAX_PAIRS:
        return 0
    return min(_N_STARTS, max(1, _FITTED_PAIRS // n_pairs))


def fit_views(answers: Answers, n_starts: int, generator: torch.Generator) -> Views:
    """The most probable models from `n_starts` random starts, at least one."""
    fits = [_fit(answers, generator) for _ in range(n_starts)]
    return Views(*(torch.stack(parts) for parts in zip(*fits, strict=True)))


def _fit(answers: Answers, generator: torch.Generator) -> tuple[Tensor, ...]:
    places = _START * torch.randn((answers.n_images, _N_DIMENSIONS), generator=generator)
    # An image in no answer stays at the origin, neither similar nor dissimilar to anything.
    shown = torch.bincount(answers.images[answers.present], minlength=answers.n_images) > 0
    places = places.to(answers.device) * shown.unsqueeze(1)
    n_entries = _N_DIMENSIONS * (_N_DIMENSIONS + 1) // 2
    turns = places.new_zeros((answers.n_annotators, n_entries))
    coarseness = places.new_zeros(answers.n_annotators)
    free = [places, turns, coarseness, places.new_zeros(())]
    for tensor in free:
        tensor.requires_grad_()

    blocks = answers.labelled_blocks()

    def loss() -> Tensor:
        prior = _prior(places, turns, coarseness)
        prior.backward()
        total = prior.detach()
        for block in blocks:
            value = _pair_loss(block, _log_odds(block, *free))
            value.backward()
            total = total + value.detach()
        return total

    minimise(free, loss, _N_ITERATIONS)
    return tuple(tensor.detach() for tensor in free)


def _prior(places: Tensor, turns: Tensor, coarseness: Tensor) -> Tensor:
    total = (places**2).sum() / _PLACE**2 + (turns**2).sum() / _TURN**2
    return 0.5 * (total + (coarseness**2).sum() / _COARSENESS**2)


def _pair_loss(block: Answers, log_odds: Tensor) -> Tensor:
    same, informative = block.pair_labels()
    weight = informative * pair_weight(block).unsqueeze(1)
    return functional.binary_cross_entropy_with_logits(
        log_odds, same.to(log_odds.dtype), weight, reduction="sum"
    )


def _log_odds(
    block: Answers, places: Tensor, turns: Tensor, coarseness: Tensor, bias: Tensor
) -> Tensor:
    """(B, P) log odds by one fit."""
    shown = functional.embedding(block.images, places)
    turned = torch.bmm(shown, _matrices(table_rows(turns, block.annotators), places.shape[1]))
    product = upper_triangle(torch.bmm(turned, shown.transpose(1, 2)))
    own = table_rows(coarseness.unsqueeze(1), block.annotators)
    return bias + own + product


def _matrices(entries: Tensor, d: int) -> Tensor:
    """(B, d, d) I + T from upper triangles (B, d(d+1)/2)."""
    first, second = torch.triu_indices(d, d, device=entries.device)
    place = torch.arange(len(first), device=entries.device)
    which = torch.empty((d, d), dtype=torch.int64, device=entries.device)
    which[first, second], which[second, first] = place, place
    turned = entries.index_select(1, which.reshape(-1)).reshape(-1, d, d)
    return turned + torch.eye(d, device=entries.device)
