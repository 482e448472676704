"""What features of images add to a crowd model's predictions and positions.

Three sources of log odds that two images are put together are combined: the crowd model; a pooled
model whose positions have a prior around what the features predict, so that an image in few
answers stays near the prediction; and the pair map from the features alone
(`learning.feature_alignment.pair_map`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor
from torch.nn import functional

from learning import blend
from learning.answers import Answers, pair_index, upper_triangle
from learning.pooled.model import PooledModel

_LIMIT = 12.0


@dataclass(frozen=True, eq=False)
class FeaturePrior:
    """pooled: the pooled model with a prior by features; map_places: (N, d) by the pair map;
    pair_model: (4,) bias and share of the pair map, slope and offset of its calibration;
    weights: (4,) of the three log odds, and an offset, for pairs of images in answers, empty if
    features do not improve predictions of held-out answers; unseen_weights: (4,) for the other
    pairs; unseen: (N,) bool, images that only features place; variance: (n, M) of their
    coordinates, in this order, or (0,) if the pooled model's positions are shown."""

    pooled: PooledModel
    map_places: Tensor
    pair_model: Tensor
    weights: Tensor
    unseen_weights: Tensor
    unseen: Tensor
    variance: Tensor

    @property
    def is_shown(self) -> bool:
        """Whether the positions of `pooled` are the crowd model's."""
        # Without unseen images, the variance is (0, M).
        return self.variance.ndim == 1

    @property
    def improves(self) -> bool:
        """Whether features improve predictions of held-out answers."""
        return len(self.weights) > 0

    def log_odds(self, answers: Answers, crowd: Tensor) -> Tensor:
        """(G, P) from the crowd model's log odds (G, P)."""
        first, second = pair_index(answers.images.shape[1], answers.device)
        unseen = self.unseen[answers.images] & answers.present
        by_features = unseen[:, first] | unseen[:, second]
        if not self.improves and not by_features.any():
            return crowd
        members = [crowd, self.pooled.log_odds(answers), self.map_log_odds(answers)]
        known = blend.blended(members, self.weights) if self.improves else crowd
        return torch.where(by_features, blend.blended(members, self.unseen_weights), known)

    def map_log_odds(self, answers: Answers) -> Tensor:
        """(G, P) by features alone."""
        return map_log_odds(self.map_places, self.pair_model, answers)

    def tensors(self) -> dict[str, Tensor]:
        """Everything but `pooled`, by name."""
        names = [field.name for field in fields(self) if field.name != "pooled"]
        return {name: getattr(self, name) for name in names}


def map_log_odds(places: Tensor, pair_model: Tensor, answers: Answers) -> Tensor:
    """(G, P) calibrated log odds of the pairs, from places (N, d) by the pair map."""
    bias, share, slope, offset = pair_model
    keep = 1.0 - torch.sigmoid(share)
    first, second = pair_index(answers.images.shape[1], answers.device)
    parts = [places.new_zeros((0, len(first)))]
    for _, block in answers.blocks():
        shown = functional.embedding(block.images, places)
        squares = (shown**2).sum(dim=2)
        product = upper_triangle(torch.bmm(shown, shown.transpose(1, 2)))
        odds = bias - keep * (squares[:, first] + squares[:, second]) + 2.0 * product
        parts.append(slope * odds.clamp(-_LIMIT, _LIMIT) + offset)
    return torch.cat(parts)
